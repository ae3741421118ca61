"""What another app of the project adds to this one, in one place: rows that belong to projects, and what is shown of them.

An app makes one `Extension` and calls `register` when it is ready (`AppConfig.ready`); nothing else here changes for it.
"""

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest

if TYPE_CHECKING:  # Extensions depend on the code that they extend.
    from sessions_app.chats.lifecycle.pruning import Due
    from sessions_app.chats.search.sources import Source
    from sessions_app.chats.search.word_index import WordIndex
    from sessions_app.portability.content_kinds import Kind


@dataclass(frozen=True, slots=True)
class KeyClient:
    """The client that was last seen with a key."""

    name: str
    last_seen_at: datetime
    connected: bool


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab of a project. `address`: the name of its page, and what its view gives `project_page` as `tab`."""

    address: str
    label: str
    # Whether a project has something to show there; None: it is always shown.
    has_content: Callable[[uuid.UUID], bool] | None = None

    @property
    def only_with_content(self) -> bool:
        return self.has_content is not None


def _nothing_due() -> Mapping[str, "Due"]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Extension:
    """Every part is optional.

    `project_counts`: numbers for the list of projects, by name; each takes project ids and returns their counts.
    `overview_counts`: as `project_counts`, for the overview.
    `account_bytes`: takes an account's id and returns the bytes stored for it.
    `export_kinds`: rows that are exported and imported with an account, parents first.
    `settle_import`: called with each project that an import made, in the import's transaction, once all its rows are in.
    `written_since`: whether something was written to this project since this time that no event tells of. Undoing an import then
    keeps the project.
    `sessions_written_since`: those of these sessions to which something was written since this time that no event tells of.
    `due_rows`: expired rows, by the name under which their number is reported.
    `rows_of_projects`: in the same form all rows of these projects, if they can be too many for the transaction that erases one.
    `search_sources`: what a search finds besides titles and messages, by the name for it in `in=`.
    `word_indexes`: indexes of trigrams that are kept up to date in the background.
    `key_clients`: takes ids of keys and returns the client of each that was used by one.
    `settings_part`: the context of a part of a project's settings page; `template` in it is the part's template.
    `routers`: operations of the API, as the prefix of their addresses and the router's name for an import.
    `examples`: of each of its operations with a body, an example by the `operation_id`.
    `urls`: the name of the module with the addresses of pages.
    `tabs`: tabs of a project.
    `event_phrases`: what the Activity tab says of the app's types of events.
    """

    name: str
    project_counts: Mapping[str, Callable[[list[uuid.UUID]], dict[uuid.UUID, int]]] = field(default_factory=dict)
    overview_counts: Mapping[str, Callable[[list[uuid.UUID]], dict[uuid.UUID, int]]] = field(default_factory=dict)
    account_bytes: Callable[[int], int] = lambda user_id: 0
    export_kinds: Sequence["Kind"] = ()
    settle_import: Callable[[uuid.UUID], None] = lambda project_id: None
    written_since: Callable[[uuid.UUID, datetime], bool] = lambda project_id, at: False
    sessions_written_since: Callable[[list[uuid.UUID], datetime], set[uuid.UUID]] = lambda sessions, at: set()
    due_rows: Callable[[], Mapping[str, "Due"]] = _nothing_due
    rows_of_projects: Callable[[list[uuid.UUID]], Mapping[str, "Due"]] = lambda projects: {}
    search_sources: Mapping[str, "Source"] = field(default_factory=dict)
    word_indexes: Sequence["WordIndex"] = ()
    key_clients: Callable[[Collection[uuid.UUID]], Mapping[uuid.UUID, KeyClient]] | None = None
    settings_part: Callable[[HttpRequest, uuid.UUID], dict[str, Any]] | None = None
    routers: Sequence[tuple[str, str]] = ()
    examples: Mapping[str, Any] = field(default_factory=dict)
    urls: str = ""
    tabs: Sequence[Tab] = ()
    event_phrases: Mapping[str, str] = field(default_factory=dict)


_registered: dict[str, Extension] = {}


def register(extension: Extension) -> None:
    """Called once by each app when it is ready. A second extension of the same name replaces the first."""
    _registered[extension.name] = extension


def extensions() -> tuple[Extension, ...]:
    """The registered extensions, in order of registration."""
    return tuple(_registered.values())
