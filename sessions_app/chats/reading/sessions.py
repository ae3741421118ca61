"""Reading sessions: one row by SQL (the hot path of every call on a session), lists by the ORM."""

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sessions_app.chats.search.session_search import find_sessions
from sessions_app.core.errors import Gone, NotFound
from sessions_app.core.id_parsing import parse_id
from sessions_app.core.storage.sql import db_uuid, fetch_row, rfc3339, rfc3339_sql
from sessions_app.core.storage.store_incarnation import incarnation
from sessions_app.models import Caller, ChatSession
from sessions_app.models.live import Live
from sessions_app.models.session import SessionState

_LIST_FIELDS = (
    "id", "external_id", "title", "opening_step", "schema_version", "epoch", "rev", "message_count", "size_bytes",
    "archive_requested_at", "created_at", "updated_at", "archived_at", "deleted_at",
    "project_id", "project__path", "project__current_session_id", "epochs_ahead", "revived_rev", "revived_to",
)  # fmt: skip
_PLAIN = (
    "s.id, s.external_id, s.title, s.opening_step, s.schema_version, s.epoch, s.rev, s.message_count, s.size_bytes, "
    "s.archive_requested_at IS NOT NULL"
)
_EPOCH = _LIST_FIELDS.index("epoch")
_TIMES = ("s.created_at", "s.updated_at", "s.archived_at", "s.deleted_at")


class SessionNotFound(NotFound):
    kind = "session"
    message = "You have no session with this id. List the sessions of its project, or resume the project by its path."


class SessionDeleted(Gone):
    code, message = "session_deleted", "This session is in the trash. Restore it to use it, or start a new one."


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

    def as_json(self) -> dict[str, Any]:
        """The API's JSON. `external_id` is present only if one was given."""
        shape: dict[str, Any] = {"id": str(self.id), "project": self.project_path, "project_id": str(self.project_id)}
        if self.external_id is not None:
            shape["external_id"] = self.external_id
        return shape | {
            "title": self.title,
            "opening_step": self.opening_step,
            "schema_version": self.schema_version,
            "incarnation": incarnation(),
            "epoch": self.epoch,
            "rev": self.rev,
            "current": self.is_current,
            "state": self.state.value,
            "message_count": self.message_count,
            "size_bytes": self.size_bytes,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "archived_at": self.archived_at,
            "deleted_at": self.deleted_at,
        }


@dataclass(frozen=True, slots=True)
class SessionPage:
    """`last`: the session after which the next page begins; None: last page."""

    rows: list[SessionRow]
    last: SessionRow | None


def session_uuid(text: str) -> uuid.UUID:
    """Parse a session's id from a URL."""
    return parse_id(text, SessionNotFound)


def session_columns() -> str:
    """The columns of `session_row`, for a SELECT in which `s` is the session and `p` its project."""
    times = ", ".join(rfc3339_sql(column) for column in _TIMES)
    return f"{_PLAIN}, {times}, p.id, p.path, p.current_session_id, s.epochs_ahead, s.revived_rev, s.revived_to"


def session_row(values: tuple[Any, ...]) -> SessionRow:
    """A row of `session_columns`."""
    own: list[Any]
    *own, project_id, path, current, ahead, revived_rev, revived_to = values
    own[0], live = as_uuid(own[0]), Live(own[_EPOCH], revived_rev or 0, revived_to or 0)
    own[_EPOCH] += ahead or 0
    return SessionRow(*[*own, as_uuid(project_id), path, as_uuid(current) == own[0], live])


def as_uuid(value: Any) -> Any:
    """SQLite returns hexadecimal text where PostgreSQL returns a UUID."""
    return uuid.UUID(value) if isinstance(value, str) else value


def get_session(*, caller: Caller, session_id: uuid.UUID) -> SessionRow:
    """One of the caller's sessions; in the trash → 410."""
    sql = (
        f"SELECT p.deleted_at, {session_columns()} FROM sessions_app_chatsession s "  # noqa: S608 - constants only
        "JOIN sessions_app_project p ON p.id = s.project_id WHERE s.id = %s AND p.owner_id = %s"
    )
    values = fetch_row(sql, [db_uuid(session_id), caller.user_id])
    if values is None:
        raise SessionNotFound
    row = session_row(values[1:])
    if caller.project_id not in {None, row.project_id}:
        raise SessionNotFound
    if row.deleted_at is not None or values[0] is not None:
        raise SessionDeleted
    return row


def list_sessions(
    *,
    caller: Caller,
    project_id: uuid.UUID,
    text: str = "",
    archived: bool | None = None,
    state: SessionState | None = None,
    deleted: bool = False,
    after: tuple[datetime, uuid.UUID] | None = None,
    limit: int = 50,
) -> SessionPage:
    """The project's sessions (`deleted`: those in its trash), most recently changed first. `text` is searched in titles and live
    messages: then a page may have fewer than `limit` rows and still a next page, because the search time is limited."""
    rows = ChatSession.objects.visible_to(caller).filter(project_id=project_id, deleted_at__isnull=not deleted)
    if archived is not None:
        rows = rows.filter(archived_at__isnull=not archived)
    if state is not None:
        rows = rows.in_state(state)
    if after is not None:
        # The index (project, updated_at desc, id) serves this without reading earlier pages.
        rows = rows.filter(updated_at__lte=after[0]).exclude(updated_at=after[0], id__lte=after[1])
    rows, ended_at = rows.order_by("-updated_at", "id"), None
    if text:
        found = find_sessions(rows, _LIST_FIELDS, text, project_id, limit + 1)
        listed, ended_at = found.rows, found.ended_at
    else:
        listed = list(rows.values_list(*_LIST_FIELDS)[: limit + 1])
    if len(listed) > limit:
        ended_at = listed[limit - 1]
    return SessionPage([_listed(row) for row in listed[:limit]], _listed(ended_at) if ended_at else None)


def _listed(values: tuple[Any, ...]) -> SessionRow:
    plain: list[Any]
    *plain, archive_requested_at, created_at, updated_at, archived_at, deleted_at, project_id, path, current = values[:-3]
    times: list[Any] = [None if at is None else rfc3339(at) for at in (created_at, updated_at, archived_at, deleted_at)]
    own = [*plain, archive_requested_at is not None, *times]
    return session_row((*own, project_id, path, current, *values[-3:]))
