"""Possible targets of a transfer: the caller's other sessions, searched by name."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, Q, When

from sessions_app.core.storage.text_comparison import contains
from sessions_app.models import AiState, Caller, ChatSession, Project


@dataclass(frozen=True, slots=True)
class Target:
    id: uuid.UUID
    name: str
    project: Project
    message_count: int
    updated_at: datetime

    @property
    def value(self) -> str:
        """The form value of this target."""
        return f"session {self.id}"


def list_targets(
    *, caller: Caller, source_id: uuid.UUID, text: str = "", chosen: uuid.UUID | None = None, limit: int = 10
) -> list[Target]:
    """The chosen one, then the latest changed; `text` must occur in the session's title or its project's name or path."""
    named = contains(text, "title", "external_id", "project__name", "project__path")
    rows = ChatSession.objects.visible_to(caller).alive().exclude(id=source_id).filter(named | Q(id=chosen))
    first = Case(When(id=chosen, then=0), default=1)
    fields = ("id", "title", "project__name", "project__path", "message_count", "updated_at")
    found = list(rows.select_related("project").only(*fields).order_by(first, "-updated_at", "id")[:limit])
    names = ChatSession.objects.names_of(found)
    return [Target(row.id, names[row.id], row.project, row.message_count, row.updated_at) for row in found]


def ai_names(*, session_id: uuid.UUID, limit: int = 200) -> list[str]:
    """Names of AIs with a state. The caller must have checked that the session is theirs."""
    rows = AiState.objects.filter(session_id=session_id, content__isnull=False)
    return list(rows.order_by("ai_id").values_list("ai_id", flat=True)[:limit])
