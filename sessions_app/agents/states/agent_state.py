"""An agent's own state: full or partial saves with compare-and-set."""

import uuid
from contextlib import suppress
from typing import Any

from sessions_app.agents.states.pending_actions import QuestionTaken, ask, ask_there
from sessions_app.agents.states.queries import AgentStateNotFound, VersionNotFound
from sessions_app.chats.locking import LockedSession, lock_session
from sessions_app.core.errors import NotFound
from sessions_app.core.id_parsing import refuse_dots
from sessions_app.core.redaction import Redacted, redact
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.stored_json import read_json, read_object, stored_object
from sessions_app.core.storage.transactions import write
from sessions_app.core.web.preconditions import ANY, Conditions
from sessions_app.models import AgentState, AgentStateVersion, Caller
from sessions_app.models.agent_states import OVERWRITTEN_KEPT
from sessions_app.models.event import EventType
from sessions_app.models.times import now


class StepNotFound(NotFound):
    kind, message = "plan step", "The plan has no step with this id. Read the agent state for the plan's steps."


def save_agent_state(
    *, caller: Caller, session_id: uuid.UUID, fields: dict[str, Any], keep: bool = False, conditions: Conditions = ANY
) -> tuple[AgentState, bool, Redacted]:
    """Returns the state, whether it is new, and what was redacted. `keep`: missing fields stay. None removes a field.
    Raises QuestionTaken."""
    clean, redacted = redact(fields)

    def work() -> tuple[AgentState, bool, Redacted]:
        session = lock_session(caller=caller, session_id=session_id)
        state = find_agent_state(session_id)
        made = state.content is None
        conditions.check(None if made else state.rev)
        present = stored_object(state.content)
        _check_new_steps(present, clean)
        kept = present if keep else {}
        content = {name: value for name, value in {**kept, **clean}.items() if value is not None}
        if clean.get("pending_action") is not None:
            content["pending_action"] = ask(session_id=session_id, action=clean["pending_action"])
        if not keep and state.content != json_text(content):
            keep_version(state)
        return _store(caller, session, state, content), made, redacted

    return write(work)


def _check_new_steps(present: dict[str, Any], fields: dict[str, Any]) -> None:
    try:
        stored = {step["id"] for step in present["plan"]["steps"]}
    except (KeyError, TypeError):  # There is no plan, or it is damaged.
        stored = set()
    for step in (fields.get("plan") or {}).get("steps", []):
        if step["id"] not in stored:
            refuse_dots(id=step["id"])


def delete_agent_state(*, caller: Caller, session_id: uuid.UUID, conditions: Conditions = ANY) -> None:
    def work() -> None:
        session = lock_session(caller=caller, session_id=session_id)
        state = find_agent_state(session_id)
        if state.content is None:
            raise AgentStateNotFound
        conditions.check(state.rev)
        keep_version(state)
        _store(caller, session, state, None)

    write(work)


def patch_step(
    *, caller: Caller, session_id: uuid.UUID, step_id: str, fields: dict[str, Any], conditions: Conditions = ANY
) -> tuple[AgentState, Redacted]:
    """Change one step of the plan; the others stay. Also returns what was redacted."""
    clean, redacted = redact(fields)

    def work() -> tuple[AgentState, Redacted]:
        session = lock_session(caller=caller, session_id=session_id)
        state = find_agent_state(session_id)
        content = stored_object(state.content)
        steps = content.get("plan", {}).get("steps", [])
        step = next((step for step in steps if step["id"] == step_id), None)
        if step is None:
            raise StepNotFound
        conditions.check(state.rev)
        step.update(clean)
        return _store(caller, session, state, content), redacted

    return write(work)


def restore_agent_state(*, caller: Caller, session_id: uuid.UUID, rev: int) -> AgentState:
    """Restore an overwritten or deleted version; the current state goes into the history."""

    def work() -> AgentState:
        session = lock_session(caller=caller, session_id=session_id)
        state = find_agent_state(session_id)
        version = AgentStateVersion.objects.filter(state_id=state.pk, rev=rev).first()
        if version is None or read_object(version.content) is None:
            raise VersionNotFound
        content = read_json(version.content)
        if (asked := content.pop("pending_action", None)) is not None:
            with suppress(QuestionTaken):  # The agent put another one in its place, which was answered.
                content["pending_action"] = ask_there(session_id=session_id, action=asked)
        keep_version(state)
        return _store(caller, session, state, content)

    return write(work)


def keep_version(state: AgentState) -> None:
    """Saves the state to the history before it is replaced; the session is locked."""
    if state.content is None:
        return
    AgentStateVersion.objects.create(state=state, rev=state.rev, content=state.content, saved_at=state.saved_at)
    newest = AgentStateVersion.objects.filter(state=state).order_by("-rev").values_list("pk", flat=True)[:OVERWRITTEN_KEPT]
    AgentStateVersion.objects.filter(state=state).exclude(pk__in=list(newest)).delete()


def store_agent_state(state: AgentState, content: dict[str, Any] | None) -> None:
    """Stores under the next rev; the session is locked. `None` deletes."""
    state.content = None if content is None else json_text(content)
    state.rev += 1
    state.saved_at = now()
    state.save()


def find_agent_state(session_id: uuid.UUID) -> AgentState:
    return AgentState.objects.filter(session_id=session_id).first() or AgentState(session_id=session_id)


def _store(caller: Caller, session: LockedSession, state: AgentState, content: dict[str, Any] | None) -> AgentState:
    """Stores the state and publishes the event, last in the transaction."""
    store_agent_state(state, content)
    session.publish(EventType.AGENT_STATE_SAVED, caller, data={"state_rev": state.rev, "deleted": content is None})
    return state
