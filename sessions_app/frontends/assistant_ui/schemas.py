"""What the client of assistant-ui sends and expects. Unknown fields are ignored: its releases add some."""

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field, StringConstraints

from sessions_app.core.web.schemas import Tolerant
from sessions_app.models.message import FORMAT_LENGTH, MESSAGE_ID_LENGTH
from sessions_app.models.session import EXTERNAL_ID_LENGTH, TITLE_LENGTH

LONGEST_COMMENT, MOST_IDS = 10_000, 500
MessageId = Annotated[str, Field(min_length=1, max_length=MESSAGE_ID_LENGTH)]
Title = Annotated[str, Field(max_length=TITLE_LENGTH)]
AnyObject = Annotated[dict[str, Any], Field(description="Kept as given.")]


class CloudThreadIn(Tolerant):
    title: Title | None = None
    metadata: AnyObject | None = None
    external_id: Annotated[str, Field(min_length=1, max_length=EXTERNAL_ID_LENGTH)] | None = None
    upsert: bool = Field(False, description="With `external_id`: the thread that has it, if there is one.")


class ThreadPatch(Tolerant):
    title: Title | None = None
    metadata: AnyObject | None = None
    is_archived: bool | None = None


class CloudThread(Schema):
    id: str
    title: str
    metadata: Any
    external_id: str | None
    project_id: str
    workspace_id: str = Field(description="The project's path.")
    is_archived: bool
    last_message_at: str
    created_at: str
    updated_at: str


class CloudThreadOut(Schema):
    thread: CloudThread


class CloudThreadList(Schema):
    threads: list[CloudThread]


class CloudThreadMade(Schema):
    thread_id: str


class MessageIn(Tolerant):
    parent_id: str | None = Field(None, description="Of the message that it follows: its id, or the page's own.")
    parent_external_id: str | None = None
    external_id: str | None = Field(None, description="The page's own id. Up to 64 characters it is the message's id.")
    format: Annotated[str, Field(min_length=1, max_length=FORMAT_LENGTH)]
    content: AnyObject


class MessageContent(Tolerant):
    content: AnyObject


class MessagesToDelete(Tolerant):
    message_ids: Annotated[list[MessageId], Field(max_length=MOST_IDS)]


class CloudMessageRow(Schema):
    id: str
    parent_id: str | None
    height: int
    format: str
    content: Any
    created_at: str
    updated_at: str


class CloudMessageList(Schema):
    messages: list[CloudMessageRow]


class CloudMessageMade(Schema):
    message_id: str


class FeedbackIn(Tolerant):
    type: Literal["positive", "negative"]
    comment: Annotated[str, StringConstraints(max_length=LONGEST_COMMENT)] | None = None


class CloudFeedbackOut(Schema):
    feedback_id: str
    type: str
    comment: str | None


class TitleIn(Tolerant):
    thread_id: str
    assistant_id: Literal["system/thread_title"]
    messages: list[dict[str, Any]] = []


class TokenOut(Schema):
    token: str
