import uuid
from typing import Annotated, Any

from ninja import Schema
from pydantic import Field

from generation_app.models.generation import MODEL_LENGTH
from sessions_app.core.public_names import MESSAGE_ID_LENGTH, TEXT_LENGTH
from sessions_app.core.web.schemas import In

MessageId = Annotated[str, Field(min_length=1, max_length=MESSAGE_ID_LENGTH)]


class QuestionIn(In):
    """A message of the user, saved as in an upsert."""

    id: MessageId | None = Field(None, description="Left out: a new one. With it a request can be repeated.")
    text: Annotated[str, Field(max_length=TEXT_LENGTH)] | None = None
    parts: list[dict[str, Any]] | None = None
    metadata: Any = None
    parent_id: MessageId | None = None


class GenerationIn(In):
    id: uuid.UUID | None = Field(None, strict=False, description="Left out: a new one. With it a request can be repeated.")
    message: QuestionIn | None = Field(None, description="The question. Left out: the newest message is answered.")
    question: MessageId | None = Field(
        None, description="The stored message that needs an answer. A generation that already took it into account is returned."
    )
    parent_id: MessageId | None = Field(
        None, description="The stored message to answer once more, beside its other answers. Not with `message` or `question`."
    )
    model: Annotated[str, Field(max_length=MODEL_LENGTH)] = Field("", description="Left out: the configured one.")
    instructions: Annotated[str, Field(max_length=TEXT_LENGTH)] = Field("", description="What the model is told beforehand.")
    after: MessageId | None = Field(None, description="Messages behind this one are removed first, as by a truncate.")


class GenerationOut(Schema):
    generation: str
    session: str
    message: str = Field(description="The id of the answer's message.")
    stream: str | None = Field(description="Where the answer can be read while it is made; null once that was dropped.")
    state: str = Field(description="queued, running, complete, stopped, interrupted or failed.")
    error: str | None = Field(description="Why it failed or was interrupted.")
    model: str | None
    created_at: str
    ended_at: str | None


class GenerationList(Schema):
    items: list[GenerationOut]


class ModelOut(Schema):
    id: str


class ModelList(Schema):
    items: list[ModelOut] = Field(description="Empty if the endpoint does not list any.")
    default: str | None = Field(description="The one that answers if a request names none.")
