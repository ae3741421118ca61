"""Schemas of runs."""

from collections.abc import Sequence
from typing import Any

from ninja import Schema
from pydantic import Field

from memory_app.errors.schemas import MOST_ERRORS, ErrorIn
from memory_app.key_value.batches.schemas import Key, NamespaceIn, packed
from memory_app.key_value.entries.entry_values import NOTHING, NewEntry, exact_value
from memory_app.runs.services import HeldState
from sessions_app.agents.states.schemas import AiStateIn
from sessions_app.chats.reading.sessions import session_uuid
from sessions_app.core.web.schemas import In


class RunIn(In):
    agent: str = ""


class EntryIn(In):
    """`namespace`: as in a batch, a list of labels or one label."""

    namespace: NamespaceIn
    key: Key
    value: Any


class HeldAiState(AiStateIn):
    """An AI's state in a session of the project (the current one, if none is named); missing fields stay."""

    session: str | None = None
    ai_id: str = Field(pattern=r"^[a-z0-9._-]{1,64}$")

    def as_held(self) -> HeldState:
        fields = self.model_dump(exclude_unset=True, exclude={"session", "ai_id"})
        return HeldState(None if self.session is None else session_uuid(self.session), self.ai_id, fields)


class RunEnd(In):
    """The agent's unsaved data."""

    entries: list[EntryIn] = Field(default=[], max_length=500)
    errors: list[ErrorIn] = Field(default=[], max_length=MOST_ERRORS)
    ai_states: list[HeldAiState] = Field(default=[], max_length=50)

    def new_entries(self, body: bytes, replaced: Sequence[str]) -> list[NewEntry]:
        """`replaced`: where in the body characters were replaced, which exact namespaces keep."""
        exact = exact_value(body)["entries"] if replaced and self.entries else None
        return [
            NewEntry(packed(entry.namespace), entry.key, entry.value, NOTHING if exact is None else exact[index]["value"])
            for index, entry in enumerate(self.entries)
        ]


class Holder(Schema):
    run_id: str
    agent: str
    number: int
    fence: int


class RunOut(Schema):
    """`mode`: `writer` holds the lease; `holder` is the run that does. `session_count`: this is the project's n-th run."""

    run_id: str
    mode: str
    fence: int
    holder: Holder | None
    session_count: int


class RunEnded(RunOut):
    """`recorded`, `filtered`: counts of the errors in the request."""

    recorded: int
    filtered: int
    redacted: dict[str, int]
