"""Finding words again: case-insensitive substrings of titles and texts.

An index of trigrams (SQLite: FTS5, PostgreSQL: pg_trgm) says where the words may be, the text itself whether they are.
Fewer than three characters make no trigram: then titles are looked through, and the newest texts, one by one. Most Chinese words
have two.
"""

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Max, Q, QuerySet
from django.db.models.expressions import RawSQL

from sessions_app.models import Caller, ChatSession, Message
from sessions_app.models.message import Removal
from sessions_app.models.sql import fetch_rows, on_postgresql, rfc3339

TRIGRAM = 3
BEFORE, AFTER = 60, 120
TITLES = 20
MOST_TRIGRAMS = 6
BIGGEST = 2**63 - 1
# So many messages, whosever, are gone through for what has no trigram: what that costs does not grow with the store.
RECENT = 10_000
_TEXTS = (
    "SELECT m.id FROM sessions_app_textindex i CROSS JOIN sessions_app_message m ON m.id = i.rowid "
    "CROSS JOIN sessions_app_chatsession s ON s.id = m.session_id AND s.epoch = m.epoch AND m.removed = '' "
    "CROSS JOIN sessions_app_project p ON p.id = s.project_id "
    "WHERE i.sessions_app_textindex MATCH %s AND i.rowid < %s AND m.text REGEXP %s"
)
_RECENT_TEXTS = (
    "SELECT m.id FROM sessions_app_message m "
    "CROSS JOIN sessions_app_chatsession s ON s.id = m.session_id AND s.epoch = m.epoch AND m.removed = '' "
    "CROSS JOIN sessions_app_project p ON p.id = s.project_id "
    "WHERE m.id > %s AND m.id < %s AND m.text REGEXP %s"
)
_TITLES = (
    "SELECT s.id FROM sessions_app_titleindex i CROSS JOIN sessions_app_titlenumber n ON n.id = i.rowid "
    "CROSS JOIN sessions_app_chatsession s ON s.id = n.session_id CROSS JOIN sessions_app_project p ON p.id = s.project_id "
    "WHERE i.sessions_app_titleindex MATCH %s AND i.rowid < %s AND s.title REGEXP %s"
)
_OWN = "AND s.deleted_at IS NULL AND p.deleted_at IS NULL AND p.owner_id = %s AND (%s IS NULL OR p.id = %s)"


@dataclass(frozen=True, slots=True)
class Hit:
    """Where the words are: `before`, `hit` and `after` are pieces of the text as it is, to be escaped like any text."""

    session: ChatSession
    message: Message | None
    before: str
    hit: str
    after: str

    @property
    def cut(self) -> bool:
        """There is more text before `before`."""
        return len(self.before) == BEFORE

    def as_json(self) -> dict[str, Any]:
        session, message = self.session, self.message
        found: dict[str, Any] = {
            "project": session.project.path,
            "project_id": str(session.project_id),
            "session": str(session.id),
            "title": session.title,
            "message": None if message is None else message.message_id,
            "role": None if message is None else message.role,
            "at": rfc3339(session.updated_at if message is None else message.updated_at),
        }
        return {**found, "before": self.before, "hit": self.hit, "after": self.after}


def search_titles(*, caller: Caller, text: str, limit: int = TITLES) -> list[Hit]:
    """Own sessions whose titles have the words, the newest first."""
    sessions: list[ChatSession]
    if not on_postgresql() and len(text) >= TRIGRAM:
        ids = [uuid.UUID(found) for found in _newest(_TITLES, caller, text, None, limit)]
        found = ChatSession.objects.select_related("project").in_bulk(ids)
        # What was erased between the two statements is no hit.
        sessions = [found[session_id] for session_id in ids if session_id in found]
    else:
        own = ChatSession.objects.visible_to(caller).alive().select_related("project")
        sessions = list(own.filter(title_matches(text)).order_by("-created_at", "id")[:limit])
    return [_mark(session, None, session.title, text) for session in sessions]


def search_messages(*, caller: Caller, text: str, before: int | None = None, limit: int = 50) -> tuple[list[Hit], int | None]:
    """Live messages of own sessions that have the words, the newest first, and where the next page begins.

    Words of fewer than three characters are looked for in the newest messages only.
    """
    short = len(text) < TRIGRAM
    own = Message.objects.select_related("session__project").defer("parts", "metadata", "raw")
    if on_postgresql():
        sessions = ChatSession.objects.visible_to(caller).alive()
        own = matching_messages(text, own).filter(session__in=sessions, pk__lt=BIGGEST if before is None else before)
        own = own.filter(pk__gt=_newest_message() - RECENT) if short else own
    elif short:
        own = own.filter(pk__in=_recent(caller, text, before, limit + 1))
    else:
        own = own.filter(pk__in=_newest(_TEXTS, caller, text, before, limit + 1))
    rows = list(own.order_by("-pk")[: limit + 1])
    hits = [_mark(message.session, message, message.text, text) for message in rows[:limit]]
    return hits, rows[limit - 1].pk if len(rows) > limit else None


