"""The index of trigrams of memory entries, handoffs and errors leaves no match out, whatever it has come to."""

import random
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection, transaction

from memory_app.core import search_sources, word_indexes
from memory_app.core.word_indexes import ENTRY_WORDS, ERROR_WORDS, own_entries, own_errors
from memory_app.models import ErrorReport, MemoryEntry
from sessions_app.agents.handoff.handoff_search import HANDOFF_WORDS, own_handoffs, search_handoffs
from sessions_app.chats.search import word_index
from sessions_app.chats.search.filters import NO_FILTER
from sessions_app.chats.search.index_update import index_rows_in_passing
from sessions_app.chats.search.sources import Source, SourceQuery
from sessions_app.chats.search.text_matching import fold
from sessions_app.chats.search.trigrams import OVERLAP, PIECE, PIECES, in_overlapping_pieces
from sessions_app.chats.search.word_index import AT_ONCE, WordIndex
from sessions_app.core.storage.sql import execute, fetch_row, fetch_rows
from sessions_app.core.storage.time_limit import TimeIsUp
from sessions_app.models import Handoff, Project
from sessions_app.models.times import now
from tests.support.databases import ON_POSTGRESQL

LETTERS = [*"aAbBéÉßſẞİıiIΣσςΔЁёÅK数据库", *'"\\/\n\t\x01\x7f -_.*%[]{}', "🙂", "e\u0301", "ǅ", "ﬁ"]
INDEXES = [ENTRY_WORDS, HANDOFF_WORDS, ERROR_WORDS]
SEARCHES: list[tuple[WordIndex, Source]] = [
    (ENTRY_WORDS, search_sources.search_entries),
    (HANDOFF_WORDS, search_handoffs),
    (ERROR_WORDS, search_sources.search_errors),
]


@pytest.fixture
def projects(alice: User) -> list[Project]:
    return [Project.objects.create(owner=alice, path=f"/p/{number}") for number in range(3)]


