"""An agent's own state, its plan, and its pending actions."""

import orjson
from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.agents.states.agent_state import delete_agent_state, patch_step, restore_agent_state, save_agent_state
from sessions_app.agents.states.pending_actions import key_of, resolve_action, seconds_left
from sessions_app.agents.states.queries import agent_history, agent_json, get_action, get_agent_state, joined, whole
from sessions_app.agents.states.schemas import (
    ActionResolved,
    ActionResolveIn,
    AgentStateIn,
    AgentStateList,
    AgentStateOut,
    AgentStateSaved,
    PendingActionOut,
    StepPatch,
)
from sessions_app.chats.reading.sessions import session_uuid
from sessions_app.core.callers import caller_of
from sessions_app.core.redaction import Redacted
from sessions_app.core.serialization.stored_json import stored_object
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
from sessions_app.core.web.waiting import DECISION_WAIT, Awaited, nothing_yet
from sessions_app.models import PendingAction

router = Router(tags=["Agent state"])
STATE, ACTION = "/{session_id}/agent-state", "/{session_id}/agent-state/pending-action/{action}"
# After the time to expire: by then it is over by every clock.
SURELY_EXPIRED_SECONDS = 0.1
CHANGES = refusals(404, 410, 412)


def with_redacted(body: bytes, redacted: Redacted) -> bytes:
    """Adds to the JSON object what was redacted before it was stored."""
    return joined(body.decode(), redacted=redacted)


@router.get(STATE, response={200: AgentStateOut, 304: None, **refusals(404, 410)}, operation_id="get_agent_state")
def read(request: HttpRequest, session_id: str) -> HttpResponse:
    """The agent's latest state; fields that were never saved are absent."""
    state = get_agent_state(caller=caller_of(request), session_id=session_uuid(session_id))
    etag = state_etag(state.rev)
    return unchanged(request, etag) or json_reply(agent_json(state), etag=etag)


@router.api_operation(["HEAD"], STATE, response={200: None, **refusals(404, 410)}, operation_id="has_agent_state")
def has(request: HttpRequest, session_id: str) -> HttpResponse:
    """Does an agent state exist?"""
    state = get_agent_state(caller=caller_of(request), session_id=session_uuid(session_id))
    return json_reply(b"", etag=state_etag(state.rev))


@router.put(
    STATE,
    response={200: AgentStateSaved, 201: AgentStateSaved, **refusals(404, 409, 410, 412)},
    operation_id="save_agent_state",
    openapi_extra=takes(IF_MATCH, IF_NONE_MATCH),
)
def put(request: HttpRequest, session_id: str, payload: AgentStateIn) -> HttpResponse:
    """Save the whole state. `If-Match`: only over this version; `If-None-Match: *`: only if there is none."""
    return _save(request, session_id, payload, keep=False)


@router.patch(
    STATE,
    response={200: AgentStateSaved, 201: AgentStateSaved, **refusals(404, 409, 410, 412)},
    operation_id="update_agent_state",
    openapi_extra=takes(IF_MATCH, IF_NONE_MATCH),
)
def patch(request: HttpRequest, session_id: str, payload: AgentStateIn) -> HttpResponse:
    """Save some fields: fields that are left out stay, null removes a field."""
    return _save(request, session_id, payload, keep=True)


@router.delete(STATE, response={204: None, **CHANGES}, operation_id="delete_agent_state", openapi_extra=takes(IF_MATCH))
def delete(request: HttpRequest, session_id: str) -> HttpResponse:
    """Delete the state. It stays in the history."""
    delete_agent_state(caller=caller_of(request), session_id=session_uuid(session_id), conditions=conditions_of(request))
    return no_content()


@router.patch(
    STATE + "/plan/steps/{step}",
    response={200: AgentStateSaved, **CHANGES},
    operation_id="update_plan_step",
    openapi_extra=takes(IF_MATCH),
)
def step(request: HttpRequest, session_id: str, step: str, payload: StepPatch) -> HttpResponse:
    """Change one step of the plan."""
    own_id, wanted = session_uuid(session_id), conditions_of(request)
    state, redacted = patch_step(
        caller=caller_of(request), session_id=own_id, step_id=step, fields=payload.fields(), conditions=wanted
    )
    return json_reply(with_redacted(agent_json(state), redacted), etag=state_etag(state.rev))


@router.get(STATE + "/history", response={200: AgentStateList, **refusals(404, 410)}, operation_id="list_agent_state_history")
def history(request: HttpRequest, session_id: str) -> HttpResponse:
    """The last ten versions deleted, or overwritten by a PUT, a transfer or a restore; newest first."""
    rows = agent_history(caller=caller_of(request), session_id=session_uuid(session_id))
    items = [orjson.Fragment(joined(row.content, saved_at=rfc3339(row.saved_at), rev=row.rev)) for row in rows]
    return json_reply({"items": items, "next": None})


@router.post(
    STATE + "/history/{rev}/restore", response={200: AgentStateOut, **refusals(404, 410)}, operation_id="restore_agent_state"
)
def restore(request: HttpRequest, session_id: str, rev: int) -> HttpResponse:
    """Restore a version of the history; the current state goes into the history."""
    state = restore_agent_state(caller=caller_of(request), session_id=session_uuid(session_id), rev=rev)
    return json_reply(agent_json(state), etag=state_etag(state.rev))


@router.get(ACTION, response={200: PendingActionOut, **refusals(404, 410)}, operation_id="get_pending_action")
def action(request: HttpRequest, session_id: str, action: str, wait: int = DECISION_WAIT) -> HttpResponse:
    """A pending action. `status` is `pending`, `expired` or `resolved`; the answer stays readable. With `wait` a pending one is
    answered as soon as somebody has decided, or it has expired."""
    session, row = get_action(caller=caller_of(request), session_id=session_uuid(session_id), action_id=action)
    if wait and (seconds := seconds_left(row)) > 0:
        until = min(wait, seconds + SURELY_EXPIRED_SECONDS)
        nothing_yet(request, Awaited(session.project_id, session.project_path, session.id, None, until))
    return json_reply(_action_json(row))


@router.post(ACTION + "/resolve", response={200: ActionResolved, **refusals(404, 409, 410, 412)}, operation_id="resolve_action")
def resolve(request: HttpRequest, session_id: str, action: str, payload: ActionResolveIn) -> HttpResponse:
    """Approve or reject, once. Already answered → 409 with that answer; expired → 410. An agent may change its question under the
    same id: with `seen`, the answer is to what was read, and refused (412 `action_changed`) if that is no longer asked."""
    seen = None if payload.seen is None else key_of({"id": action, **payload.seen.model_dump()})
    row, redacted = resolve_action(
        caller=caller_of(request),
        session_id=session_uuid(session_id),
        action_id=action,
        decision=payload.decision,
        note=payload.note,
        seen=seen,
    )
    return json_reply(with_redacted(_action_json(row), redacted))


def _save(request: HttpRequest, session_id: str, payload: AgentStateIn, *, keep: bool) -> HttpResponse:
    state, made, redacted = save_agent_state(
        caller=caller_of(request),
        session_id=session_uuid(session_id),
        fields=payload.model_dump(exclude_unset=True),
        keep=keep,
        conditions=conditions_of(request),
    )
    return json_reply(with_redacted(agent_json(state), redacted), status=201 if made else 200, etag=state_etag(state.rev))


def _action_json(row: PendingAction) -> bytes:
    content = whole(row.content)
    if row.resolution is not None:
        return joined(content, status="resolved", resolution=stored_object(row.resolution))
    return joined(content, status="pending" if seconds_left(row) > 0 else "expired")
