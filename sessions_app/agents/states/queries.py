"""Reads of agent state and AI states. Stored JSON is returned as the text that was saved."""

import uuid
from dataclasses import dataclass, field
from typing import Any

import orjson

from sessions_app.chats.reading.sessions import SessionRow, get_session
from sessions_app.core.errors import NotFound
from sessions_app.core.serialization.stored_json import read_object
from sessions_app.core.storage.sql import as_rfc3339, db_uuid, fetch_rows, raw_time_sql, rfc3339
from sessions_app.models import AgentState, AgentStateVersion, AiState, AiStateVersion, Caller, PendingAction


def joined(content: str, **more: Any) -> bytes:
    """The stored object with more fields appended."""
    head = content.rstrip()[:-1].encode()
    comma = b"" if head.strip() == b"{" else b","
    return head + comma + orjson.dumps(more)[1:]


def agent_json(state: AgentState) -> bytes:
    return joined(whole(state.content), saved_at=rfc3339(state.saved_at), rev=state.rev)


def ai_json(state: AiState) -> bytes:
    return _ai_json(state, whole(state.content))


def sound_ai_json(states: list[AiState]) -> list[bytes]:
    """The states as JSON, without damaged ones."""
    return [_ai_json(state, state.content) for state in states if state.content and read_object(state.content) is not None]


def _ai_json(state: AiState, content: str) -> bytes:
    return joined(content, ai_id=state.ai_id, updated_at=rfc3339(state.updated_at), rev=state.rev)


class AgentStateNotFound(NotFound):
    kind, message = "agent state", "This session has no agent state. PUT one to make it."


class Damaged(NotFound):
    code, message = "damaged", "What is stored here is damaged. Restore a version of its history, or save it again."


class ActionNotFound(NotFound):
    kind = "pending action"
    message = "This session has no pending action with this id. Read the agent state for the one that is asked."


class AiStateNotFound(NotFound):
    kind, message = "AI state", "No AI of this name has a state in this session. List the session's AI states."


class VersionNotFound(NotFound):
    kind, message = "version", "No version with this rev is kept. List the history for those that are."


def whole(content: str | None) -> str:
    """The text of a stored object. Raises Damaged."""
    if content is not None and read_object(content) is None:
        raise Damaged
    return content or "{}"


def get_agent_state(*, caller: Caller, session_id: uuid.UUID) -> AgentState:
    get_session(caller=caller, session_id=session_id)
    found = AgentState.objects.filter(session_id=session_id, content__isnull=False).first()
    if found is None:
        raise AgentStateNotFound
    return found


def agent_history(*, caller: Caller, session_id: uuid.UUID) -> list[AgentStateVersion]:
    """Overwritten or deleted versions, newest first; also of a deleted state. Damaged ones cannot be restored: left out."""
    get_session(caller=caller, session_id=session_id)
    rows = AgentStateVersion.objects.filter(state__session_id=session_id).order_by("-rev")
    return [row for row in rows if read_object(row.content) is not None]


def get_action(*, caller: Caller, session_id: uuid.UUID, action_id: str) -> tuple[SessionRow, PendingAction]:
    """Its session, and the action."""
    session = get_session(caller=caller, session_id=session_id)
    found = PendingAction.objects.filter(session_id=session_id, action_id=action_id).first()
    if found is None:
        raise ActionNotFound
    return session, found


def list_ai_states(*, caller: Caller, session_id: uuid.UUID, after: str = "", limit: int = 50) -> list[AiState]:
    """Sorted by `ai_id`; one more than `limit` if there are more. Includes damaged ones."""
    get_session(caller=caller, session_id=session_id)
    rows = AiState.objects.filter(session_id=session_id, content__isnull=False, ai_id__gt=after)
    return list(rows.order_by("ai_id")[: limit + 1])


def get_ai_state(*, caller: Caller, session_id: uuid.UUID, ai_id: str, deleted: bool = False) -> AiState:
    get_session(caller=caller, session_id=session_id)
    found = AiState.objects.filter(session_id=session_id, ai_id=ai_id).first()
    if found is None or (found.content is None and not deleted):
        raise AiStateNotFound
    return found


def ai_history(*, caller: Caller, session_id: uuid.UUID, ai_id: str) -> list[AiStateVersion]:
    """Newest first; also of a deleted state. Damaged versions are left out."""
    state = get_ai_state(caller=caller, session_id=session_id, ai_id=ai_id, deleted=True)
    rows = AiStateVersion.objects.filter(state=state).order_by("-rev")
    return [row for row in rows if read_object(row.content) is not None]


def states_in_session(session_id: uuid.UUID, limit: int = 50) -> tuple[AgentState | None, list[AiState]]:
    """The states that a page shows. The caller must have checked that the session is theirs."""
    state = AgentState.objects.filter(session_id=session_id, content__isnull=False).first()
    return state, list(AiState.objects.filter(session_id=session_id, content__isnull=False).order_by("ai_id")[:limit])


@dataclass(slots=True)
class States:
    agent: orjson.Fragment | None = None
    ais: list[orjson.Fragment] = field(default_factory=list)
    has_plan: bool = False


# For a SELECT in which `s` is the session: most have none, and need not be asked for theirs.
HAS_STATES_SQL = (
    "(EXISTS (SELECT 1 FROM sessions_app_agentstate WHERE session_id = s.id AND content IS NOT NULL) OR "
    "EXISTS (SELECT 1 FROM sessions_app_aistate WHERE session_id = s.id AND content IS NOT NULL))"
)


def states_of(session_id: uuid.UUID) -> States:
    """A session's agent state and its AI states as JSON, in one statement, without damaged ones."""
    sql = (
        f"SELECT '' AS ai_id, content, rev, {raw_time_sql('saved_at')} FROM sessions_app_agentstate "  # noqa: S608 - constants only
        "WHERE session_id = %s AND content IS NOT NULL UNION ALL "
        f"SELECT ai_id, content, rev, {raw_time_sql('updated_at')} FROM sessions_app_aistate "
        "WHERE session_id = %s AND content IS NOT NULL ORDER BY 1"
    )
    states = States()
    for ai_id, content, rev, at in fetch_rows(sql, [db_uuid(session_id), db_uuid(session_id)]):
        value = read_object(content)
        if value is None:
            continue
        if ai_id:
            states.ais.append(orjson.Fragment(joined(content, ai_id=ai_id, updated_at=as_rfc3339(at), rev=rev)))
        else:
            states.agent = orjson.Fragment(joined(content, saved_at=as_rfc3339(at), rev=rev))
            states.has_plan = bool(value.get("plan"))
    return states
