"""Reading agent state and AI states. Stored JSON goes out as the text that came in."""

import json
import uuid
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.db import connection

from sessions_app.errors import NotFound
from sessions_app.models import AgentState, AgentStateVersion, AiState, AiStateVersion, Caller, ChatSession, PendingAction
from sessions_app.models.sql import as_rfc3339, db_uuid, raw_time_sql, rfc3339
from sessions_app.queries.sessions import get_session
from sessions_app.queries.store import incarnation


def read_json(stored: str) -> Any:
    """With whole numbers of any size exact, which the faster reader would turn into floats."""
    return json.loads(stored)


def joined(content: str, **more: Any) -> bytes:
    """The stored object with more fields at its end."""
    head = content.rstrip()[:-1].encode()
    comma = b"" if head.strip() == b"{" else b","
    return head + comma + orjson.dumps(more)[1:]


def state_etag(rev: int) -> str:
    return f'"{incarnation()}.{rev}"'


def agent_json(state: AgentState) -> bytes:
    return joined(state.content or "{}", saved_at=rfc3339(state.saved_at), rev=state.rev)


def ai_json(state: AiState) -> bytes:
    return joined(state.content or "{}", ai_id=state.ai_id, updated_at=rfc3339(state.updated_at), rev=state.rev)


def get_agent_state(*, caller: Caller, session_id: uuid.UUID) -> AgentState:
    get_session(caller=caller, session_id=session_id)
    found = AgentState.objects.filter(session_id=session_id, content__isnull=False).first()
    if found is None:
        raise NotFound
    return found


def agent_history(*, caller: Caller, session_id: uuid.UUID) -> list[AgentStateVersion]:
    """What transfers took the place of, the newest first; a deleted state's too."""
    get_session(caller=caller, session_id=session_id)
    return list(AgentStateVersion.objects.filter(state__session_id=session_id).order_by("-rev"))


def get_action(*, caller: Caller, session_id: uuid.UUID, action_id: str) -> PendingAction:
    get_session(caller=caller, session_id=session_id)
    found = PendingAction.objects.filter(session_id=session_id, action_id=action_id).first()
    if found is None:
        raise NotFound
    return found


def list_ai_states(*, caller: Caller, session_id: uuid.UUID, after: str = "", limit: int = 50) -> list[AiState]:
    """By `ai_id`; one more than `limit` where there are more."""
    get_session(caller=caller, session_id=session_id)
    rows = AiState.objects.filter(session_id=session_id, content__isnull=False, ai_id__gt=after)
    return list(rows.order_by("ai_id")[: limit + 1])


def get_ai_state(*, caller: Caller, session_id: uuid.UUID, ai_id: str, deleted: bool = False) -> AiState:
    get_session(caller=caller, session_id=session_id)
    found = AiState.objects.filter(session_id=session_id, ai_id=ai_id).first()
    if found is None or (found.content is None and not deleted):
        raise NotFound
    return found


def ai_history(*, caller: Caller, session_id: uuid.UUID, ai_id: str) -> list[AiStateVersion]:
    """The newest first; a deleted state's history too."""
    state = get_ai_state(caller=caller, session_id=session_id, ai_id=ai_id, deleted=True)
    return list(AiStateVersion.objects.filter(state=state).order_by("-rev"))


def held_in(session_id: uuid.UUID, limit: int = 50) -> tuple[AgentState | None, list[AiState]]:
    """What a page shows of a session. Its id is the caller's: the session was read before."""
    state = AgentState.objects.filter(session_id=session_id, content__isnull=False).first()
    return state, list(AiState.objects.filter(session_id=session_id, content__isnull=False).order_by("ai_id")[:limit])


def titles_of(*, caller: Caller, session_ids: set[uuid.UUID]) -> dict[uuid.UUID, str]:
    """By id; those in the trash, erased or somebody else's are not among them."""
    rows = ChatSession.objects.visible_to(caller).alive().filter(id__in=session_ids)
    return dict(rows.values_list("id", "title").order_by())


@dataclass(slots=True)
class States:
    agent: orjson.Fragment | None = None
    ais: list[orjson.Fragment] = field(default_factory=list)
    has_plan: bool = False


def states_of(session_id: uuid.UUID) -> States:
    """A session's agent state and its AI states as JSON, in one statement. A damaged one is left out."""
    sql = (
        f"SELECT '' AS ai_id, content, rev, {raw_time_sql('saved_at')} FROM sessions_app_agentstate "  # noqa: S608 - constants only
        "WHERE session_id = %s AND content IS NOT NULL UNION ALL "
        f"SELECT ai_id, content, rev, {raw_time_sql('updated_at')} FROM sessions_app_aistate "
        "WHERE session_id = %s AND content IS NOT NULL ORDER BY 1"
    )
    states = States()
    with connection.cursor() as cursor:
        cursor.execute(sql, [db_uuid(session_id), db_uuid(session_id)])
        for ai_id, content, rev, at in cursor.fetchall():
            value = read_object(content)
            if value is None:
                continue
            if ai_id:
                states.ais.append(orjson.Fragment(joined(content, ai_id=ai_id, updated_at=as_rfc3339(at), rev=rev)))
            else:
                states.agent = orjson.Fragment(joined(content, saved_at=as_rfc3339(at), rev=rev))
                states.has_plan = bool(value.get("plan"))
    return states


def read_object(content: str) -> dict[str, Any] | None:
    """None where it is no JSON object any more: a damaged row never spoils a page or a bundle."""
    try:
        value = orjson.loads(content)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
