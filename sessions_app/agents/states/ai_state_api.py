"""Each AI's working state in a session."""

from typing import Annotated

import orjson
from django.http import HttpRequest, HttpResponse
from ninja import Path, Router

from sessions_app.agents.states.agent_state_api import CHANGES, with_redacted
from sessions_app.agents.states.ai_states import delete_ai_state, restore_ai_state, save_ai_state
from sessions_app.agents.states.queries import ai_history, ai_json, get_ai_state, joined, list_ai_states, sound_ai_json
from sessions_app.agents.states.schemas import AI_ID, AiStateIn, AiStateList, AiStateOut, AiStateSaved
from sessions_app.chats.reading.sessions import session_uuid
from sessions_app.core.callers import caller_of
from sessions_app.core.storage.sql import rfc3339
from sessions_app.core.storage.store_incarnation import state_etag
from sessions_app.core.web.responses import (
    IF_MATCH,
    IF_NONE_MATCH,
    conditions_of,
    json_reply,
    no_content,
    refusals,
    takes,
    unchanged,
)
from sessions_app.core.web.schemas import LIMIT

router = Router(tags=["AI state"])
STATES, STATE = "/{session_id}/ai-states", "/{session_id}/ai-states/{ai_id}"
AiId = Annotated[str, Path(..., pattern=AI_ID, description="The AI's name, such as `claude`.")]


@router.get(STATES, response={200: AiStateList, **refusals(404, 410)}, operation_id="list_ai_states")
def browse(request: HttpRequest, session_id: str, cursor: str = "", limit: int = LIMIT) -> HttpResponse:
    """All AIs' states in this session, by name."""
    rows = list_ai_states(caller=caller_of(request), session_id=session_uuid(session_id), after=cursor, limit=limit)
    items = [orjson.Fragment(item) for item in sound_ai_json(rows[:limit])]
    return json_reply({"items": items, "next": rows[limit - 1].ai_id if len(rows) > limit else None})


@router.get(STATE, response={200: AiStateOut, 304: None, **refusals(404, 410)}, operation_id="get_ai_state")
def read(request: HttpRequest, session_id: str, ai_id: AiId) -> HttpResponse:
    """This AI's latest state; fields that were never saved are absent."""
    state = get_ai_state(caller=caller_of(request), session_id=session_uuid(session_id), ai_id=ai_id)
    etag = state_etag(state.rev)
    return unchanged(request, etag) or json_reply(ai_json(state), etag=etag)


@router.put(
    STATE,
    response={200: AiStateSaved, 201: AiStateSaved, **CHANGES},
    operation_id="save_ai_state",
    openapi_extra=takes(IF_MATCH, IF_NONE_MATCH),
)
def put(request: HttpRequest, session_id: str, ai_id: AiId, payload: AiStateIn) -> HttpResponse:
    """Save the whole state. `If-Match`: only over this version; `If-None-Match: *`: only if there is none."""
    return _save(request, session_id, ai_id, payload, keep=False)


@router.patch(
    STATE,
    response={200: AiStateSaved, 201: AiStateSaved, **CHANGES},
    operation_id="update_ai_state",
    openapi_extra=takes(IF_MATCH, IF_NONE_MATCH),
)
def patch(request: HttpRequest, session_id: str, ai_id: AiId, payload: AiStateIn) -> HttpResponse:
    """Save some fields: fields that are left out stay, null removes a field."""
    return _save(request, session_id, ai_id, payload, keep=True)


@router.delete(STATE, response={204: None, **CHANGES}, operation_id="delete_ai_state", openapi_extra=takes(IF_MATCH))
def delete(request: HttpRequest, session_id: str, ai_id: AiId) -> HttpResponse:
    """Delete the state. Its history stays and can be restored."""
    own_id, wanted = session_uuid(session_id), conditions_of(request)
    delete_ai_state(caller=caller_of(request), session_id=own_id, ai_id=ai_id, conditions=wanted)
    return no_content()


@router.get(STATE + "/history", response={200: AiStateList, **refusals(404, 410)}, operation_id="list_ai_state_history")
def history(request: HttpRequest, session_id: str, ai_id: AiId) -> HttpResponse:
    """The last 50 versions, newest first."""
    rows = ai_history(caller=caller_of(request), session_id=session_uuid(session_id), ai_id=ai_id)
    items = [orjson.Fragment(joined(row.content, ai_id=ai_id, updated_at=rfc3339(row.updated_at), rev=row.rev)) for row in rows]
    return json_reply({"items": items, "next": None})


@router.post(STATE + "/history/{rev}/restore", response={200: AiStateOut, **refusals(404, 410)}, operation_id="restore_ai_state")
def restore(request: HttpRequest, session_id: str, ai_id: AiId, rev: int) -> HttpResponse:
    """Restore an earlier version as the newest one; the other versions stay in the history."""
    state = restore_ai_state(caller=caller_of(request), session_id=session_uuid(session_id), ai_id=ai_id, rev=rev)
    return json_reply(ai_json(state), etag=state_etag(state.rev))


def _save(request: HttpRequest, session_id: str, ai_id: str, payload: AiStateIn, *, keep: bool) -> HttpResponse:
    state, made, redacted = save_ai_state(
        caller=caller_of(request),
        session_id=session_uuid(session_id),
        ai_id=ai_id,
        fields=payload.model_dump(exclude_unset=True),
        keep=keep,
        conditions=conditions_of(request),
    )
    return json_reply(with_redacted(ai_json(state), redacted), status=201 if made else 200, etag=state_etag(state.rev))
