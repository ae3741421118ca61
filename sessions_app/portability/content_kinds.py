"""The kinds of rows of an account, for export and import; parents come before their children.

In a file a row belongs to the last row of its parent's kind before it. Not in the list, so never exported: passwords,
keys, tokens, stored responses to requests, and the event log (its numbers are kept, so that none is used twice). Stored files
are in exports too, but not as rows: see `file_pieces.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from django.db.models import Field, ForeignKey, Model

from sessions_app.core.extension import extensions
from sessions_app.models import (
    AgentState,
    AgentStateVersion,
    AiState,
    AiStateVersion,
    AppState,
    ChatSession,
    Clearing,
    ConflictCopy,
    Handoff,
    HandoffSnapshot,
    Message,
    PendingAction,
    Project,
    SessionFile,
)
from sessions_app.portability.secret_removal import (
    check_json_of_message,
    clean_message,
    clean_session,
    clean_session_file,
    clean_snapshot,
    clean_state,
)

USER = ""


@dataclass(frozen=True)
class Kind:
    """`under`: the parent's kind (USER: the account), to which the foreign key `link` points. Rows go in the order of `order`.

    `known_by`: the fields that identify an existing row, which is then not changed. The import finds projects, sessions and
    app states so. All other kinds have none: their rows are added only with their parent. `later`: foreign keys to later
    rows, set at the end. `without`: columns that mean nothing elsewhere. `clean`: makes the values of a file's row fit to be
    stored; raises WrongValue.
    """

    name: str
    model: type[Model]
    under: str
    link: str
    order: tuple[str, ...] = ("pk",)
    known_by: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    clean: Callable[[dict[str, Any]], None] | None = None

    @cached_property
    def fields(self) -> dict[str, "Field[Any, Any]"]:
        """The fields in a line of this kind: every column except the link and automatic keys."""
        columns = self.model._meta.concrete_fields
        return {
            field.attname: field
            for field in columns
            if field.name not in {self.link, *self.without} and field.get_internal_type() not in {"AutoField", "BigAutoField"}
        }

    @cached_property
    def plain(self) -> bool:
        """Whether all fields are texts, times, ids and numbers that the fast JSON writer supports."""
        return not any(field.get_internal_type() in {"BinaryField", "FloatField", "JSONField"} for field in self.fields.values())

    @cached_property
    def contents(self) -> tuple[str, ...]:
        """The fields with texts and bytes of any length: what an account's usage counts of a row."""
        return tuple(name for name, field in self.fields.items() if field.get_internal_type() in {"BinaryField", "TextField"})

    @cached_property
    def link_column(self) -> str:
        return cast("ForeignKey[Any, Any]", self.model._meta.get_field(self.link)).attname

    @property
    def children(self) -> list["Kind"]:
        return [kind for kind in export_kinds() if kind.under == self.name]


_OWN: tuple[Kind, ...] = (
    Kind("app_state", AppState, USER, "user", known_by=("client",), without=("import_id",)),
    Kind(
        *("project", Project, USER, "owner", ("created_at", "id")),
        known_by=("id",),
        later=("current_session_id",),
        without=("import_id", "import_into", "import_current"),
    ),
    Kind(
        "session",
        ChatSession,
        "project",
        "project",
        ("created_at", "id"),
        known_by=("id",),
        without=("import_id",),
        clean=clean_session,
    ),
    Kind("clearing", Clearing, "session", "session"),
    Kind("session_file", SessionFile, "session", "session", clean=clean_session_file),
    Kind("message", Message, "session", "session", without=("words_due",), clean=clean_message),
    Kind("conflict_copy", ConflictCopy, "session", "session", ("created_at", "id"), clean=check_json_of_message),
    Kind("agent_state", AgentState, "session", "session", clean=clean_state),
    Kind("agent_state_version", AgentStateVersion, "agent_state", "state", ("rev",), clean=clean_state),
    Kind("pending_action", PendingAction, "session", "session", clean=clean_state),
    Kind("ai_state", AiState, "session", "session", ("ai_id",), clean=clean_state),
    Kind("ai_state_version", AiStateVersion, "ai_state", "state", ("rev",), clean=clean_state),
    # Only with a new project: an existing one has snapshots with the same numbers.
    Kind("handoff", Handoff, "project", "project", clean=clean_state),
    Kind("handoff_snapshot", HandoffSnapshot, "project", "project", ("number",), clean=clean_snapshot),
)


def export_kinds() -> tuple[Kind, ...]:
    """The kinds of this app and of apps that extend it; parents come before their children."""
    return (*_OWN, *(kind for extension in extensions() for kind in extension.export_kinds))


def kind_named(name: str) -> Kind:
    return next(kind for kind in export_kinds() if kind.name == name)
