"""What a search finds in memory: keys and values of entries, and messages of errors. Values are compared as they are stored.

The index of trigrams (`word_indexes.py`) leaves the rows that may have the text; these are read newest first and compared here.
Where it is no help, as for text without a trigram, or for text that very many rows have, all rows are read. Each page reads for
a limited time and says where it ended.
"""

import time
import uuid
from collections.abc import Iterator
from datetime import datetime

import orjson
from django.db.models import QuerySet
from django.urls import reverse

from memory_app.core.namespaces import as_shown
from memory_app.core.word_indexes import entries_with, errors_with
from memory_app.models import ErrorReport, MemoryEntry
from sessions_app.chats.search import sources
from sessions_app.chats.search.sources import (
    SourceHit,
    SourcePage,
    SourceQuery,
    place_in_time,
    read_place,
    read_place_in_time,
    source_hit,
)
from sessions_app.chats.search.text_matching import in_pieces
from sessions_app.core.public_names import now
from sessions_app.core.storage.text_comparison import fold, folded_spellings, has_any

# Number, bytes, project, time and expiry of an entry.
type Head = tuple[int, int, uuid.UUID, datetime, datetime | None]
# Rows in one read: heads of entries (without their values), and errors.
ENTRIES, ERRORS = 2_000, 100
# What every search reads first, unless these entries are long; and of those that may match, which most do.
FIRST_ENTRIES, FIRST_BYTES, CANDIDATES = 200, 500_000, 200


def search_entries(query: SourceQuery) -> SourcePage:
    """Unexpired entries with a match in their key or in their value, last created first. A place is an entry's number."""
    until = time.monotonic() + sources.SOURCE_SECONDS
    place = read_place(query.after)
    hits: list[SourceHit] = []
    for ids, last in _pieces(query, place[0] if place else None):
        hits += [hit for entry in _entries(ids) if (hit := _entry_hit(entry, query)) is not None]
        if len(hits) > query.limit:
            return SourcePage(hits[: query.limit], hits[query.limit - 1].place)
        if time.monotonic() > until:
            return SourcePage(hits, str(last))
    return SourcePage(hits)


def _pieces(query: SourceQuery, before: int | None) -> Iterator[tuple[list[int], int]]:
    """Ids of entries to compare, limited in bytes, and the last entry that was read."""
    moment = now()
    for read in _heads(query, before):
        wanted = [
            (entry_id, size)
            for entry_id, size, project_id, at, expires_at in read
            if project_id in query.projects and query.wanted.includes(at) and (expires_at is None or expires_at > moment)
        ]
        for ids in in_pieces(wanted):
            yield ids, ids[-1]
        if read:
            yield [], read[-1][0]


def _heads(query: SourceQuery, before: int | None) -> Iterator[list[Head]]:
    """Entries without their values, newest first: first a few new ones, which suffices for frequent words, then what the index
    leaves. If it is no help, in one read are entries of all users, so that its cost does not depend on how many are the caller's;
    only of a single project the others are left out."""
    heads = MemoryEntry.objects.order_by("-id").values_list("id", "size_bytes", "project_id", "updated_at", "expires_at")
    rows = heads.filter(project_id=next(iter(query.projects))) if len(query.projects) == 1 else heads
    new = list((rows if before is None else rows.filter(id__lt=before))[:FIRST_ENTRIES])
    if new and sum(size for _, size, *_ in new) <= FIRST_BYTES:
        yield new
        if len(new) < FIRST_ENTRIES:
            return
        before = new[-1][0]
    if (found := entries_with(_written(query.text), query.projects, before)) is not None:
        for start in range(0, len(found), CANDIDATES):
            yield list(heads.filter(id__in=found[start : start + CANDIDATES]))
        return
    while True:
        read = list((rows if before is None else rows.filter(id__lt=before))[:ENTRIES])
        yield read
        if len(read) < ENTRIES:
            return
        before = read[-1][0]


def _entries(ids: list[int]) -> QuerySet[MemoryEntry]:
    return MemoryEntry.objects.filter(id__in=ids).order_by("-id") if ids else MemoryEntry.objects.none()


def _entry_hit(entry: MemoryEntry, query: SourceQuery) -> SourceHit | None:
    """In a value the text is also found as JSON writes it: with quotes and line breaks escaped."""
    written = {spelling: words for words in _written(query.text) for spelling in folded_spellings(words)}
    value = fold(entry.value)
    found = next((words for spelling, words in written.items() if spelling in value), None)
    if found is None and not has_any(folded_spellings(query.text), entry.key):
        return None
    return source_hit(
        kind="memory",
        project=query.projects[entry.project_id],
        heading=f"{as_shown(entry.namespace)} / {entry.key}",
        at=entry.updated_at,
        link=reverse("memory_entry", args=[entry.project_id, entry.namespace, entry.key]),
        text=entry.key if found is None else entry.value,
        words=found or query.text,
        place=str(entry.id),
    )


def _written(text: str) -> tuple[str, str]:
    """A text, and how JSON has it within a value."""
    return text, orjson.dumps(text).decode()[1:-1]


def search_errors(query: SourceQuery) -> SourcePage:
    """Errors with a match in their message or type, last seen first. A place is the time and the id of an error."""
    until = time.monotonic() + sources.SOURCE_SECONDS
    rows = ErrorReport.objects.kept_at(now()).filter(project_id__in=list(query.projects)).order_by("-last_seen", "id")
    rows = rows if query.wanted.since is None else rows.filter(last_seen__gte=query.wanted.since)
    rows = rows if query.wanted.until is None else rows.filter(last_seen__lte=query.wanted.until)
    if (candidates := errors_with(query.text, query.projects)) is not None:
        rows = rows.filter(id__in=candidates)
    hits: list[SourceHit] = []
    after = query.after
    while True:
        read = list(_after(rows, after).only("project_id", "fingerprint", "kind", "message", "last_seen")[:ERRORS])
        hits += [hit for error in read if (hit := _error_hit(error, query)) is not None]
        if len(hits) > query.limit:
            return SourcePage(hits[: query.limit], hits[query.limit - 1].place)
        if len(read) < ERRORS:
            return SourcePage(hits)
        after = place_in_time(read[-1].last_seen, read[-1].id)
        if time.monotonic() > until:
            return SourcePage(hits, after)


def _after(rows: QuerySet[ErrorReport], place: str) -> QuerySet[ErrorReport]:
    if (found := read_place_in_time(place)) is None:
        return rows
    seen, error_id = found
    return rows.filter(last_seen__lte=seen).exclude(last_seen=seen, id__lte=error_id)


def _error_hit(error: ErrorReport, query: SourceQuery) -> SourceHit | None:
    is_named = not error.kind or error.message.startswith(error.kind)
    text = error.message if is_named else f"{error.kind}: {error.message}"
    if not has_any(folded_spellings(query.text), text):
        return None
    return source_hit(
        kind="error",
        project=query.projects[error.project_id],
        heading=error.kind or "Error",
        at=error.last_seen,
        link=reverse("error", args=[error.project_id, error.fingerprint]),
        text=text,
        words=query.text,
        place=place_in_time(error.last_seen, error.id),
    )
