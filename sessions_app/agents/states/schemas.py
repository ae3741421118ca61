"""Shapes of agent state, pending actions and AI states. Inside a plan, an action or a todo, unknown fields are kept."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from ninja import Schema
from pydantic import AfterValidator, ConfigDict, Field, model_validator

from sessions_app.core.errors import Invalid
from sessions_app.core.web.schemas import REDACTED, In
from sessions_app.models.agent_states import MOST_TODOS, NOTES_LENGTH, STATE_ID_LENGTH

StateId = Annotated[str, Field(min_length=1, max_length=STATE_ID_LENGTH, pattern=r"^[^/]+$")]
AI_ID = r"^[a-z0-9._-]{1,64}$"
LongText = Annotated[str, Field(max_length=NOTES_LENGTH)]
StepStatus = Literal["pending", "in_progress", "completed", "failed", "skipped"]


def _moment(text: str) -> str:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None or not 1 < moment.year < 9999:
        raise ValueError("a time with its zone: 2026-11-21T09:30:00Z")
    return text


Moment = Annotated[str, AfterValidator(_moment)]


class Kept(In):
    model_config = ConfigDict(extra="allow")


class PlanStep(Kept):
    id: StateId
    title: Annotated[str, Field(max_length=2_000)]
    status: StepStatus


class Plan(Kept):
    title: Annotated[str, Field(max_length=2_000)] = ""
    steps: Annotated[list[PlanStep], Field(max_length=1_000)] = []

    @model_validator(mode="after")
    def _ids_once(self) -> Self:
        if len({step.id for step in self.steps}) != len(self.steps):
            raise ValueError("two steps have the same id")
        return self


class PendingActionIn(Kept):
    id: StateId
    kind: Annotated[str, Field(min_length=1, max_length=STATE_ID_LENGTH)]
    payload: Any = None
    expires_at: Moment | None = None


class AgentStateIn(In):
    context: Any = None
    pr_data: Any = None
    plan: Plan | None = None
    pending_action: PendingActionIn | None = None
    last_error: Any = None


class StepPatch(Kept):
    # Factories, so that the API description shows no default: fields that are left out stay unchanged.
    title: Annotated[str, Field(max_length=2_000)] = Field(default_factory=str)
    status: StepStatus = Field(default_factory=lambda: "pending")

    def fields(self) -> dict[str, Any]:
        given = self.model_dump(exclude_unset=True)
        if "id" in given:
            raise Invalid("A step keeps its id.", details={"field": "id"})
        return given


class AgentStateOut(Schema):
    context: Any = None
    pr_data: Any = None
    plan: dict[str, Any] | None = None
    pending_action: dict[str, Any] | None = None
    last_error: Any = None
    saved_at: str
    rev: int


class AgentStateList(Schema):
    items: list[AgentStateOut]
    next: str | None


class AgentStateSaved(AgentStateOut):
    redacted: dict[str, int] = REDACTED


class QuestionSeen(In):
    kind: str
    payload: Any = None


class ActionResolveIn(In):
    decision: Literal["approve", "reject"]
    note: LongText = ""
    seen: QuestionSeen | None = Field(None, description="The question as it was read: if it is another one now, 412.")


class PendingActionOut(Schema):
    id: str
    kind: str
    payload: Any = None
    expires_at: str | None = None
    status: str = Field(description="pending, expired or resolved.")
    resolution: dict[str, Any] | None = Field(None, description="`{decision, note?, by, at}` once answered.")
    moved_to: str | None = Field(None, description="The session to which a transfer moved it; here it has expired.")


class ActionResolved(PendingActionOut):
    redacted: dict[str, int] = REDACTED


class Todo(Kept):
    content: Annotated[str, Field(min_length=1, max_length=10_000)]
    status: Literal["pending", "in_progress", "completed"]
    activeForm: Annotated[str, Field(max_length=10_000)] = ""


class AiStateIn(In):
    todos: Annotated[list[Todo], Field(max_length=MOST_TODOS)] | None = None
    working_notes: LongText | None = None
    context_summary: LongText | None = None


class AiStateOut(Schema):
    ai_id: str
    todos: list[dict[str, Any]] | None = None
    working_notes: str | None = None
    context_summary: str | None = None
    updated_at: str
    transferred_from: str | None = Field(None, description="The session that it was transferred from.")
    transferred_at: str | None = None
    transferred_through: list[dict[str, str]] | None = Field(None, description="`{from, at}` of each earlier transfer.")
    rev: int


class AiStateSaved(AiStateOut):
    redacted: dict[str, int] = REDACTED


class AiStateList(Schema):
    items: list[AiStateOut]
    next: str | None
