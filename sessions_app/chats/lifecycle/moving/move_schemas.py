from pydantic import Field

from sessions_app.chats.saving.schemas import WriterIn
from sessions_app.projects.schemas import Path


class MoveIn(WriterIn):
    """With `writer_id` and `seq`, or `Idempotency-Key`, a retry of the same move gets the stored answer. `epoch` has no
    effect here."""

    to_project: Path = Field(description="The path of another project of yours.")
