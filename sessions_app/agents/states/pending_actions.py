"""Pending actions: an agent's questions to a person, answered exactly once."""

import math
import uuid
from datetime import datetime
from typing import Any

from sessions_app.agents.states.queries import ActionNotFound
from sessions_app.chats.locking import lock_session
from sessions_app.core.errors import Conflict, Gone, PreconditionFailed
from sessions_app.core.id_parsing import refuse_dots
from sessions_app.core.redaction import Redacted, redact_text
from sessions_app.core.serialization.json_text import fingerprint, json_text
from sessions_app.core.serialization.stored_json import stored_object
from sessions_app.core.storage.sql import rfc3339
from sessions_app.core.storage.transactions import write
from sessions_app.models import AgentState, Caller, PendingAction
from sessions_app.models.event import EventType
from sessions_app.models.times import now

KEY_LENGTH = 16
# Above it, browsers round integers.
EXACT_IN_BROWSERS = 2**53


class AlreadyResolved(Conflict):
    code, message = "already_resolved", "This action was already answered. The first answer counts: see details."


class Expired(Gone):
    code, message = "action_expired", "This action has expired. Ask the agent to propose it again."


class QuestionTaken(Conflict):
    code = "question_taken"
    message = "Another question has this id, and an answer counts for the question that it was given to. Ask under another id."


class QuestionChanged(PreconditionFailed):
    code, message = "action_changed", "The agent changed its question meanwhile. Read it, then answer."


def key_of(action: dict[str, Any]) -> str:
    """Names all that the reader of a question decides about; the same for what a browser read of it."""
    return fingerprint(_as_browsers_read([action.get("id"), action.get("kind"), action.get("payload")]))[:KEY_LENGTH]


def _as_browsers_read(value: Any) -> Any:
    if isinstance(value, list):
        return [_as_browsers_read(child) for child in value]
    if isinstance(value, dict):
        return {key: _as_browsers_read(child) for key, child in value.items()}
    if not isinstance(value, int) or abs(value) <= EXACT_IN_BROWSERS:
        return value
    try:
        return float(value)
    except OverflowError:
        return None


def ask(*, session_id: uuid.UUID, action: dict[str, Any]) -> dict[str, Any]:
    """Store the action, in the caller's transaction. An answered action stays answered. Raises DotsAsId, QuestionTaken."""
    row = _find(session_id, action)
    if row is None:
        refuse_dots(id=action["id"])
    return _store(session_id, row, action)


def check_same(present: dict[str, Any], action: dict[str, Any]) -> None:
    """Raises QuestionTaken if `action` is another question than the one that has its id."""
    if present.get("id") == action["id"] and key_of(present) != key_of(action):
        raise QuestionTaken(details={"id": action["id"]})


def _find(session_id: uuid.UUID, action: dict[str, Any]) -> PendingAction | None:
    return PendingAction.objects.filter(session_id=session_id, action_id=action["id"]).first()


def _store(session_id: uuid.UUID, row: PendingAction | None, action: dict[str, Any]) -> dict[str, Any]:
    asked = {name: value for name, value in action.items() if name not in {"resolution", "status"}}
    expires = asked.get("expires_at")
    if row is not None and row.resolution is not None:
        check_same(stored_object(row.content), asked)
        return {**asked, "resolution": stored_object(row.resolution)}
    row = row or PendingAction(session_id=session_id, action_id=asked["id"])
    row.content = json_text(asked)
    row.expires_at = None if expires is None else datetime.fromisoformat(expires)
    row.save()
    return asked


def ask_there(*, session_id: uuid.UUID, action: dict[str, Any]) -> dict[str, Any]:
    """Copy an action from another session; an answer given there counts here too. Raises QuestionTaken."""
    asked = _store(session_id, _find(session_id, action), action)
    if "resolution" in action and "resolution" not in asked:
        asked["resolution"] = action["resolution"]
        row = PendingAction.objects.filter(session_id=session_id, action_id=asked["id"])
        row.update(resolution=json_text(action["resolution"]))
    return asked


def withdraw(*, session_id: uuid.UUID, action: dict[str, Any], moved_to: uuid.UUID) -> None:
    """Close an open action that was moved; a client that waits for its answer reads where it went."""
    row = PendingAction.objects.filter(session_id=session_id, action_id=action["id"], resolution=None).first()
    if row is not None:
        row.content = json_text({**stored_object(row.content), "moved_to": str(moved_to)})
        row.expires_at = now()
        row.save(update_fields=["content", "expires_at"])


def resolve_action(
    *, caller: Caller, session_id: uuid.UUID, action_id: str, decision: str, note: str = "", seen: str | None = None
) -> tuple[PendingAction, Redacted]:
    """Approve or reject. Already answered → 409 with the first answer; expired → 410. `seen`: the key of the question that was
    read; another one under this id → 412. Also returns what was redacted."""
    clean, redacted = redact_text(note)

    def work() -> tuple[PendingAction, Redacted]:
        session = lock_session(caller=caller, session_id=session_id)
        row = PendingAction.objects.filter(session_id=session_id, action_id=action_id).first()
        if row is None:
            raise ActionNotFound
        if row.resolution is not None:
            raise AlreadyResolved(details={"id": action_id, "resolution": stored_object(row.resolution)})
        if row.expires_at is not None and seconds_left(row) <= 0:
            raise Expired(details={"id": action_id, "expires_at": rfc3339(row.expires_at)})
        if seen is not None and seen != key_of(stored_object(row.content)):
            raise QuestionChanged
        resolution = {"decision": decision, **({"note": clean} if clean else {}), "by": caller.username, "at": rfc3339(now())}
        row.resolution = json_text(resolution)
        row.save(update_fields=["resolution"])
        _show(session_id, action_id, resolution)
        session.publish(EventType.PENDING_ACTION_RESOLVED, caller, data={"action": action_id, "decision": decision})
        return row, redacted

    return write(work)


def seconds_left(row: PendingAction) -> float:
    """In which somebody may still decide: none if it was answered or has expired, else endless without a time to expire."""
    if row.resolution is not None:
        return 0
    return math.inf if row.expires_at is None else (row.expires_at - now()).total_seconds()


def _show(session_id: uuid.UUID, action_id: str, resolution: dict[str, Any]) -> None:
    """Shows the answer in the agent's state too, if the action is still in it."""
    state = AgentState.objects.filter(session_id=session_id, content__isnull=False).first()
    if state is None or state.content is None:
        return
    content = stored_object(state.content)
    asked = content.get("pending_action")
    if not isinstance(asked, dict) or asked.get("id") != action_id:
        return
    asked["resolution"] = resolution
    state.content, state.rev, state.saved_at = json_text(content), state.rev + 1, now()
    state.save()
