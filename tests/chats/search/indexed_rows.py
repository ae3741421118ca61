"""Memory entries, handoffs and errors of given texts, and what the index of trigrams has of them."""

import random
from typing import Any

import orjson

from memory_app.core import search_sources
from memory_app.core.word_indexes import ENTRY_WORDS, ERROR_WORDS, own_entries, own_errors
from memory_app.models import ErrorReport, MemoryEntry
from sessions_app.agents.handoff.handoff_search import HANDOFF_WORDS, own_handoffs, search_handoffs
from sessions_app.chats.search.filters import NO_FILTER
from sessions_app.chats.search.index_update import index_rows_in_passing
from sessions_app.chats.search.sources import Source, SourceQuery
from sessions_app.chats.search.trigrams import PIECES
from sessions_app.chats.search.word_index import WordIndex
from sessions_app.core.storage.sql import fetch_row, fetch_rows
from sessions_app.models import Handoff, Project
from tests.support.databases import ON_POSTGRESQL

LETTERS = [*"aAbBéÉßſẞİıiIΣσςΔЁёÅK数据库", *'"\\/\n\t\x01\x7f -_.*%[]{}', "🙂", "e\u0301", "ǅ", "ﬁ"]
INDEXES = [ENTRY_WORDS, HANDOFF_WORDS, ERROR_WORDS]
SEARCHES: list[tuple[WordIndex, Source]] = [
    (ENTRY_WORDS, search_sources.search_entries),
    (HANDOFF_WORDS, search_handoffs),
    (ERROR_WORDS, search_sources.search_errors),
]


def texts_of(seed: int, count: int = 60) -> list[str]:
    chosen = random.Random(seed)
    return ["".join(chosen.choices(LETTERS, k=chosen.randint(0, 30))) for _ in range(count)]


def fill(projects: list[Project], texts: list[str]) -> None:
    """Each text in an entry, one after the other as a key, in an error, and all of them in handoffs."""
    for number, text in enumerate(texts):
        project = projects[number % len(projects)]
        put(project, f"{number} {texts[number - 1]}", text)
        ErrorReport.objects.create(project=project, fingerprint=str(number), kind=text[:3], message=text, stack="null", count=1)
    for number, project in enumerate(projects):
        decisions = [{"id": str(at), "text": text} for at, text in enumerate(texts[number :: len(projects)])]
        Handoff.objects.create(project=project, content=orjson.dumps({"decisions": decisions}).decode())


def put(project: Project, key: str, value: Any) -> MemoryEntry:
    text = orjson.dumps(value).decode()
    return MemoryEntry.objects.create(project=project, namespace="n", key=key, value=text, rev=1, size_bytes=len(text.encode()))


def index_all() -> None:
    while index_rows_in_passing() or any(waiting(index) for index in INDEXES):
        pass


def waiting(index: WordIndex) -> int:
    return int(fetch_row(f"SELECT count(*) FROM {index.name}queue")[0])


def indexed(index: WordIndex) -> set[int]:
    """Numbers of the rows that are in the index."""
    number = "id" if ON_POSTGRESQL else f"rowid / {PIECES}"
    return {row_id for (row_id,) in fetch_rows(f"SELECT {number} FROM {index.name}words")}


def query_of(projects: list[Project], text: str, **wanted: Any) -> SourceQuery:
    asked = {"wanted": NO_FILTER, "after": "", "limit": 1_000, **wanted}
    return SourceQuery(projects={project.id: project for project in projects}, text=text, **asked)


def found(projects: list[Project], text: str) -> list[list[str]]:
    """Places of the hits in entries, handoffs and errors."""
    return [[hit.place for hit in find(query_of(projects, text)).hits] for _, find in SEARCHES]


def entries_found(projects: list[Project], text: str) -> list[str]:
    return found(projects, text)[0]


def owned(projects: list[Project]) -> list[tuple[WordIndex, tuple[str, list[Any]]]]:
    ids = [project.id for project in projects]
    own = [own_entries(ids, None), own_handoffs(query_of(projects, "")), own_errors(ids)]
    return list(zip(INDEXES, own, strict=True))
