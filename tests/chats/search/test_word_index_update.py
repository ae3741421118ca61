"""The index of trigrams of memory entries, handoffs and errors follows what is written, in small steps."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection

from memory_app.core.word_indexes import ENTRY_WORDS, own_entries
from memory_app.models import ErrorReport, MemoryEntry
from sessions_app.chats.search import word_index
from sessions_app.chats.search.index_update import index_rows_in_passing
from sessions_app.chats.search.trigrams import PIECE
from sessions_app.chats.search.word_index import AT_ONCE, WordIndex
from sessions_app.core.storage.sql import execute, fetch_row
from sessions_app.models import Handoff, Project
from sessions_app.models.times import now
from tests.chats.search.indexed_rows import INDEXES, entries_found, fill, found, index_all, indexed, owned, put, texts_of, waiting
from tests.support.databases import ON_POSTGRESQL

pytestmark = pytest.mark.usefixtures("index_asked_first")


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


def test_only_changes_of_texts_are_queued(projects: list[Project]) -> None:
    fill(projects, ["needle"])
    index_all()
    MemoryEntry.objects.update(expires_at=now() + timedelta(days=1), value='"needle"')
    ErrorReport.objects.update(count=2, message="needle", last_seen=now())
    Handoff.objects.update(rev=9)
    assert [waiting(index) for index in INDEXES] == [0, 0, 0]


def test_a_damaged_row_holds_up_no_other(projects: list[Project]) -> None:
    fill(projects, ["needle"])
    Handoff.objects.filter(project=projects[0]).update(content='{"decisions": [{"text": "a needle without an id"}]}')
    index_all()
    assert [waiting(index) for index in INDEXES] == [0, 0, 0]
    assert found(projects[1:], "needle") == [[], [], []]


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


@pytest.mark.skipif(not ON_POSTGRESQL, reason="SQLite has one writer")
def test_while_another_process_indexes_a_step_does_nothing(projects: list[Project], monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [put(projects[0], key, "needle") for key in ("a", "b")]
    with monkeypatch.context() as patched:
        patched.setattr(word_index, "fetch_row", lambda *_: [False])
        assert not ENTRY_WORDS.index_some()
    assert waiting(ENTRY_WORDS) == 2
    index_all()
    assert indexed(ENTRY_WORDS) == {entry.id for entry in entries}


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
