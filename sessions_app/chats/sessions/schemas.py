from typing import Annotated, Literal

from ninja import Schema
from pydantic import Field

from sessions_app.chats.saving.schemas import MessageOut, Skipped
from sessions_app.core.web.schemas import In
from sessions_app.models.session import EXTERNAL_ID_LENGTH, OPENING_STEP_LENGTH, TITLE_LENGTH
from sessions_app.projects.schemas import Path

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
    incarnation: int = Field(description="The store's number; it changes when a backup is restored.")
    epoch: int
    rev: int
    current: bool
    state: Literal["current", "earlier", "archived", "trash"] = Field(
        description="`archived`: by request. `earlier`: another session became the current one."
    )
    message_count: int
    size_bytes: int
    created_at: str
    updated_at: str
    archived_at: str | None = Field(description="Since it was archived, or since another session became the current one.")
    deleted_at: str | None


class SessionList(Schema):
    items: list[SessionOut]
    next: str | None


class SessionWithMessages(Schema):
    session: SessionOut
    messages: list[MessageOut]
    skipped: list[Skipped]
    more: bool = Field(description="True if there are older messages.")
