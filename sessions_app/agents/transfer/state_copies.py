"""Copies a session's states into another session, for a fork."""

import uuid

from sessions_app.agents.states.ai_states import find_ai_state, store_ai_state
from sessions_app.agents.states.pending_actions import ask_there
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.stored_json import stored_object
from sessions_app.models import AgentState, AiState
from sessions_app.models.times import now


def copy_states(source_id: uuid.UUID, target_id: uuid.UUID) -> None:
    """Copies into a new session, inside the caller's transaction. A pending action is copied too."""
    state = AgentState.objects.filter(session_id=source_id, content__isnull=False).first()
    if state is not None and state.content is not None:
        content = stored_object(state.content)
        if "pending_action" in content:
            content["pending_action"] = ask_there(session_id=target_id, action=content["pending_action"])
        AgentState.objects.create(session_id=target_id, content=json_text(content), rev=1, saved_at=now())
    for ai_state in AiState.objects.filter(session_id=source_id, content__isnull=False):
        if ai_state.content is not None:
            store_ai_state(find_ai_state(target_id, ai_state.ai_id), stored_object(ai_state.content))
