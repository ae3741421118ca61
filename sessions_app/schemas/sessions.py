from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field

from sessions_app.models.session import EXTERNAL_ID_LENGTH, OPENING_STEP_LENGTH, TITLE_LENGTH
from sessions_app.schemas.common import In
from sessions_app.schemas.messages import MessageOut, Skipped
from sessions_app.schemas.projects import Path, ProjectOut

Title = Annotated[str, Field(max_length=TITLE_LENGTH)]
OpeningStep = Annotated[str, Field(max_length=OPENING_STEP_LENGTH)]
ExternalId = Annotated[str, Field(min_length=1, max_length=EXTERNAL_ID_LENGTH)]


class SessionIn(In):
    title: Title = ""
    opening_step: OpeningStep = ""
    external_id: ExternalId | None = None


class SessionPut(SessionIn):
    project: Path


class SessionPatch(In):
    title: Title | None = None
    opening_step: OpeningStep | None = None
    archived: bool | None = None
    current: Literal[True] | None = None


class SessionOut(Schema):
    id: str
    project: str = Field(description="The project's path.")
    project_id: str
    external_id: str | None = Field(None, description="Absent where none was given.")
    title: str
    opening_step: str
    schema_version: int
    incarnation: int = Field(description="Of the store; another one after a restored backup.")
    epoch: int
    rev: int
    current: bool
    message_count: int
    size_bytes: int
    created_at: str
    updated_at: str
    archived_at: str | None
    deleted_at: str | None


class SessionList(Schema):
    items: list[SessionOut]
    next: str | None


class SessionWithMessages(Schema):
    session: SessionOut
    messages: list[MessageOut]
    skipped: list[Skipped]
    more: bool = Field(description="Are there older messages than these?")


class AppStateIn(In):
    selected_project: Path | None = None
    active_phase: Annotated[str, Field(min_length=1, max_length=64, examples=["plan", "work", "review", "compound"])] | None = (
        None
    )


class AppStateOut(Schema):
    client: str
    selected_project: str | None
    active_phase: str
    recent_projects: list[str]


class ResumeOut(Schema):
    """All that a frontend needs to repaint. What does not exist is null or []."""

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
