"""Search: case-insensitive substrings of titles and texts, and whole external ids.

An index of trigrams (SQLite: FTS5, PostgreSQL: pg_trgm) finds candidates; the text itself is compared to confirm them.
Fewer than three characters make no trigram: then titles and the newest texts are scanned one by one. Most Chinese words
have two.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

from django.db.models import F, Max, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.urls import reverse

from sessions_app.chats.search.filters import NO_FILTER, SearchFilter
from sessions_app.chats.search.sources import place_in_time, read_place, read_place_in_time
from sessions_app.chats.search.text_matching import Excerpt, Found, excerpt, newest_candidates, newest_messages
from sessions_app.chats.search.trigrams import makes_trigrams, match_of
from sessions_app.core.storage.sql import fetch_rows, on_postgresql, rfc3339
from sessions_app.core.storage.text_comparison import contains, like, regular
from sessions_app.core.storage.time_limit import TimeIsUp, time_limit
from sessions_app.models import Caller, ChatSession, Message, Project
from sessions_app.models.message import Removal
from sessions_app.models.session import EXTERNAL_ID_LENGTH, ChatSessionQuerySet

BIGGEST = 2**63 - 1
# Number of newest messages, of all users, scanned for text without a trigram: the cost does not grow with the store.
RECENT = 10_000
# What hits show. To read a whole row takes as long as to find it.
_OF_SESSIONS = ("title", "external_id", "created_at", "updated_at", "project__path", "project__name")
_OF_MESSAGES = ("text", "message_id", "position", "role", "format", "updated_at")
# Time limit for showing hits in a list of sessions.
HITS_SECONDS = 0.05
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
    "SELECT i.rowid, s.id FROM sessions_app_titleindex i CROSS JOIN sessions_app_titlenumber n ON n.id = i.rowid "
    "CROSS JOIN sessions_app_chatsession s ON s.id = n.session_id CROSS JOIN sessions_app_project p ON p.id = s.project_id "
    "WHERE i.sessions_app_titleindex MATCH %s AND i.rowid < %s AND s.title REGEXP %s"
)
_OWN = "AND s.deleted_at IS NULL AND p.deleted_at IS NULL AND p.owner_id = %s AND (%s IS NULL OR p.id = %s)"

type Also = tuple[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Hit:
    """A match in a title, or in the text of a message; `by_id`: in the session's `external_id`. `name`: what pages call the
    session."""

    session: ChatSession
    message: Message | None
    excerpt: Excerpt
    words: str
    name: str = ""
    by_id: bool = False

    @property
    def kind(self) -> str:
        if self.message is not None:
            return "message"
        return "external_id" if self.by_id else "title"

    @property
    def heading(self) -> str:
        return self.name or self.session.title

    @property
    def at(self) -> datetime:
        return self.session.updated_at if self.message is None else self.message.updated_at

    @property
    def project(self) -> Project:
        return self.session.project

    @property
    def link(self) -> str:
        """The session's page, opened at the message, in which the text is highlighted."""
        page = reverse("session", args=[self.session.id])
        if self.message is None:
            return page
        place = urlencode({"at": self.message.message_id, "q": self.words}, quote_via=quote)
        return f"{page}?{place}#message-{self.message.position}"

    def as_json(self) -> dict[str, Any]:
        session, message = self.session, self.message
        found: dict[str, Any] = {
            "project": session.project.path,
            "project_id": str(session.project_id),
            "session": str(session.id),
            "title": session.title,
            "message": None if message is None else message.message_id,
            "role": None if message is None else message.role,
            "at": rfc3339(self.at),
        }
        return {**found, **self.excerpt.as_json(), "kind": self.kind, "link": self.link}


def search_ids(
    *, caller: Caller, text: str, wanted: SearchFilter = NO_FILTER, after: str = "", limit: int = 50
) -> tuple[list[Hit], str | None]:
    """As `search_titles`, own sessions whose whole `external_id` is the text: at most one of each project."""
    if len(text) > EXTERNAL_ID_LENGTH or "\0" in text:
        return [], None
    sessions, following = _newest_of(ChatSession.objects.filter(external_id=text), caller, wanted, after, limit)
    return [replace(_mark(session, None, text, text), by_id=True) for session in sessions], following


