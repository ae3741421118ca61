"""What an account consists of, for export and import: one row a kind, parents before what belongs to them.

In a file a row belongs to the last row of its parent's kind before it. Not in the list, so never exported: passwords,
keys, tokens, stored answers to requests, and the event log (its numbers are kept, so that none is used twice).
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from django.db.models import Field, ForeignKey, Model

from sessions_app.models import (
    AgentState,
    AgentStateVersion,
    AiState,
    AiStateVersion,
    AppState,
    ChatSession,
    Clearing,
    ConflictCopy,
    Handoff,
    HandoffSnapshot,
    Message,
    PendingAction,
    Project,
)
from sessions_app.queries.export_cleaning import clean_snapshot, clean_state

USER = ""


@dataclass(frozen=True)
class Kind:
    """`under`: the parent's kind (USER: the account), to which the foreign key `link` points. Rows go in the order of `order`.

    `known_by`: the fields by which a row that is already there is recognised; it then stays as it is. Kinds without them
    come only together with their parent. `later`: foreign keys to rows further down, set at the end. `without`: columns that mean
    nothing elsewhere. `clean`: makes the values of a file's row fit to be stored; raises WrongValue.
    """

    name: str
    model: type[Model]
    under: str
    link: str
    order: tuple[str, ...] = ("pk",)
    known_by: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    clean: Callable[[dict[str, Any]], None] | None = None

    @cached_property
    def fields(self) -> dict[str, "Field[Any, Any]"]:
        """What a line of this kind holds: every column but the link and keys that the database counts."""
        columns = self.model._meta.concrete_fields
        return {
            field.attname: field
            for field in columns
            if field.name not in {self.link, *self.without} and field.get_internal_type() not in {"AutoField", "BigAutoField"}
        }

    @cached_property
    def link_column(self) -> str:
        return cast("ForeignKey[Any, Any]", self.model._meta.get_field(self.link)).attname

    @property
    def children(self) -> list["Kind"]:
        return [kind for kind in KINDS if kind.under == self.name]


KINDS: list[Kind] = [
    Kind("app_state", AppState, USER, "user", known_by=("client",)),
    Kind("project", Project, USER, "owner", ("created_at", "id"), known_by=("id",), later=("current_session_id",)),
    Kind("session", ChatSession, "project", "project", ("created_at", "id"), known_by=("id",)),
    Kind("clearing", Clearing, "session", "session"),
    Kind("message", Message, "session", "session"),
    Kind("conflict_copy", ConflictCopy, "session", "session", ("created_at", "id")),
    Kind("agent_state", AgentState, "session", "session", clean=clean_state),
    Kind("agent_state_version", AgentStateVersion, "agent_state", "state", ("rev",), clean=clean_state),
    Kind("pending_action", PendingAction, "session", "session", clean=clean_state),
    Kind("ai_state", AiState, "session", "session", ("ai_id",), clean=clean_state),
    Kind("ai_state_version", AiStateVersion, "ai_state", "state", ("rev",), clean=clean_state),
    # With a project that is made, not beside what another handoff has numbered already.
    Kind("handoff", Handoff, "project", "project", clean=clean_state),
    Kind("handoff_snapshot", HandoffSnapshot, "project", "project", ("number",), clean=clean_snapshot),
]


# Called with each project that an import made, in its transaction, once all is in.
SETTLERS: list[Callable[[uuid.UUID], None]] = []


def register(*kinds: Kind, settle: Callable[[uuid.UUID], None]) -> None:
    """For another app whose rows belong to projects or sessions; called once, when it is ready."""
    KINDS.extend(kinds)
    SETTLERS.append(settle)


def kind_named(name: str) -> Kind:
    return next(kind for kind in KINDS if kind.name == name)
