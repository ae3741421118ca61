"""The resume bundle: everything a frontend needs to repaint. One statement reads what each has; the messages, the states and the
handoff have one each, where there are any."""

import uuid
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from sessions_app.agents.handoff.queries import HAS_HANDOFF_SQL, handoff_of
from sessions_app.agents.states.queries import HAS_STATES_SQL, States, states_of
from sessions_app.chats.reading.frameworks.conversion import converted
from sessions_app.chats.reading.frameworks.whole_calls import with_whole_calls
from sessions_app.chats.reading.live_windows import marked, shown_window, window_of
from sessions_app.chats.reading.sessions import SessionDeleted, SessionRow, session_columns, session_row
from sessions_app.core.errors import NotFound
from sessions_app.core.id_parsing import uuid_or_none
from sessions_app.core.storage.sql import as_uuid, db_uuid, fetch_row, json_value, rfc3339_sql
from sessions_app.frontends.app_state.queries import APP_STATE_COLUMNS, AppStateRow, app_state_of
from sessions_app.models import Caller


class NothingSaved(NotFound):
    code = "nothing_saved"
    message = "This project has no current session. Create one, then save to it, or PATCH an earlier one with `current: true`."


class Body(NamedTuple):
    """The bundle as JSON, its ETag, and whether there is a plan to repaint."""

    content: bytes
    etag: str
    has_plan: bool


@dataclass(frozen=True, slots=True)
class Resume:
    """The bundle's head: enough for HEAD and 304. The messages are read only for the body."""

    project: dict[str, Any]
    project_id: uuid.UUID
    session: SessionRow
    app_state: AppStateRow
    event_cursor: int
    has_states: bool
    has_handoff: bool

    # A framework's format to return the messages in, and whether tool calls without an output get one.
    format: str | None = None
    repair: bool = False

    @property
    def etag(self) -> str:
        """Includes the session's id: a path may now belong to another project whose numbers are the same."""
        form = f".{self.format}.{self.repair:d}" if self.format else ""
        return f'{self.session.etag[:-1]}.{self.event_cursor}.{self.app_state.rev}.{self.session.id.hex[:8]}{form}"'

    def body(self) -> "Body":
        messages, streaming = self._messages()
        states = states_of(self.session.id) if self.has_states else States()
        bundle = {
            "project": self.project,
            "session": self.session.as_json(),
            **messages,
            "agent_state": states.agent,
            "ai_states": states.ais,
            "handoff": handoff_of(self.project_id) if self.has_handoff else None,
            "app_state": self.app_state.as_json(),
            "event_cursor": self.event_cursor,
        }
        return Body(orjson.dumps(bundle), marked(self.etag, streaming=streaming), states.has_plan)

    def _messages(self) -> tuple[dict[str, Any], bool]:
        """The live window for the bundle, and whether one of its messages is streaming."""
        if self.format is None:
            window = window_of(self.session)
            return window.as_json(), window.streaming
        page = shown_window(self.session)
        if self.repair:
            page = with_whole_calls(page, session_id=self.session.id, live=self.session.live, is_end=True)
        made = converted(page.items, self.format, repair=self.repair)
        return {"messages": made.pop("items"), **made, "skipped": page.skipped, "more": page.more}, page.streaming


class NoSuchChat(NothingSaved):
    message = "This project has no session with this external id. Save to one that you create with it."


def find_resume(*, caller: Caller, path: str, client: str, external_id: str | None = None) -> Resume:
    """The project's current session, or the one with this external id. None → 404 `nothing_saved`; in the trash → 410.
    `path`: the project's path or, if there is none, its id."""
    values = _row_of(caller, "p.path = %s", path, external_id, client)
    if values is None and (project_id := uuid_or_none(path)) is not None:
        values = _row_of(caller, "p.id = %s", db_uuid(project_id), external_id, client)
    if values is None:
        raise NoSuchChat if external_id is not None else NothingSaved
    project_values, flags, app_state, session = values[:8], values[8:10], values[10:14], values[14:]
    event_seq, name, created_at, count, last_at, settings, updated_at, current = project_values
    row = session_row(session)
    if caller.project_id not in {None, row.project_id}:
        raise NothingSaved
    if row.deleted_at is not None:
        raise SessionDeleted(row.id)
    project = {
        "id": str(row.project_id),
        "path": row.project_path,
        "name": name,
        "created_at": created_at,
        "updated_at": updated_at,
        "current_session": None if current is None else str(as_uuid(current)),
        "session_count": max(1, count),
        "last_session_at": last_at,
        "settings": json_value(settings),
    }
    has_states, has_handoff = map(bool, flags)
    return Resume(project, row.project_id, row, app_state_of(caller, client, app_state), event_seq, has_states, has_handoff)


def _row_of(caller: Caller, which: str, project: Any, external_id: str | None, client: str) -> Any:
    """The project's columns, what else there is, the app state's columns and those of the session. `which`: how `project` names
    it."""
    named = external_id is not None
    created, last = rfc3339_sql("p.created_at"), rfc3339_sql("p.last_session_at")
    sql = (
        f"SELECT p.event_seq, p.name, {created}, p.session_count, {last}, p.settings, {rfc3339_sql('p.updated_at')}, "  # noqa: S608
        f"p.current_session_id, {HAS_STATES_SQL}, {HAS_HANDOFF_SQL}, {APP_STATE_COLUMNS}, {session_columns()} "
        "FROM sessions_app_project p JOIN sessions_app_chatsession s ON "
        f"{'s.project_id = p.id AND s.external_id = %s' if named else 's.id = p.current_session_id'} "
        "LEFT JOIN sessions_app_appstate a ON a.user_id = p.owner_id AND a.client = %s "
        f"WHERE p.owner_id = %s AND {which} AND p.deleted_at IS NULL{'' if named else ' AND s.deleted_at IS NULL'}"
    )
    return fetch_row(sql, [*([external_id] if named else []), client, caller.user_id, project])
