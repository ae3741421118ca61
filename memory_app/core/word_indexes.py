"""The indexes of trigrams of memory entries and of errors, and their rows in the caller's projects that may have a text."""

import uuid
from collections.abc import Collection, Sequence
from typing import Any

from sessions_app.chats.search.word_index import WordIndex
from sessions_app.core.storage.sql import as_uuid, db_uuid, table_of

# If the index leaves more than these, reading finds some soon.
MOST_ENTRIES, MOST_ERRORS = 5_000, 1_000
BIGGEST = 2**63 - 1
_ENTRIES = (
    "SELECT e.id FROM found CROSS JOIN memory_app_memoryentry e WHERE e.id = found.id AND e.id < %s "
    "AND e.project_id IN (SELECT c0 FROM {given}) ORDER BY e.id DESC"
)
# Errors have UUIDs, by which SQLite's index cannot name them.
_ERRORS = (
    "SELECT r.id FROM found CROSS JOIN memory_app_errornumber n CROSS JOIN memory_app_errorreport r "
    "WHERE n.id = found.id AND r.id = n.row_id AND r.project_id IN (SELECT c0 FROM {given})"
)
type Own = tuple[str, list[Any]]


def entries_with(texts: Sequence[str], projects: Collection[uuid.UUID], before: int | None) -> list[int] | None:
    """Numbers of entries that may have one of the texts, newest first; None: they have to be read."""
    return ENTRY_WORDS.candidates(texts, own_entries(projects, before), MOST_ENTRIES)


def errors_with(text: str, projects: Collection[uuid.UUID]) -> list[uuid.UUID] | None:
    """The same for errors, in no order."""
    found = ERROR_WORDS.candidates([text], own_errors(projects), MOST_ERRORS)
    return None if found is None else [as_uuid(error_id) for error_id in found]


def own_entries(projects: Collection[uuid.UUID], before: int | None) -> Own:
    given, parameters = _given(projects)
    return _ENTRIES.format(given=given), [BIGGEST if before is None else before, *parameters]


def own_errors(projects: Collection[uuid.UUID]) -> Own:
    given, parameters = _given(projects)
    return _ERRORS.format(given=given), parameters


def _given(projects: Collection[uuid.UUID]) -> Own:
    return table_of(["uuid"], [[db_uuid(project_id)] for project_id in projects])


ENTRY_WORDS = WordIndex(
    "memory_app_entry",
    rows="memory_app_memoryentry e ON e.id = q.id",
    size="e.size_bytes",
    columns="e.key, e.value",
    text_of="{}\n{}".format,
)
ERROR_WORDS = WordIndex(
    "memory_app_error",
    rows="memory_app_errornumber n ON n.id = q.id LEFT JOIN memory_app_errorreport r ON r.id = n.row_id",
    size="length(r.message)",
    columns="r.kind, r.message",
    text_of="{}: {}".format,
)
