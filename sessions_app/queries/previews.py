"""What lists show beside a session: the beginning of its last message; and the trash."""

import uuid
from typing import Any

from django.db.models import OuterRef, Subquery
from django.db.models.functions import Substr

from sessions_app.models import Caller, ChatSession, Event, Message

LENGTH = 200


def last_words(*, session_ids: list[uuid.UUID]) -> dict[uuid.UUID, str]:
    """The beginning of each session's newest live message. The ids are the caller's: a list made them."""
    live = Message.objects.filter(session=OuterRef("pk"), epoch=OuterRef("epoch"), removed="")
    words = Subquery(live.order_by("-position").values_list(Substr("text", 1, LENGTH))[:1])
    rows = ChatSession.objects.filter(id__in=session_ids).annotate(words=words).order_by()
    return {row_id: words or "" for row_id, words in rows.values_list("id", "words")}


def list_trash(*, caller: Caller, project_id: uuid.UUID, limit: int = 100) -> list[ChatSession]:
    """The project's deleted sessions, the one deleted last first."""
    rows = ChatSession.objects.visible_to(caller).filter(project_id=project_id, deleted_at__isnull=False)
    return list(rows.order_by("-deleted_at", "id")[:limit])


def list_newest_events(*, project_id: uuid.UUID, before: int | None = None, limit: int = 100) -> list[dict[str, Any]]:
    """The newest first, with the title of the session that each is about; one more than `limit` where there are more."""
    rows = Event.objects.filter(project_id=project_id)
    if before is not None:
        rows = rows.filter(event_seq__lt=before)
    found = list(rows.order_by("-event_seq").values("event_seq", "type", "session_id", "at")[: limit + 1])
    named = {row["session_id"] for row in found if row["session_id"]}
    titles = dict(ChatSession.objects.filter(id__in=named, project_id=project_id).values_list("id", "title"))
    return [{**row, "title": titles.get(row["session_id"]) if row["session_id"] else None} for row in found]
