"""What operations return. Times are RFC 3339 in UTC, sizes in bytes, as the API has them. Fields that a newer server adds are
left out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from stillhere.errors import StillhereError


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Self:
        """Raises StillhereError for an answer of something else."""
        known = cls.__dataclass_fields__
        fields = answer if answer.keys() <= known.keys() else {name: answer[name] for name in known.keys() & answer.keys()}
        try:
            return cls(**fields)
        except TypeError as error:
            raise StillhereError(200, "unreadable", f"This is no {cls.__name__} of a Stillhere server.", {}) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Page[T]:
    """`next`: what continues the list, in the parameter that the operation names; None: this is the end."""

    items: list[T]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Project(Record):
    id: str
    path: str
    name: str
    current_session: str | None
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(Record):
    """`project`: its path. `head`: the last message of the path that is shown; None in a session without branches."""

    id: str
    project: str
    project_id: str
    external_id: str | None = None
    title: str
    epoch: int
    rev: int
    head: str | None = None
    current: bool
    state: str
    metadata: dict[str, Any]
    tags: list[str]
    pinned: bool
    message_count: int
    size_bytes: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(Record):
    """`raw`: the framework's own message, where `format` names one. `status`: streaming, complete or interrupted."""

    id: str
    role: str
    text: str
    parts: list[dict[str, Any]] = field(default_factory=list)
    metadata: Any = None
    format: str | None = None
    raw: Any = None
    parent_id: str | None = None
    follows: str | None = None
    status: str
    ver: int
    rev: int
    position: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """A part of a session, oldest first. `next`: the id to pass as `before` (or `after`); None: this is the end.
    `skipped`: stored messages that are damaged, `{id, reason}`."""

    items: list[Message]
    next: str | None
    skipped: list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted(Record):
    """`items`: the objects of a framework. `ids`: for each the ids of the messages it came from. `losses`: `{id, part, reason}`,
    what the format cannot express."""

    items: list[Any]
    ids: list[list[str]]
    losses: list[dict[str, Any]]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What changed after a `rev`. With `more`, ask again with this `rev`. If `epoch` is not the one you know, read the whole
    session."""

    items: list[Message]
    removed: list[str]
    epoch: int
    rev: int
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved(Record):
    """The answer to a save, as docs/protocol.md describes it. Look at `conflicts` (`{id, server, copy_id}`) and `rejected`
    (`{id, index, reason, message}`): their texts are not in the session."""

    session: str
    epoch: int
    prev_rev: int
    rev: int
    saved_at: str
    applied: list[dict[str, Any]]
    ignored: list[dict[str, Any]]
    conflicts: list[dict[str, Any]]
    rejected: list[dict[str, Any]]
    spared: list[str]
    dropped: list[str]
    popped: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared(Record):
    """`ended`: the epoch before. `cleared`: how many messages it had."""

    epoch: int
    rev: int
    ended: int
    cleared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """Everything to continue from. `messages`: the live window, oldest first; `more`: there are older ones. With `format` they
    are the framework's objects, else `Message`."""

    project: Project
    session: Session
    messages: list[Any]
    more: bool
    agent_state: dict[str, Any] | None
    ai_states: list[dict[str, Any]]
    handoff: dict[str, Any] | None
    app_state: dict[str, Any] | None
    event_cursor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Record):
    """A value in a project's memory. `namespace`: a list, or a text if it has one label. `value`: None in a list without
    values."""

    namespace: str | list[str]
    key: str
    value: Any = None
    rev: int
    etag: str | None = None
    size_bytes: int
    created_at: str | None = None
    updated_at: str
    expires_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Put(Record):
    created: bool
    rev: int
    etag: str
    size_bytes: int
    redacted: dict[str, int]
    expires_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Record):
    """`kind`: external_id, title, message, memory, handoff or error. The text is `before` + `hit` + `after`. `link`: the path of
    its page."""

    kind: str
    project: str
    session: str | None
    message: str | None
    title: str
    role: str | None
    at: str
    before: str
    hit: str
    after: str
    link: str