@pytest.fixture(autouse=True)
def first(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few entries would be read without the index."""
    monkeypatch.setattr(search_sources, "FIRST_ENTRIES", 0)


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


@pytest.mark.parametrize("seed", range(3))
def test_the_index_finds_what_reading_finds(projects: list[Project], seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """While all rows wait, when some are indexed, and when all are."""
    texts = texts_of(seed)
    fill(projects, texts)
    chosen = random.Random(seed)
    parts = [text[at : at + chosen.randint(3, 8)] for text in texts for at in (0, len(text) // 2) if len(text) > at + 3]
    parts += [*map(str.swapcase, parts), *map(str.upper, parts), *texts_of(seed + 9, 20), *(r"\n", r"\u0001", '"}', "::", "***")]
    searched = [part for part in dict.fromkeys(parts) if part]
    monkeypatch.setattr(search_sources, "FIRST_ENTRIES", 7 * seed)
    with monkeypatch.context() as reading:
        reading.setattr(WordIndex, "candidates", lambda *_: None)
        expected = {part: found(projects, part) for part in searched}
    assert sum(map(any, expected.values())) > 100
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
    monkeypatch.setattr(word_index, "fetch_rows", _too_slow)
    assert found(projects, "needle") == expected


def _too_slow(*_: Any) -> Any:
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
    monkeypatch.setattr(WordIndex, "candidates", _too_slow)
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


def test_a_change_is_found_at_once_and_what_was_there_is_not(projects: list[Project]) -> None:
    fill(projects[:1], ["a needle"])
    index_all()
    place = [str(MemoryEntry.objects.get().id)]
    MemoryEntry.objects.update(value='"a pin"', key="bolts")
    ErrorReport.objects.update(message="a pin", kind="bolts")
    Handoff.objects.update(content='{"summary": "a pin"}')
    for _ in range(2):
        assert found(projects, "needle") == [[], [], []]
        assert entries_found(projects, "pin") == entries_found(projects, "bolts") == place
        assert [len(hits) for hits in found(projects, "a pin")] == [1, 1, 1]
        index_all()
    assert [index.candidates(["needle"], own, 9) for index, own in owned(projects)] == [[], [], []]


def owned(projects: list[Project]) -> list[tuple[WordIndex, tuple[str, list[Any]]]]:
    ids = [project.id for project in projects]
    own = [own_entries(ids, None), own_handoffs(query_of(projects, "")), own_errors(ids)]
    return list(zip(INDEXES, own, strict=True))


def test_only_changes_of_texts_are_queued(projects: list[Project]) -> None:
    fill(projects, ["needle"])
    index_all()
    MemoryEntry.objects.update(expires_at=now() + timedelta(days=1), value='"needle"')
    ErrorReport.objects.update(count=2, message="needle", last_seen=now())
    Handoff.objects.update(rev=9)
    assert [waiting(index) for index in INDEXES] == [0, 0, 0]


def test_what_is_gone_or_expired_is_in_no_result_and_then_in_no_index(projects: list[Project], alice: User) -> None:
    fill(projects, texts_of(7))
    fill([Project.objects.create(owner=alice, path="/other")], ["needle"])
    index_all()
    assert all(indexed(index) for index in INDEXES)
    MemoryEntry.objects.filter(value='"needle"').update(expires_at=now() - timedelta(seconds=1))
    assert entries_found(list(Project.objects.all()), "needle") == []
    MemoryEntry.objects.filter(project=projects[0]).delete()
    assert waiting(ENTRY_WORDS) == 20
    index_all()
    assert indexed(ENTRY_WORDS) == set(MemoryEntry.objects.values_list("id", flat=True))
    alice.delete()
    assert not MemoryEntry.objects.exists()
    index_all()
    assert [indexed(index) for index in INDEXES] == [set(), set(), set()]
    assert fetch_row("SELECT count(*) FROM memory_app_errornumber")[0] == 0


@pytest.mark.parametrize("text", ["hay", "hay " * PIECE])
def test_a_row_that_is_written_while_it_is_indexed_waits_for_the_next_step(
    projects: list[Project], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between reading its text and writing the index, or between two pieces of it."""
    entry, other = put(projects[0], "k", text), put(projects[0], "other", "hay")
    own = own_entries([projects[0].id], None)

    def read_and_write(pieces: Any, ids: list[int]) -> Any:
        read = pieces(ids)
        MemoryEntry.objects.filter(id=entry.id).update(value='"needle"')
        return read

    with monkeypatch.context() as patched:
        patched.setattr(ENTRY_WORDS, "_pieces", partial(read_and_write, ENTRY_WORDS._pieces))
        ENTRY_WORDS.index_some()
    assert ENTRY_WORDS.candidates(["needle"], own, 9) == ([entry.id] if len(text) < PIECE else [other.id, entry.id])
    index_all()
    assert ENTRY_WORDS.candidates(["needle"], own, 9) == [entry.id]
    MemoryEntry.objects.filter(id=entry.id).update(value=text + "again")

    def pause_and_write(steps: Iterator[bool]) -> None:
        for _ in steps:
            MemoryEntry.objects.filter(id=entry.id).update(value='"pin"')

    with monkeypatch.context() as patched:
        patched.setattr(word_index, "run_paced", pause_and_write)
        ENTRY_WORDS.index_some()
    assert entries_found(projects, "pin") == [str(entry.id)]
    index_all()
    assert ENTRY_WORDS.candidates(["pin"], own, 9) == [entry.id]
    assert ENTRY_WORDS.candidates(["again"], own, 9) == []


def test_a_step_is_small_and_a_round_ends(projects: list[Project]) -> None:
    for number in range(AT_ONCE + 20):
        put(projects[0], f"short {number}", "hay")
    put(projects[0], "long", "hay " * PIECE)
    first = put(projects[0], "after", "hay")
    left = []
    while ENTRY_WORDS.index_some():
        left.append(waiting(ENTRY_WORDS))
        MemoryEntry.objects.filter(id__lt=first.id).update(value=f"{len(left)}")
    assert left == [22, 102, 121]
    assert waiting(ENTRY_WORDS) == 121


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


def test_rows_of_before_the_upgrade_are_found_at_once_and_indexed_later(
    projects: list[Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_index, "AT_ONCE", 16)
    fill(projects, [f"needle {number}" for number in range(30)])
    for index in INDEXES:
        drop(index)
    editor = SimpleNamespace(connection=connection, execute=execute)
    import_module("memory_app.migrations.0012_words").build(apps, editor)
    import_module("sessions_app.migrations.0029_handoff_words").build(apps, editor)
    put(projects[0], "new", "needle 30")
    for steps in (0, 1, 9):
        for _ in range(steps):
            index_rows_in_passing()
        assert [len(hits) for hits in found(projects, "needle")] == [31, 30, 30]
        assert waiting(ENTRY_WORDS) == {0: 31, 1: 15, 9: 0}[steps]
    assert [len(indexed(index)) for index in INDEXES] == [31, 3, 30]


def drop(index: WordIndex) -> None:
    table = {"memory_app_entry": "memory_app_memoryentry", "memory_app_error": "memory_app_errorreport"}.get(index.name)
    for event in ("made", "changed", "gone"):
        trigger = f"{index.name}_words_{event}"
        execute(f"DROP TRIGGER {trigger}{f' ON {table or index.name}' if ON_POSTGRESQL else ''}")
        if ON_POSTGRESQL:
            execute(f"DROP FUNCTION {trigger}")
    for kind in ("words", "queue", "number"):
        execute(f"DROP TABLE IF EXISTS {index.name}{kind}")


def test_fold_takes_each_letter_alone() -> None:
    """So that the trigrams of a folded part are among those of the folded whole."""
    letters = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x11000), *range(0x1E900, 0x1E944)]))
    assert fold(letters) == "".join(map(fold, letters))
    assert fold("ΟΔΟΣ") == "".join(map(fold, "ΟΔΟΣ"))
