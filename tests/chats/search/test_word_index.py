"""The index of trigrams of memory entries, handoffs and errors leaves no match out, whatever it has come to."""

import random
from typing import Any

import pytest
from django.db import transaction

from memory_app.core import search_sources, word_indexes
from memory_app.core.word_indexes import ENTRY_WORDS, own_entries
from memory_app.models import MemoryEntry
from sessions_app.chats.search import word_index
from sessions_app.chats.search.index_update import index_rows_in_passing
from sessions_app.chats.search.trigrams import OVERLAP, PIECE, PIECES, in_overlapping_pieces
from sessions_app.chats.search.word_index import WordIndex
from sessions_app.core.storage.sql import execute, fetch_rows
from sessions_app.core.storage.text_comparison import fold
from sessions_app.core.storage.time_limit import TimeIsUp
from sessions_app.models import Project
from tests.chats.search.indexed_rows import (
    entries_found,
    fill,
    found,
    index_all,
    owned,
    put,
    query_of,
    texts_of,
    waiting,
)
from tests.support.databases import ON_POSTGRESQL
from tests.support.suite import some_of

pytestmark = pytest.mark.usefixtures("index_asked_first")


@pytest.mark.parametrize("seed", [2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2))])
def test_the_index_finds_what_reading_finds(projects: list[Project], seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """While all rows wait, when some are indexed, and when all are."""
    texts = texts_of(seed)
    fill(projects, texts)
    chosen = random.Random(seed)
    parts = [text[at : at + chosen.randint(3, 8)] for text in texts for at in (0, len(text) // 2) if len(text) > at + 3]
    parts += [*map(str.swapcase, parts), *map(str.upper, parts), *texts_of(seed + 9, 20), *(r"\n", r"\u0001", '"}', "::", "***")]
    searched = some_of((part for part in dict.fromkeys(parts) if part), one_in=9)
    monkeypatch.setattr(search_sources, "FIRST_ENTRIES", 7 * seed)
    with monkeypatch.context() as reading:
        reading.setattr(WordIndex, "candidates", lambda *_: None)
        expected = {part: found(projects, part) for part in searched}
    assert sum(map(any, expected.values())) > len(searched) / 4
    assert {part: found(projects, part) for part in searched} == expected
    monkeypatch.setattr(word_index, "AT_ONCE", 16)
    index_rows_in_passing()
    assert 0 < waiting(ENTRY_WORDS) < len(texts)
    assert {part: found(projects, part) for part in searched} == expected
    index_all()
    assert {part: found(projects, part) for part in searched} == expected


def test_the_index_leaves_few_rows(projects: list[Project]) -> None:
    for number in range(50):
        put(projects[0], f"k{number}", f"hay number {number} of many")
    needle = put(projects[1], "k", 'a "needle" in hay')
    own = own_entries([project.id for project in projects], None)
    assert len(ENTRY_WORDS.candidates(["needle"], own, 99) or []) == 51
    index_all()
    assert ENTRY_WORDS.candidates(["needle"], own, 99) == [needle.id]
    assert ENTRY_WORDS.candidates(['a "needle"', r"a \"needle\""], own, 99) == [needle.id]
    assert ENTRY_WORDS.candidates(["nowhere"], own, 99) == []
    assert ENTRY_WORDS.candidates(["hay"], own, 50) is None
    assert ENTRY_WORDS.candidates(["needle"], own_entries([projects[0].id], None), 99) == []
    assert ENTRY_WORDS.candidates(["needle"], own_entries([projects[1].id], needle.id), 99) == []


@pytest.mark.parametrize("text", ["ab", "", "a" * (OVERLAP + 1), "a\0bc"])
def test_what_has_no_trigrams_is_read(projects: list[Project], text: str) -> None:
    assert ENTRY_WORDS.candidates([text], own_entries([projects[0].id], None), 99) is None


def test_where_the_index_is_no_help_rows_are_read(projects: list[Project], monkeypatch: pytest.MonkeyPatch) -> None:
    fill(projects, ["needle", "hay", "needles"])
    index_all()
    expected = found(projects, "needle")
    assert list(map(len, expected)) == [3, 2, 2]
    with monkeypatch.context() as patched:
        patched.setattr(word_indexes, "MOST_ENTRIES", 1)
        patched.setattr(word_indexes, "MOST_ERRORS", 1)
        assert found(projects, "needle") == expected
    monkeypatch.setattr(word_index, "fetch_rows", too_slow)
    assert found(projects, "needle") == expected


def too_slow(*_: Any) -> Any:
    raise TimeIsUp


def test_long_texts_are_indexed_in_pieces_and_found_across_them(projects: list[Project]) -> None:
    length, words = 4 * PIECE, "needle" * 30
    places = [0, PIECE - OVERLAP - 90, PIECE - 90, 2 * PIECE - OVERLAP - 10, 3 * PIECE - 200, length - len(words)]
    letters = "".join(random.Random(1).choices("abcdefgh ", k=length))
    entries = [put(projects[0], f"k{place}", letters[:place] + words + letters[place + len(words) :]) for place in places]
    put(projects[0], "without", letters)
    index_all()
    own = own_entries([projects[0].id], None)
    assert ENTRY_WORDS.candidates([words], own, 99) == [entry.id for entry in reversed(entries)]
    assert entries_found(projects, words.upper()) == [str(entry.id) for entry in reversed(entries)]
    MemoryEntry.objects.filter(key="k0").update(value='"short"')
    index_all()
    assert ENTRY_WORDS.candidates([words], own, 99) == [entry.id for entry in reversed(entries[1:])]


def test_a_frequent_text_is_found_without_the_index(projects: list[Project], monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [put(projects[0], f"k{number}", "needle") for number in range(9)]
    monkeypatch.setattr(search_sources, "FIRST_ENTRIES", 4)
    monkeypatch.setattr(WordIndex, "candidates", too_slow)
    page = search_sources.search_entries(query_of(projects, "needle", limit=3))
    assert [hit.place for hit in page.hits] == [str(entry.id) for entry in entries[:5:-1]]
    assert page.next == str(entries[6].id)
    monkeypatch.setattr(search_sources, "FIRST_BYTES", 10)
    with pytest.raises(TimeIsUp):
        search_sources.search_entries(query_of(projects, "needle", limit=3))


@pytest.mark.parametrize("length", [1, PIECE, PIECE + 1, 2 * PIECE - OVERLAP, 2 * PIECE, (PIECES + 3) * PIECE])
def test_pieces_overlap(length: int) -> None:
    text = "".join(chr(33 + number * number % 1_000) for number in range(length))
    pieces = in_overlapping_pieces(text)
    assert len(pieces) <= PIECES
    assert pieces[0] + "".join(piece[OVERLAP:] for piece in pieces[1:]) == text
    assert in_overlapping_pieces("") == []


def test_searches_are_answered_from_the_indexes(projects: list[Project]) -> None:
    texts = [f"{number} {'other words ' * 20}" for number in range(300)]
    fill(projects, [*texts, "a needle"])
    index_all()
    for index, own in owned(projects):
        sql = index.candidates_sql(["needle"], own, 50)
        assert sql is not None
        plan = plan_of(index, *sql)
        if ON_POSTGRESQL:
            assert f"Bitmap Index Scan on {index.name}words_trigrams" in plan, plan
            assert "Seq Scan" not in plan, plan
        else:
            assert f"SCAN {index.name}words VIRTUAL TABLE INDEX 0:M" in plan, plan
            assert not any(f"SCAN {table}" in plan for table in ("e", "h", "n", "r")), plan


def plan_of(index: WordIndex, sql: str, parameters: list[Any]) -> str:
    if not ON_POSTGRESQL:
        return "\n".join(str(row[-1]) for row in fetch_rows(f"EXPLAIN QUERY PLAN {sql}", parameters))
    execute(f"ANALYZE {index.name}words")
    with transaction.atomic():
        execute("SET LOCAL enable_seqscan = off")  # As `time_limit(by_index=True)`.
        return "\n".join(row[0] for row in fetch_rows(f"EXPLAIN {sql}", parameters))


def test_fold_takes_each_letter_alone() -> None:
    """So that the trigrams of a folded part are among those of the folded whole."""
    letters = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x11000), *range(0x1E900, 0x1E944)]))
    assert fold(letters) == "".join(map(fold, letters))
    assert fold("ΟΔΟΣ") == "".join(map(fold, "ΟΔΟΣ"))