def newest_hits(*, session_ids: list[uuid.UUID], text: str) -> dict[uuid.UUID, Hit]:
    """Of each session the newest live message that has the words. The ids are the caller's: a list made them."""
    if len(text) < TRIGRAM:
        return {}
    matching = matching_messages(text).filter(session_id__in=session_ids).order_by().values("session_id")
    newest = [row["newest"] for row in matching.annotate(newest=Max("pk"))]
    messages = Message.objects.filter(pk__in=newest).select_related("session").defer("parts", "metadata", "raw")
    return {message.session_id: _mark(message.session, message, message.text, text) for message in messages}


def matching_messages(text: str, messages: QuerySet[Message] | None = None) -> QuerySet[Message]:
    """The live ones of these messages (None: of all, whosever) that have the words."""
    live = (Message.objects.all() if messages is None else messages).filter(removed=Removal.NONE, epoch=F("session__epoch"))
    if on_postgresql():
        return live.filter(text__icontains=text)
    return live.filter(pk__in=RawSQL(*_rowids("text", text)), text__iregex=re.escape(text))  # noqa: S611 - the words are a parameter


def title_matches(text: str) -> Q:
    if on_postgresql() or len(text) < TRIGRAM:
        return Q(title__icontains=text)
    numbers, parameters = _rowids("title", text)
    ids = f"SELECT session_id FROM sessions_app_titlenumber WHERE id IN ({numbers})"  # noqa: S608 - our own SQL
    return Q(pk__in=RawSQL(ids, parameters), title__iregex=re.escape(text))  # noqa: S611


def sessions_with(text: str, project_id: uuid.UUID) -> Q:
    """Sessions of a project with the words in their title or in a live message."""
    if len(text) < TRIGRAM:
        return title_matches(text)
    messages = matching_messages(text).filter(session__project_id=project_id)
    return title_matches(text) | Q(pk__in=messages.values("session_id"))


def _newest(found: str, caller: Caller, text: str, before: int | None, limit: int) -> list[Any]:
    """From the index, the newest first, and no further than needed: words that are everywhere cost no more than rare ones."""
    return _run(f"{found} {_OWN} ORDER BY i.rowid DESC LIMIT %s", " AND ".join(_trigrams(text)), caller, text, before, limit)


def _recent(caller: Caller, text: str, before: int | None, limit: int) -> list[Any]:
    return _run(f"{_RECENT_TEXTS} {_OWN} ORDER BY m.id DESC LIMIT %s", _newest_message() - RECENT, caller, text, before, limit)


def _run(sql: str, first: Any, caller: Caller, text: str, before: int | None, limit: int) -> list[Any]:
    pattern, project = f"(?i){re.escape(text)}", caller.project_id and caller.project_id.hex
    parameters = [first, BIGGEST if before is None else before, pattern, caller.user_id, project, project, limit]
    return [found_id for (found_id,) in fetch_rows(sql, parameters)]


def _newest_message() -> int:
    """The highest number of any; 0: there is none."""
    return Message.objects.aggregate(newest=Max("pk"))["newest"] or 0


def _rowids(kind: str, text: str) -> tuple[str, list[str]]:
    """The rows that have all the words' trigrams."""
    table = f"sessions_app_{kind}index"
    return f"SELECT rowid FROM {table} WHERE {table} MATCH %s", [" AND ".join(_trigrams(text))]  # noqa: S608


def _trigrams(text: str) -> Iterator[str]:
    """A few, spread over the words: each more costs a list to read, and the text is compared in the end. In quotes, in which
    nothing but a quote means anything."""
    starts = range(0, len(text) - TRIGRAM + 1, max(1, (len(text) - TRIGRAM) // (MOST_TRIGRAMS - 1)))
    seen = dict.fromkeys(text[at : at + TRIGRAM] for at in [*starts, len(text) - TRIGRAM])
    return ('"' + trigram.replace('"', '""') + '"' for trigram in seen)


def _mark(session: ChatSession, message: Message | None, text: str, words: str) -> Hit:
    found = re.search(re.escape(words), text, re.IGNORECASE)
    if found is None:  # The database folds a letter that Python does not.
        return Hit(session, message, "", "", text[: BEFORE + AFTER])
    start, end = found.span()
    return Hit(session, message, text[max(0, start - BEFORE) : start], text[start:end], text[end : end + AFTER])
