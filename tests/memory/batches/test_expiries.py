"""Entries that expire, in batches: whatever is done to one entry before, the last put says when it expires."""

from itertools import product

from memory_app.models import MemoryEntry
from tests.memory.batches.conftest import done
from tests.memory.batches.test_batches import listed, put
from tests.memory.conftest import Memory

PUTS = list(product(("one", "two"), (None, 10, 20)))


def test_the_last_put_says_when_an_entry_expires(memory: Memory) -> None:
    """Of all ways to put an entry three times: the first before the batch, the others in it, or with a write between."""
    ways = {f"k{number}": way for number, way in enumerate(product(PUTS, repeat=3))}
    for position in range(3):
        ops = [put(key, way[position][0], ttl_minutes=way[position][1]) for key, way in ways.items()]
        done(memory, *ops)
    _check(memory, ways)
    for between in ([], [listed()]):
        done(memory, *(put(key, way[0][0], ttl_minutes=way[0][1]) for key, way in ways.items()))
        halves = [[put(key, way[position][0], ttl_minutes=way[position][1]) for key, way in ways.items()] for position in (1, 2)]
        done(memory, *halves[0], *between, *halves[1])
        _check(memory, ways)


def _check(memory: Memory, ways: dict[str, tuple[tuple[str, int | None], ...]]) -> None:
    found = {entry.key: entry for entry in MemoryEntry.objects.all()}
    assert {key: (entry.value, entry.ttl_minutes) for key, entry in found.items()} == {
        key: (f'"{way[-1][0]}"', way[-1][1]) for key, way in ways.items()
    }
    for entry in found.values():
        assert (entry.expires_at is None) == (entry.ttl_minutes is None)
        if entry.expires_at is not None and entry.ttl_minutes is not None:
            assert round((entry.expires_at - entry.updated_at).total_seconds() / 60) >= entry.ttl_minutes
