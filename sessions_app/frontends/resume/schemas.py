"""Schemas of a resume."""

from typing import Any

from ninja import Schema

from sessions_app.chats.saving.schemas import MessageOut, Skipped
from sessions_app.chats.sessions.schemas import SessionOut
from sessions_app.frontends.app_state.schemas import AppStateOut
from sessions_app.projects.schemas import ProjectOut


class ResumeOut(Schema):
    """Everything a frontend needs to repaint. Missing parts are null or []."""

    project: ProjectOut
    session: SessionOut
    messages: list[MessageOut]
    skipped: list[Skipped]
    more: bool
    agent_state: dict[str, Any] | None
    ai_states: list[dict[str, Any]]
    handoff: dict[str, Any] | None
    app_state: AppStateOut
    event_cursor: int
