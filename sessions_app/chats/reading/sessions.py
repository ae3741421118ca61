"""Reading one session by SQL: the hot path of every call on a session. Lists are in `session_lists.py`."""

import re
import uuid
from dataclasses import dataclass
from typing import Any

import orjson

from sessions_app.core.errors import Gone, NotFound
from sessions_app.core.id_parsing import parse_id
from sessions_app.core.serialization.stored_json import read_object, read_value
from sessions_app.core.serialization.strict_json import UnreadableJson, without_unstorable
from sessions_app.core.storage.sql import as_uuid, db_uuid, fetch_row, rfc3339_sql
from sessions_app.core.storage.store_incarnation import incarnation
from sessions_app.models import Caller
from sessions_app.models.live import Live
from sessions_app.models.session import SessionState

_PLAIN = (
    "s.id, s.external_id, s.title, s.opening_step, s.schema_version, s.epoch, s.rev, s.message_count, s.size_bytes, "
    "s.archive_requested_at IS NOT NULL, s.metadata, s.tags, s.pinned IS TRUE, s.head"
)
_DIGEST = re.compile(":[0-9a-f]{32,}$")
# Adapters give them to their sessions, and find these by them.
_OF_ADAPTERS = {"adk", "claude-agent", "claude-subagent", "openai-agents", "pydantic-ai"}
_EPOCH = 5
_LIVE = "SELECT epochs_ahead, epoch, revived_rev, revived_to, revived_revs FROM sessions_app_chatsession WHERE id = %s"
_TIMES = ("s.created_at", "s.updated_at", "s.archived_at", "s.deleted_at")


class SessionNotFound(NotFound):
    kind = "session"
    message = "You have no session with this id. List the sessions of its project, or resume the project by its path."


class SessionDeleted(Gone):
    """`details.session` is its id, for a client that knows only its own: to restore or erase it."""

    code, message = "session_deleted", "This session is in the trash. Restore it to use it, or start a new one."

    def __init__(self, session_id: uuid.UUID) -> None:
        super().__init__(details={"session": str(session_id)})


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as the API returns it; times are RFC 3339 text."""

    id: uuid.UUID
    external_id: str | None
    title: str
    opening_step: str
    schema_version: int
    epoch: int
    rev: int
    message_count: int
    size_bytes: int
    archive_requested: bool
    # As stored: JSON, or None.
    metadata: str | None
    tags: str | None
    pinned: bool
    # The last message of the path; '' = the path is empty; None: the session has no branches.
    head: str | None
    created_at: str
    updated_at: str
    archived_at: str | None
    deleted_at: str | None
    project_id: uuid.UUID
    project_path: str
    is_current: bool
    # Which messages are live; `epoch` is as clients know it.
    live: Live

    @property
    def etag(self) -> str:
        return f'"{incarnation()}.{self.epoch}.{self.rev}"'

    @property
    def state(self) -> SessionState:
        if self.deleted_at is not None:
            return SessionState.TRASH
        if self.is_current:
            return SessionState.CURRENT
        return SessionState.ARCHIVED if self.archive_requested else SessionState.EARLIER

    @property
    def tag_list(self) -> list[str]:
        return stored_tags(self.tags)

    @property
    def spoken_tags(self) -> list[str]:
        """Those that pages show: without what only programs read, such as `project:` with a digest."""
        return [tag for tag in self.tag_list if not _DIGEST.search(tag)]

    @property
    def removable_tags(self) -> list[str]:
        """Those that a click removes: without the tags of adapters, which would no longer find their sessions."""
        return [tag for tag in self.spoken_tags if tag not in _OF_ADAPTERS]

    @property
    def metadata_object(self) -> dict[str, Any]:
        """For display and search: characters that only escaped JSON can hold are replaced. Empty if damaged."""
        found = None if self.metadata is None else read_object(self.metadata)
        try:
            cleaned: dict[str, Any] = {} if found is None else without_unstorable(found)[0]
        except UnreadableJson:  # Two names differ only in such characters.
            return {}
        return cleaned

    def as_json(self) -> dict[str, Any]:
        """The API's JSON. `external_id` is present only if one was given; `metadata` is the stored text."""
        shape: dict[str, Any] = {"id": str(self.id), "project": self.project_path, "project_id": str(self.project_id)}
        if self.external_id is not None:
            shape["external_id"] = self.external_id
        if self.head is not None:
            shape["head"] = self.head or None
        return shape | {
            "title": self.title,
            "opening_step": self.opening_step,
            "schema_version": self.schema_version,
            "incarnation": incarnation(),
            "epoch": self.epoch,
            "rev": self.rev,
            "current": self.is_current,
            "state": self.state.value,
            "metadata": {} if self.metadata is None else _stored(self.metadata),
            "tags": self.tag_list,
            "pinned": bool(self.pinned),
            "message_count": self.message_count,
            "size_bytes": self.size_bytes,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "archived_at": self.archived_at,
            "deleted_at": self.deleted_at,
        }