def search_titles(
    *, caller: Caller, text: str, wanted: SearchFilter = NO_FILTER, after: str = "", limit: int = 50
) -> tuple[list[Hit], str | None]:
    """Own sessions whose titles match, newest first, and the place after which the next page goes on; "": the beginning."""
    if on_postgresql() or not makes_trigrams(text):
        sessions, following = _newest_of(ChatSession.objects.filter(title_matches(text)), caller, wanted, after, limit)
    else:
        sessions, following = _titles_by_index(caller, text, wanted, after, limit)
    return [_mark(session, None, session.title, text) for session in sessions], following


def _shown(sessions: QuerySet[ChatSession]) -> QuerySet[ChatSession]:
    return sessions.select_related("project").only(*_OF_SESSIONS)


def _titles_by_index(
    caller: Caller, text: str, wanted: SearchFilter, after: str, limit: int
) -> tuple[list[ChatSession], str | None]:
    """SQLite. A place is the number of a title."""
    place = read_place(after)
    before = None if place is None else place[0]
    rows = [(number, uuid.UUID(own)) for number, own in _newest(_TITLES, caller, text, before, limit + 1, wanted.time_sql("s"))]
    found = _shown(ChatSession.objects.all()).in_bulk([session_id for _, session_id in rows[:limit]])
    # Rows erased between the two statements are no hits.
    sessions = [found[session_id] for _, session_id in rows[:limit] if session_id in found]
    return sessions, str(rows[limit - 1][0]) if len(rows) > limit else None


def _newest_of(
    matching: ChatSessionQuerySet, caller: Caller, wanted: SearchFilter, after: str, limit: int
) -> tuple[list[ChatSession], str | None]:
    """A place is a time and an id."""
    own = _shown(matching.visible_to(caller).alive())
    own = own if wanted.since is None else own.filter(updated_at__gte=wanted.since)
    own = own if wanted.until is None else own.filter(updated_at__lte=wanted.until)
    if (place := read_place_in_time(after)) is not None:
        at, last = place
        own = own.filter(Q(created_at__lt=at) | Q(created_at=at, id__gt=last))
    sessions = list(own.order_by("-created_at", "id")[: limit + 1])
    last_shown = sessions[limit - 1] if len(sessions) > limit else None
    return sessions[:limit], None if last_shown is None else place_in_time(last_shown.created_at, last_shown.id)


def search_messages(
    *, caller: Caller, text: str, wanted: SearchFilter = NO_FILTER, before: int | None = None, limit: int = 50
) -> tuple[list[Hit], int | None]:
    """Matching live messages of own sessions, newest first, and where the next page begins.

    A page may have fewer than `limit` hits, or none, and still a next page, because the search time is limited.

    Text of fewer than three characters is searched in the newest messages only.
    """
    found = _messages_with(caller, text, wanted, BIGGEST if before is None else before, limit + 1)
    own = Message.objects.select_related("session__project").only(*_OF_MESSAGES, *(f"session__{name}" for name in _OF_SESSIONS))
    rows = own.filter(pk__in=found.ids[:limit]).order_by("-pk") if found.ids else []
    hits = [_mark(message.session, message, message.text, text) for message in rows]
    return hits, found.ids[limit - 1] if len(found.ids) > limit else found.ended_at


def _messages_with(caller: Caller, text: str, wanted: SearchFilter, before: int, limit: int) -> Found:
    short = not makes_trigrams(text)
    if on_postgresql():
        after = _newest_message() - RECENT if short else 0
        return newest_messages(caller, text, after=after, before=before, limit=limit, wanted=wanted)
    if short:
        return Found([message_id for (message_id,) in _recent(caller, text, before, limit, wanted)])
    if wanted.is_empty and caller.project_id is None:
        return Found([message_id for (message_id,) in _newest(_TEXTS, caller, text, before, limit)])
    return newest_candidates(caller, text, match_of(text), before=before, limit=limit, wanted=wanted)


