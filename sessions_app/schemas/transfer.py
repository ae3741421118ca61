"""Shapes of a transfer."""

from typing import Annotated, Any, Literal, Self

from ninja import Schema
from pydantic import Field, model_validator

from sessions_app.schemas.common import In
from sessions_app.schemas.messages import BIGGEST, Seq, WriterId
from sessions_app.schemas.projects import Path
from sessions_app.schemas.states import AI_ID
from sessions_app.services.carrying import Choice, OnConflict, Part

Kind = Literal["ai_states", "agent_state", "messages", "opening_step"]


class TransferIn(In):
    """A move needs `epoch`, `writer_id` and `seq`, like a clear; a copy with `writer_id` and `seq` may be sent again."""

    epoch: Annotated[int, Field(ge=1, le=BIGGEST)] | None = None
    writer_id: WriterId | None = None
    seq: Seq | None = None
    to_session: str | None = Field(None, description="Another session of yours.")
    to_project: Path | None = Field(None, description="The path of a project of yours; a new session is made there.")
    ai_ids: list[Annotated[str, Field(pattern=AI_ID)]] | None = Field(None, description="Left out: all AIs.")
    include: Annotated[list[Kind], Field(min_length=1)] = ["ai_states"]
    mode: Literal["copy", "move"] = "copy"
    on_conflict: Literal["refuse", "overwrite", "merge"] = Field(
        "refuse",
        description=(
            "Where the target has other states or another opening step. `merge`: todos united by content, notes appended under "
            "a heading, the newer summary; of an agent state field by field the newer; the target's opening step stays."
        ),
    )
    dry_run: bool = Field(
        False, description="Only answer what would happen, with what the target has `now` and would have `then`."
    )

    @model_validator(mode="after")
    def _move_is_numbered(self) -> Self:
        if self.mode == "move" and not self.dry_run and None in {self.epoch, self.writer_id, self.seq}:
            raise ValueError("a move needs epoch, writer_id and seq")
        return self

    def choice(self) -> Choice:
        return Choice(
            include=frozenset(Part(part) for part in self.include),
            ai_ids=None if self.ai_ids is None else frozenset(self.ai_ids),
            move=self.mode == "move",
            on_conflict=OnConflict(self.on_conflict),
        )


class CarriedOut(Schema):
    kind: str = Field(description="ai_state, agent_state, opening_step or messages.")
    how: str = Field(description="added, same (it stood there already), replaced, merged, or kept (the target's own stayed).")
    ai_id: str | None = None
    rev: int | None = Field(None, description="Of the state in the target, now.")
    added: int | None = Field(None, description="Messages under their ids.")
    conflicts: int | None = Field(None, description="Messages whose id is taken: conflict copies in the target.")
    now: Any = Field(None, description="In a dry run: what the target has.")
    then: Any = Field(None, description="In a dry run: what it would have.")


class ReplacedOut(Schema):
    kind: str
    ai_id: str | None = None
    rev: int | None = Field(None, description="Of what stood there; it stays in the history under this number.")
    value: str | None = Field(None, description="The opening step that stood there.")


class TransferOut(Schema):
    session: str
    epoch: int
    prev_rev: int
    rev: int
    to_session: str | None = Field(description="null in a dry run that would make it.")
    dry_run: bool
    carried: list[CarriedOut]
    replaced: list[ReplacedOut]