def stored_tags(text: str | None) -> list[str]:
    """Empty if the stored value is damaged."""
    found = None if text is None else read_value(text)
    return [tag for tag in found if isinstance(tag, str)] if isinstance(found, list) else []


def session_uuid(text: str) -> uuid.UUID:
    """Parse a session's id from a URL."""
    return parse_id(text, SessionNotFound)


def session_columns() -> str:
    """The columns of `session_row`, for a SELECT in which `s` is the session and `p` its project."""
    times = ", ".join(rfc3339_sql(column) for column in _TIMES)
    return f"{_PLAIN}, {times}, p.id, p.path, p.current_session_id, s.epochs_ahead, s.revived_rev, s.revived_to, s.revived_revs"


def session_row(values: tuple[Any, ...]) -> SessionRow:
    """A row of `session_columns`."""
    own: list[Any]
    *own, project_id, path, current, ahead, revived_rev, revived_to, revived_revs = values
    own[0], live = as_uuid(own[0]), Live(own[_EPOCH], revived_rev or 0, revived_to or 0, revived_revs or 1)
    own[_EPOCH] += ahead or 0
    return SessionRow(*[*own, as_uuid(project_id), path, as_uuid(current) == own[0], live])


def get_session(*, caller: Caller, session_id: uuid.UUID) -> SessionRow:
    """One of the caller's sessions; in the trash → 410."""
    return _found(caller, "s.id = %s", [db_uuid(session_id)])


def moved_on(session: SessionRow) -> Live | None:
    """Where the session's messages are stored by now if an undo of a clear moved them since its row was read, else None. For
    reads that find none, though there are some."""
    found = fetch_row(_LIVE, [db_uuid(session.id)]) if session.message_count else None
    if found is None:
        return None
    ahead, epoch, rev, to, revs = found
    is_moved = epoch != session.live.epoch and epoch + (ahead or 0) == session.epoch
    return Live(epoch, rev or 0, to or 0, revs or 1) if is_moved else None


def get_session_by_external_id(*, caller: Caller, project_id: uuid.UUID, external_id: str) -> SessionRow:
    """As `get_session`; a project that is unknown or in the trash counts as its sessions do."""
    return _found(caller, "s.project_id = %s AND s.external_id = %s", [db_uuid(project_id), external_id])


def _found(caller: Caller, where: str, parameters: list[Any]) -> SessionRow:
    sql = (
        f"SELECT p.deleted_at, {session_columns()} FROM sessions_app_chatsession s "  # noqa: S608 - constants only
        f"JOIN sessions_app_project p ON p.id = s.project_id WHERE {where} AND p.owner_id = %s"
    )
    values = fetch_row(sql, [*parameters, caller.user_id])
    if values is None:
        raise SessionNotFound
    row = session_row(values[1:])
    if caller.project_id not in {None, row.project_id}:
        raise SessionNotFound
    if row.deleted_at is not None or values[0] is not None:
        raise SessionDeleted(row.id)
    return row


def _stored(metadata: str) -> Any:
    """The exact text, if it still is an object: the database may be damaged."""
    return {} if read_object(metadata) is None else orjson.Fragment(metadata)
