"""How many operations a batch has: up to 500, in few statements."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory_app.models import MemoryEntry
from sessions_app.core.storage.sql import on_postgresql
from tests.memory.batches.conftest import done, run
from tests.memory.batches.test_batches import delete, get, put
from tests.memory.conftest import Memory


def test_more_than_500_operations_are_refused(memory: Memory) -> None:
    assert run(memory, *[get("a")] * 501).status_code == 422
    assert run(memory).json() == {"results": []}


@pytest.mark.parametrize("make", [put, lambda key, _: get(key), lambda key, _: delete(key)])
def test_a_batch_takes_as_many_statements_for_500_as_for_two(memory: Memory, make: Any) -> None:
    done(memory, *(put(f"k{number}", 0) for number in range(500)))
    counts = []
    for size in (2, 498):
        with CaptureQueriesContext(connection) as captured:
            done(memory, *(make(f"k{number}", size) for number in range(500 - size, 500)))
        counts.append(len({query["sql"].split(" (")[0][:60] for query in captured}))
    assert counts[1] <= counts[0] + 1


@pytest.mark.parametrize("size", [1, 31, 33, 77])
def test_any_number_of_entries_is_written_with_their_versions(memory: Memory, size: int) -> None:
    """Entries are written several by a statement: none is left out where their number is no multiple."""
    for round_ in range(12):
        done(memory, *(put(f"k{number}", [round_, number]) for number in range(size)))
    entries = MemoryEntry.objects.prefetch_related("versions")
    assert {entry.key: entry.value for entry in entries} == {f"k{number}": f"[11,{number}]" for number in range(size)}
    for entry in entries:
        newest_first = [version.value for version in entry.versions.all()]
        assert newest_first == [f"[{round_},{entry.key[1:]}]" for round_ in range(11, 1, -1)]
        assert (entry.versions.all()[0].rev, entry.versions.all()[0].saved_at) == (entry.rev, entry.updated_at)


@pytest.mark.skipif(not on_postgresql(), reason="SQLite's statements have no types")
def test_a_mixture_of_sizes_is_no_other_statement(memory: Memory) -> None:
    """Each prepared one takes the place of another in the connection's cache."""

    def prepared(*lengths: int) -> int:
        done(memory, *(put(f"k{number}", "x" * length, ttl_minutes=length % 2 or None) for number, length in enumerate(lengths)))
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%FROM (VALUES (%'")
            return int(cursor.fetchone()[0])

    prepared(*[10] * 32)
    assert prepared(*[20] * 32) == prepared(*range(100, 132)) == prepared(*[50_000, 1] * 16) == 2
