"""A store that can only be read: what is read is answered."""

from collections.abc import Callable

import pytest

from memory_app.key_value.entries import reading
from tests.memory.batches.conftest import done, set_namespace
from tests.memory.conftest import Memory
from tests.support.databases import only_reading


def test_a_store_that_cannot_be_written_is_read_without_moving_the_expiry(
    shared: Memory, later: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "leave_read_only", lambda refusal: None)
    set_namespace(shared, "short", ttl_minutes=10, refresh_on_read=True)
    expires_at = shared.put("short/k", 1).json()["expires_at"]
    later(8)
    with only_reading():
        read = shared.get("short/k")
        assert (read.status_code, read.json()["value"], read.json()["expires_at"]) == (200, 1, expires_at)
        [got] = done(shared, {"op": "get", "namespace": "short", "key": "k"})
        assert got["entry"]["value"] == 1
        [found] = done(shared, {"op": "list", "namespace": "short", "values": True})
        assert found["items"][0]["value"] == 1
    assert shared.get("short/k").json()["expires_at"] > expires_at
