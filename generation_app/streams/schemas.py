from typing import Annotated, Any

from ninja import Query, Schema
from pydantic import Field

from generation_app.streams.following import FORMATS
from sessions_app.core.public_names import MESSAGE_ID_LENGTH
from sessions_app.core.web.schemas import BIGGEST, In

MOST_CHUNKS = 1_000
CHUNK_BYTES = 64_000
OFFSET: int | None = Query(None, ge=0, le=BIGGEST, description="The number of the first chunk to send, from 0.")  # type: ignore[type-arg]
AS: str | None = Query(  # type: ignore[type-arg]
    None, alias="as", description=f"Send it as another protocol's stream: {', '.join(FORMATS)}. Always from its beginning."
)
MessageId = Annotated[str, Field(min_length=1, max_length=MESSAGE_ID_LENGTH)]


class StreamIn(In):
    message: MessageId = Field(description="The id of the message that is streamed. It need not be saved yet.")


class ChunksIn(In):
    offset: int = Field(ge=0, le=BIGGEST, description="The number of the first of these chunks, from 0.")
    chunks: list[str | dict[str, Any]] = Field(
        max_length=MOST_CHUNKS,
        description="Each is a text, the next piece of the answer, or an object. An empty list says that the producer lives.",
    )


class EndIn(In):
    interrupted: bool = Field(False, description="true: the answer is not complete.")


class OffsetOut(Schema):
    stream: str
    offset: int = Field(description="The number of the next chunk.")


class StreamOut(OffsetOut):
    session: str
    message: str
    state: str = Field(description="open, complete or interrupted.")
