"""Shapes of the handoff."""

from typing import Annotated, Any, Self

from ninja import Schema
from pydantic import AfterValidator, Field, model_validator

from sessions_app.agents.states.schemas import LongText, StateId
from sessions_app.core.errors import Invalid
from sessions_app.core.web.schemas import REDACTED, In


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("it is blank: write what the next agent has to know")
    return text


Words = Annotated[str, Field(min_length=1, max_length=10_000), AfterValidator(_not_blank)]
Short = Annotated[str, Field(max_length=10_000)]


class Item(In):
    id: StateId | None = None


class Decision(Item):
    text: Words
    rationale: Short | None = None
    rejected: Short | list[Short] | None = None


class File(Item):
    path: Words
    note: Short | None = None


class Risk(Item):
    text: Words


class ItemPatch(In):
    text: Words | None = None
    path: Words | None = None
    rationale: Short | None = None
    rejected: Short | list[Short] | None = None
    note: Short | None = None

    def fields(self, kind: str) -> dict[str, Any]:
        """The given fields of this kind. The main text can be changed, but not removed."""
        models: dict[str, type[Item]] = {"decisions": Decision, "files": File, "risks": Risk}
        given = self.model_dump(exclude_unset=True)
        if strange := sorted(given.keys() - models[kind].model_fields.keys()):
            reason = f"An item of {kind} has no such field."
            raise Invalid(details={"fields": [{"field": name, "reason": reason} for name in strange]})
        return {name: value for name, value in given.items() if value is not None or name not in {"text", "path"}}


class HandoffPatch(In):
    # Factories, so that the API description shows no default: fields that are left out stay unchanged.
    decisions: list[Decision] = Field(default_factory=list)
    files: list[File] = Field(default_factory=list)
    risks: list[Risk] = Field(default_factory=list)
    summary: LongText = Field(default_factory=str)

    @model_validator(mode="after")
    def _ids_once(self) -> Self:
        for items in (self.decisions, self.files, self.risks):
            ids = [item.id for item in items if item.id is not None]
            if len(set(ids)) != len(ids):
                raise ValueError("two items have the same id")
        return self


class HandoffOut(Schema):
    decisions: list[dict[str, Any]]
    files: list[dict[str, Any]]
    risks: list[dict[str, Any]]
    summary: str
    rev: int
    last_snapshot: int | None
    updated_at: str
    frozen_at: str | None


class HandoffSaved(HandoffOut):
    redacted: dict[str, int] = REDACTED


class ItemOut(Schema):
    item: dict[str, Any]
    merged: bool = Field(description="It was merged into an existing item with the same text.")
    redacted: dict[str, int] = REDACTED


class Drift(Schema):
    added: list[dict[str, Any]]
    removed: list[dict[str, Any]]
    changed: list[dict[str, Any]]


class SnapshotHead(Schema):
    number: int
    sha256: str = Field(description="Of the payload's bytes: sorted compact JSON.")
    session: str | None
    session_rev: int | None
    author: str
    created_at: str


class SnapshotOut(SnapshotHead):
    payload: dict[str, Any]
    drift: Drift


class SnapshotList(Schema):
    items: list[SnapshotHead]
    next: str | None
