"""What a search finds in handoffs: the texts of live items and the summary.

The index of trigrams leaves those that may have the text. Where it is no help, as for text without a trigram, or for text that
very many have, all are read. A page reads newest first for a limited time and says where it ended.
"""

import hashlib
import time
from collections.abc import Iterator
from typing import Any

from django.urls import reverse

from sessions_app.agents.handoff.queries import LISTS
from sessions_app.chats.search import sources
from sessions_app.chats.search.sources import SourceHit, SourcePage, SourceQuery, read_place, source_hit
from sessions_app.chats.search.word_index import WordIndex
from sessions_app.core.serialization.stored_json import exact_object
from sessions_app.core.storage.sql import db_uuid, table_of
from sessions_app.core.storage.text_comparison import folded_spellings, has_any
from sessions_app.models import Handoff

# Handoffs in one read.
ROWS = 20
# If the index leaves more than these, reading finds some soon.
MOST_INDEXED = 1_000
_OWN = (
    "SELECT h.id FROM found CROSS JOIN sessions_app_handoff h WHERE h.id = found.id "
    "AND h.project_id IN (SELECT c0 FROM {given}) ORDER BY h.id DESC"
)
ONE = {"decisions": "Decision", "files": "File", "risks": "Risk"}


def search_handoffs(query: SourceQuery) -> SourcePage:
    """Items of live handoffs with a match in any of their texts, last created handoff first.

    A place is the number of a handoff and of the item in it after which to go on.
    """
    until = time.monotonic() + sources.SOURCE_SECONDS
    at, passed = read_place(query.after, 2) or (2**62, 0)
    rows = Handoff.objects.filter(project_id__in=list(query.projects)).order_by("-id")
    if (candidates := HANDOFF_WORDS.candidates([query.text], own_handoffs(query), MOST_INDEXED)) is not None:
        rows = rows.filter(id__in=candidates)
    hits: list[SourceHit] = []
    while True:
        read = list(rows.filter(id__lte=at)[:ROWS])
        for handoff in read:
            found = _hits(handoff, query)
            hits += found if handoff.id != at else [hit for hit in found if int(hit.place.partition(".")[2]) > passed]
        if len(hits) > query.limit:
            return SourcePage(hits[: query.limit], hits[query.limit - 1].place)
        if len(read) < ROWS:
            return SourcePage(hits)
        at, passed = read[-1].id - 1, 0
        if time.monotonic() > until:
            return SourcePage(hits, f"{at}.0")


def own_handoffs(query: SourceQuery) -> tuple[str, list[Any]]:
    given, parameters = table_of(["uuid"], [[db_uuid(project_id)] for project_id in query.projects])
    return _OWN.format(given=given), parameters


def _hits(handoff: Handoff, query: SourceQuery) -> list[SourceHit]:
    """Places count from 1; a damaged handoff has no hits."""
    if not query.wanted.includes(handoff.updated_at):
        return []
    page = reverse("project_handoff", args=[handoff.project_id])
    wanted = folded_spellings(query.text)
    hits = []
    for number, (heading, anchor, texts) in enumerate(_texts(exact_object(handoff.content) or {}), 1):
        text = next((text for text in texts if has_any(wanted, text)), None)
        if text is not None:
            hit = source_hit(
                kind="handoff",
                project=query.projects[handoff.project_id],
                heading=heading,
                at=handoff.updated_at,
                link=f"{page}#{anchor}",
                text=text,
                words=query.text,
                place=f"{handoff.id}.{number}",
            )
            hits.append(hit)
    return hits


def _texts(content: dict[str, Any]) -> Iterator[tuple[str, str, list[str]]]:
    """Of the summary and of each item: what it is, its anchor on the page, and its texts."""
    if content.get("summary"):
        yield "Summary", "handoff-summary", [content["summary"]]
    for kind in LISTS:
        for item in content.get(kind, []):
            values = [item.get(name) or [] for name in ("text", "path", "rationale", "note", "rejected")]
            texts = [text for value in values for text in ([value] if isinstance(value, str) else value)]
            yield ONE[kind], f"item-{item_key(item['id'])}", texts


def item_key(item_id: str) -> str:
    """Safe in HTML ids: an item's own id may hold any character."""
    return hashlib.sha256(item_id.encode()).hexdigest()[:12]


def _text_of(content: str) -> str:
    return "\n".join(text for _, _, texts in _texts(exact_object(content) or {}) for text in texts)


HANDOFF_WORDS = WordIndex(
    "sessions_app_handoff",
    rows="sessions_app_handoff h ON h.id = q.id",
    size="length(h.content)",
    columns="h.content",
    text_of=_text_of,
)
