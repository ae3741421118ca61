"""Shapes of memory and runs."""

from typing import Any

from ninja import Schema
from pydantic import Field

from memory_app.schemas.errors import MOST_ERRORS, ErrorIn
from memory_app.services.runs import HeldState
from sessions_app.queries.sessions import session_uuid
from sessions_app.schemas.common import In
from sessions_app.schemas.states import AiStateIn


class NamespaceOut(Schema):
    namespace: str
    count: int
    size_bytes: int


class NamespaceList(Schema):
    items: list[NamespaceOut]
    next: str | None


class EntryKey(Schema):
    key: str
    rev: int
    size_bytes: int
    updated_at: str


class EntryKeys(Schema):
    items: list[EntryKey]
    next: str | None


class EntryOut(Schema):
    namespace: str
    key: str
    value: Any
    rev: int
    size_bytes: int
    updated_at: str


class EntrySaved(EntryOut):
    """`redacted`: how many secrets of which kind were taken out before it was stored."""

    redacted: dict[str, int]


class VersionOut(Schema):
    rev: int
    value: Any
    size_bytes: int
    saved_at: str
    by: str


class VersionList(Schema):
    items: list[VersionOut]
    next: str | None


class DeletedOut(Schema):
    id: str
    namespace: str
    key: str
    deleted_at: str
    by: str


class DeletedList(Schema):
    items: list[DeletedOut]
    next: str | None


class StatsOut(Schema):
    size_bytes: int
    entries: dict[str, int]
    errors: int
    endpoints: int
    session_count: int
    limits: dict[str, int]


class RunIn(In):
    agent: str = ""


class EntryIn(In):
    namespace: str
    key: str
    value: Any


class HeldAiState(AiStateIn):
    """An AI's state in a session of the project (the current one, if none is named); what is left out stays as it was."""

    session: str | None = None
    ai_id: str = Field(pattern=r"^[a-z0-9._-]{1,64}$")

    def as_held(self) -> HeldState:
        fields = self.model_dump(exclude_unset=True, exclude={"session", "ai_id"})
        return HeldState(None if self.session is None else session_uuid(self.session), self.ai_id, fields)


class RunEnd(In):
    """What the agent still holds."""

    entries: list[EntryIn] = Field(default=[], max_length=500)
    errors: list[ErrorIn] = Field(default=[], max_length=MOST_ERRORS)
    ai_states: list[HeldAiState] = Field(default=[], max_length=50)


class Holder(Schema):
    run_id: str
    agent: str
    number: int
    fence: int


class RunOut(Schema):
    """`mode`: `writer` holds the lease; `holder` is whoever does. `session_count`: this is the project's n-th run."""

    run_id: str
    mode: str
    fence: int
    holder: Holder | None
    session_count: int


class RunEnded(RunOut):
    """`recorded`, `filtered`: of the errors that came with it."""

    recorded: int
    filtered: int
    redacted: dict[str, int]
