"""Shapes of a transfer."""

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field

from sessions_app.agents.states.schemas import AI_ID
from sessions_app.agents.transfer.execution import Choice, OnConflict, Part
from sessions_app.chats.saving.schemas import WriterIn
from sessions_app.models.message import MESSAGE_ID_LENGTH
from sessions_app.projects.schemas import Path

# Left out of a request's identity unless it is sent, so that a retry of a request from before it existed is recognised.
CURRENT: bool = Field(True, exclude=True, description="False: a new session leaves the project's current one alone.")
Kind = Literal["ai_states", "agent_state", "messages", "opening_step"]


class TransferIn(WriterIn):
    """A move must identify its request, as a save does; a copy that does so can be retried safely."""

    to_session: str | None = Field(None, description="Another session of yours.")
    to_project: Path | None = Field(None, description="The path of a project of yours; a new session is made there.")
    ai_ids: list[Annotated[str, Field(pattern=AI_ID)]] | None = Field(None, description="Left out: all AIs.")
    include: Annotated[list[Kind], Field(min_length=1)] = ["ai_states"]
    mode: Literal["copy", "move"] = "copy"
    on_conflict: Literal["refuse", "overwrite", "merge"] = Field(
        "refuse",
        description=(
            "If the target has other states or another opening step. `merge`: todos united by content, notes appended under "
            "a heading, the newer summary; of an agent state field by field the newer; the target's opening step stays."
        ),
    )
    dry_run: bool = Field(
        False, description="Only report what would happen, with what the target has `now` and would have `then`."
    )

    current: bool = CURRENT

    def choice(self) -> Choice:
        return Choice(
            include=frozenset(Part(part) for part in self.include),
            ai_ids=None if self.ai_ids is None else frozenset(self.ai_ids),
            move=self.mode == "move",
            on_conflict=OnConflict(self.on_conflict),
        )


class CarriedOut(Schema):
    kind: str = Field(description="ai_state, agent_state, opening_step or messages.")
    how: str = Field(description="added, same (it existed already), replaced, merged, or kept (the target's own stayed).")
    ai_id: str | None = None
    rev: int | None = Field(None, description="Of the state in the target, now.")
    added: int | None = Field(None, description="Messages under their ids.")
    conflicts: int | None = Field(None, description="Messages whose id is taken: conflict copies in the target.")
    now: Any = Field(None, description="In a dry run: what the target has.")
    then: Any = Field(None, description="In a dry run: what it would have.")


class ReplacedOut(Schema):
    kind: str
    ai_id: str | None = None
    rev: int | None = Field(None, description="Rev of the replaced version; the history keeps it under this number.")
    value: str | None = Field(None, description="The opening step that was replaced.")


class TransferOut(Schema):
    session: str
    epoch: int
    prev_rev: int
    rev: int
    to_session: str | None = Field(description="null in a dry run that would make it.")
    dry_run: bool
    carried: list[CarriedOut]
    replaced: list[ReplacedOut]


class ForkIn(WriterIn):
    """With `writer_id` and `seq`, or `Idempotency-Key`, a retry returns the session that the first request
    created. `epoch` is ignored here."""

    up_to: Annotated[str, Field(max_length=MESSAGE_ID_LENGTH)] | None = None
    project: Path | None = None
    current: bool = CURRENT
