"""Each AI's working state in a session: todos, notes, summary; with the last 50 versions."""

import uuid
from typing import Any

from sessions_app.agents.states.queries import AiStateNotFound, VersionNotFound
from sessions_app.chats.locking import LockedSession, lock_session
from sessions_app.core.id_parsing import refuse_dots
from sessions_app.core.limits import quotas
from sessions_app.core.redaction import Redacted, redact
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.stored_json import read_json, read_object, stored_object
from sessions_app.core.storage.transactions import write
from sessions_app.core.web.preconditions import ANY, Conditions
from sessions_app.models import AiState, AiStateVersion, Caller
from sessions_app.models.agent_states import HISTORY_LENGTH
from sessions_app.models.event import EventType
from sessions_app.models.times import now

PROVENANCE = ("transferred_from", "transferred_at", "transferred_through")


def save_ai_state(
    *,
    caller: Caller,
    session_id: uuid.UUID,
    ai_id: str,
    fields: dict[str, Any],
    keep: bool = False,
    conditions: Conditions = ANY,
) -> tuple[AiState, bool, Redacted]:
    """Returns the state, whether it is new, and what was redacted. `keep`: missing fields stay. None removes a field."""
    clean, redacted = redact(fields)

    def work() -> tuple[AiState, bool, Redacted]:
        session = lock_session(caller=caller, session_id=session_id)
        state = find_ai_state(session_id, ai_id)
        made = state.content is None
        conditions.check(None if made else state.rev)
        if made:
            refuse_dots(ai_id=ai_id)
        kept = stored_object(state.content)
        if not keep:  # A full save keeps the provenance: no save sends it.
            kept = {name: value for name, value in kept.items() if name in PROVENANCE}
        content = {name: value for name, value in {**kept, **clean}.items() if value is not None}
        _check_room(caller, content)
        store_ai_state(state, content)
        _tell(caller, session, state)
        return state, made, redacted

    return write(work)


def delete_ai_state(*, caller: Caller, session_id: uuid.UUID, ai_id: str, conditions: Conditions = ANY) -> None:
    """Deletes the state; its history stays and can be restored."""

    def work() -> None:
        session = lock_session(caller=caller, session_id=session_id)
        state = find_ai_state(session_id, ai_id)
        if state.content is None:
            raise AiStateNotFound
        conditions.check(state.rev)
        store_ai_state(state, None)
        _tell(caller, session, state)

    write(work)


def restore_ai_state(*, caller: Caller, session_id: uuid.UUID, ai_id: str, rev: int) -> AiState:
    """Restores an earlier version as the newest one."""

    def work() -> AiState:
        session = lock_session(caller=caller, session_id=session_id)
        state = find_ai_state(session_id, ai_id)
        version = AiStateVersion.objects.filter(state_id=state.pk, rev=rev).first()
        if version is None or read_object(version.content) is None:
            raise VersionNotFound
        content = read_json(version.content)
        _check_room(caller, content)
        store_ai_state(state, content)
        _tell(caller, session, state)
        return state

    return write(work)


def find_ai_state(session_id: uuid.UUID, ai_id: str) -> AiState:
    found = AiState.objects.filter(session_id=session_id, ai_id=ai_id).first()
    return found or AiState(session_id=session_id, ai_id=ai_id)


def store_ai_state(state: AiState, content: dict[str, Any] | None) -> None:
    """Stores under the next rev and in the history; the session is locked. `None` deletes."""
    state.content = None if content is None else json_text(content)
    state.rev += 1
    state.updated_at = now()
    state.save()
    if state.content is not None:
        AiStateVersion.objects.create(state=state, rev=state.rev, content=state.content, updated_at=state.updated_at)
        kept = AiStateVersion.objects.filter(state=state).order_by("-rev").values_list("rev", flat=True)
        oldest = kept[HISTORY_LENGTH - 1 : HISTORY_LENGTH].first()
        if oldest is not None:
            AiStateVersion.objects.filter(state=state, rev__lt=oldest).delete()


def _check_room(caller: Caller, content: dict[str, Any]) -> None:
    """For the whole state, which the history keeps once more. Raises QuotaExceeded."""
    quotas.check_state_bytes(caller.user_id, len(json_text(content).encode()))


def _tell(caller: Caller, session: LockedSession, state: AiState) -> None:
    data = {"ai_id": state.ai_id, "state_rev": state.rev, "deleted": state.content is None}
    session.publish(EventType.AI_STATE_SAVED, caller, data=data)
