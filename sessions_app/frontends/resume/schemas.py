"""Schemas of a resume."""

from typing import Any

from ninja import Schema
from pydantic import Field

from sessions_app.chats.saving.schemas import LossOut, MessageOut, Skipped
from sessions_app.chats.sessions.schemas import SessionOut
from sessions_app.frontends.app_state.schemas import AppStateOut
from sessions_app.projects.schemas import ProjectOut


class ResumeOut(Schema):
    """Everything a frontend needs to repaint. Missing parts are null or []."""

    project: ProjectOut
    session: SessionOut
    messages: list[MessageOut] | list[Any] = Field(description="With `as` the objects of that framework.")
    ids: list[list[str]] | None = Field(None, description="With `as`: for each object the ids of the messages it came from.")
    losses: list[LossOut] | None = Field(None, description="With `as`: what the format cannot express.")
    skipped: list[Skipped]
    more: bool
    agent_state: dict[str, Any] | None
    ai_states: list[dict[str, Any]]
    handoff: dict[str, Any] | None
    app_state: AppStateOut
    event_cursor: int
