from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import AfterValidator, Field

from sessions_app.chats.reading.session_filters import DEFAULT_SORT, Has, Sort
from sessions_app.chats.saving.schemas import MessageOut, Skipped
from sessions_app.core.web.schemas import In
from sessions_app.models.agent_states import STATE_ID_LENGTH
from sessions_app.models.message import MESSAGE_ID_LENGTH
from sessions_app.models.session import EXTERNAL_ID_LENGTH, MOST_TAGS, OPENING_STEP_LENGTH, TAG_LENGTH, TITLE_LENGTH, SessionState
from sessions_app.projects.schemas import Path

Title = Annotated[str, Field(max_length=TITLE_LENGTH)]
OpeningStep = Annotated[str, Field(max_length=OPENING_STEP_LENGTH)]
ExternalId = Annotated[str, Field(min_length=1, max_length=EXTERNAL_ID_LENGTH)]
Tag = Annotated[str, Field(min_length=1, max_length=TAG_LENGTH)]


def _distinct(tags: list[str] | None) -> list[str] | None:
    if tags is not None and len(set(tags)) < len(tags):
        raise ValueError("A tag is named twice.")
    return tags


Tags = Annotated[list[Tag], Field(max_length=MOST_TAGS), AfterValidator(_distinct)]


class SessionIn(In):
    title: Title = ""
    opening_step: OpeningStep = ""
    external_id: ExternalId | None = None
    metadata: dict[str, Any] = Field(default={}, description="Your own fields, at most 16,384 bytes as compact JSON.")
    tags: Tags = []
    pinned: bool = False
    current: bool = Field(default=True, description="False: the project's current session stays the current one.")


class SessionPut(SessionIn):
    project: Path


class SessionPatch(In):
    title: Title | None = None
    if_title: Title | None = Field(
        None,
        description="The title that you saw. If it has another one since: 412 `title_changed` with `details.title`.",
    )
    opening_step: OpeningStep | None = None
    archived: bool | None = None
    current: Literal[True] | None = None
    metadata: dict[str, Any] | None = Field(
        None, description="A JSON Merge Patch (RFC 7396): null removes a field, null in place of the object removes all."
    )
    tags: Tags | None = None
    pinned: bool | None = None
    head: Annotated[str, Field(min_length=1, max_length=MESSAGE_ID_LENGTH)] | None = Field(
        None, description="A live message of the session: its path is shown from now on."
    )
    to_end: bool = Field(False, description="With `head`: to the newest message of the branch that begins with it.")


class ListQuery(Schema):
    """Filters of a list of sessions. All of them have to be met, and all tags."""

    external_id: Annotated[str, Field(max_length=EXTERNAL_ID_LENGTH)] | None = None
    tag: Annotated[list[Tag], Field(max_length=MOST_TAGS)] = []
    agent: Annotated[str, Field(max_length=STATE_ID_LENGTH, description="Id of an AI with a state in the session.")] | None = None
    state: SessionState | None = None
    pinned: bool | None = None
    since: datetime | None = Field(None, description="`updated_at` from here on; RFC 3339.")
    until: datetime | None = Field(None, description="`updated_at` up to here.")
    has: Has | None = Field(
        None,
        description="`errors`: the agent's last error is set. `question`: a question waits for a person. "
        "`conflicts`: conflict copies wait to be settled.",
    )
    sort: Sort = DEFAULT_SORT


class SessionOut(Schema):
    id: str
    project: str = Field(description="The project's path.")
    project_id: str
    external_id: str | None = Field(None, description="Absent where none was given.")
    head: str | None = Field(
        None,
        description="The last message of the path that is shown. Absent if the session has no branches; null: the path is empty.",
    )
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
    metadata: dict[str, Any]
    tags: list[str]
    pinned: bool
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
