"""Schemas for operations on a whole session: clear, undo, removed, conflicts, fork, flush."""

from typing import Annotated, Any

from ninja import Schema
from pydantic import Field

from sessions_app.chats.lifecycle.restore_and_conflicts import Keep
from sessions_app.chats.saving.schemas import WriterIn
from sessions_app.core.errors import Invalid
from sessions_app.core.web.schemas import BIGGEST, In


class ClearIn(WriterIn):
    pass


class UndoClearIn(WriterIn):
    of: Annotated[int, Field(ge=1, le=BIGGEST, description="The epoch that was cleared. Left out: the last one.")] | None = None


class ClearOut(Schema):
    session: str
    epoch: int
    prev_rev: int
    rev: int
    saved_at: str
    of: int = Field(description="The epoch that ended. `undo-clear` takes it.")
    cleared: int = Field(description="How many messages left the window.")


class UndoClearOut(Schema):
    session: str
    epoch: int
    prev_rev: int
    rev: int
    saved_at: str
    of: int
    restored: int
    renamed: list[dict[str, str]] = Field(description="`{from, to}` for each message whose id was taken by now.")
    dropped: list[str] = Field(description="The oldest messages, removed because the session has reached its hard cap.")


class RemovedOut(Schema):
    id: str
    role: str
    text: str
    parts: list[dict[str, Any]]
    status: str
    epoch: int
    position: int
    reason: str = Field(description="cleared, truncated, replaced, dropped or deleted.")
    removed_at: str


class RemovedList(Schema):
    items: list[RemovedOut]
    next: str | None


class RestoredOut(Schema):
    session: str
    epoch: int
    prev_rev: int
    rev: int
    message: str = Field(description="The message's id now.")
    renamed: list[dict[str, str]]


class ConflictCopyOut(Schema):
    copy_id: str
    id: str
    role: str
    text: str
    parts: list[dict[str, Any]]
    status: str
    epoch: int
    reason: str
    writer_id: str | None
    created_at: str


class ConflictList(Schema):
    items: list[ConflictCopyOut]
    next: str | None


class SettleIn(In):
    keep: str = Field(description="`theirs`: the stored message; `ours`: the copy; or `both`.")

    def kept(self) -> Keep:
        try:
            return Keep(self.keep)
        except ValueError:
            raise Invalid("`keep` is `theirs`, `ours` or `both`.", details={"field": "keep"}) from None
