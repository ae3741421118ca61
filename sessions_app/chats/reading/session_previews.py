"""Previews for lists of sessions: the beginning of the last message; and the trash."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import OuterRef, Subquery
from django.db.models.functions import Substr

from sessions_app.core.storage.text_comparison import contains
from sessions_app.models import Caller, ChatSession, Message
from sessions_app.models.message import STREAMING_SECONDS, Status
from sessions_app.models.times import now

LENGTH = 200


@dataclass(frozen=True, slots=True)
class Last:
    """A session's newest live message: its first words, and whether it is streaming."""

    words: str = ""
    live: bool = False


def last_words(*, session_ids: list[uuid.UUID]) -> dict[uuid.UUID, Last]:
    """Last messages by session. The ids must be the caller's own."""
    live = Message.objects.filter(session=OuterRef("pk"), epoch=OuterRef("epoch"), removed="", aside=None)
    newest = Subquery(live.order_by("-position").values("pk")[:1])
    sessions = ChatSession.objects.filter(id__in=session_ids).annotate(newest=newest).order_by()
    rows = Message.objects.filter(pk__in=[pk for pk in sessions.values_list("newest", flat=True) if pk is not None])
    since = now() - timedelta(seconds=STREAMING_SECONDS)
    values = rows.values_list("session_id", Substr("text", 1, LENGTH), "status", "updated_at")
    return {row_id: Last(words, status == Status.STREAMING and at >= since) for row_id, words, status, at in values}


@dataclass(frozen=True, slots=True)
class Trash:
    """`total`: of all pages."""

    rows: list[ChatSession]
    more: bool
    total: int


def list_trash(
    *, caller: Caller, project_id: uuid.UUID, text: str = "", after: tuple[datetime, uuid.UUID] | None = None, limit: int = 50
) -> Trash:
    """The project's deleted sessions with `text` in their title, most recently deleted first; read by the index of the trash."""
    rows = ChatSession.objects.visible_to(caller).filter(project_id=project_id, deleted_at__isnull=False)
    if text:
        rows = rows.filter(contains(text, "title"))
    total = rows.count()
    if after is not None:
        rows = rows.filter(deleted_at__lte=after[0]).exclude(deleted_at=after[0], id__lte=after[1])
    found = list(rows.order_by("-deleted_at", "id")[: limit + 1])
    return Trash(found[:limit], len(found) > limit, total)


def session_names(*, caller: Caller, session_ids: Iterable[uuid.UUID]) -> dict[uuid.UUID, str]:
    """What pages call them; only of those that the caller can open."""
    rows = ChatSession.objects.visible_to(caller).filter(id__in=set(session_ids), deleted_at=None, project__deleted_at=None)
    return ChatSession.objects.names_of(rows.only("id", "title"))