def newest_hits(*, session_ids: list[uuid.UUID], text: str) -> dict[uuid.UUID, Hit]:
    """The newest matching live message of each session; none if that takes too long. The ids must be the caller's own."""
    if not makes_trigrams(text):
        return {}
    matching = matching_messages(text).filter(session_id__in=session_ids).order_by().values("session_id")
    try:
        with time_limit(HITS_SECONDS):
            newest = [row["newest"] for row in matching.annotate(newest=Max("pk"))]
    except TimeIsUp:
        return {}
    messages = Message.objects.filter(pk__in=newest).select_related("session").defer("parts", "metadata", "raw")
    return {message.session_id: _mark(message.session, message, message.text, text) for message in messages}


def matching_messages(text: str, messages: QuerySet[Message] | None = None) -> QuerySet[Message]:
    """The live ones of these messages (None: of all users' messages) that match."""
    live = (Message.objects.all() if messages is None else messages).filter(removed=Removal.NONE, epoch=F("session__epoch"))
    if on_postgresql():
        return live.filter(text__has_words=text, words_due=None)
    return live.filter(pk__in=RawSQL(*_rowids("text", text)), text__has_words=text)  # noqa: S611 - the text is a parameter


def title_matches(text: str) -> Q:
    if on_postgresql() or not makes_trigrams(text):
        return contains(text, "title")
    numbers, parameters = _rowids("title", text)
    ids = f"SELECT session_id FROM sessions_app_titlenumber WHERE id IN ({numbers})"  # noqa: S608 - our own SQL
    return Q(pk__in=RawSQL(ids, parameters), title__has_words=text)  # noqa: S611


def title_test(text: str) -> tuple[str, list[str]]:
    """As `title_matches`, as SQL about a session `s`, by comparing its title alone."""
    if on_postgresql():
        return like("s.title", text)
    return "s.title REGEXP %s", [regular(text)]


def titles_by_index(text: str) -> tuple[str, list[str]] | None:
    """SQLite: a table of one column `session_id` for a FROM, with every session whose title has the text's trigrams.

    None if the text has none; PostgreSQL needs no such table, because it uses its index for `title_test`.
    """
    if on_postgresql() or not makes_trigrams(text):
        return None
    numbers, parameters = _rowids("title", text)
    return f"(SELECT session_id FROM sessions_app_titlenumber WHERE id IN ({numbers}))", parameters  # noqa: S608


def _newest(found: str, caller: Caller, text: str, before: int | None, limit: int, also: Also = ("", ())) -> list[Any]:
    """Read the index newest first, only as far as needed: frequent words cost no more than rare ones."""
    sql = f"{found}{also[0]} {_OWN} ORDER BY i.rowid DESC LIMIT %s"
    return _run(sql, match_of(text), caller, text, before, limit, also[1])


def _recent(caller: Caller, text: str, before: int, limit: int, wanted: SearchFilter) -> list[Any]:
    also, parameters = wanted.message_sql("m")
    sql = f"{_RECENT_TEXTS}{also} {_OWN} ORDER BY m.id DESC LIMIT %s"
    return _run(sql, _newest_message() - RECENT, caller, text, before, limit, parameters)


def _run(sql: str, first: Any, caller: Caller, text: str, before: int | None, limit: int, also: Sequence[Any]) -> list[Any]:
    project = caller.project_id and caller.project_id.hex
    own = [caller.user_id, project, project]
    parameters = [first, BIGGEST if before is None else before, regular(text), *also, *own, limit]
    return fetch_rows(sql, parameters)


def match_expression(text: str) -> tuple[str, str]:
    """SQLite's index query, and the regular expression that the text itself is compared with."""
    return match_of(text), regular(text)


def _newest_message() -> int:
    """The highest message number in the store; 0: no messages."""
    return Message.objects.aggregate(newest=Max("pk"))["newest"] or 0


def _rowids(kind: str, text: str) -> tuple[str, list[str]]:
    """The rows that have all trigrams of the text."""
    table = f"sessions_app_{kind}index"
    return f"SELECT rowid FROM {table} WHERE {table} MATCH %s", [match_of(text)]  # noqa: S608


def _mark(session: ChatSession, message: Message | None, text: str, words: str) -> Hit:
    return Hit(session, message, excerpt(text, words), words)
