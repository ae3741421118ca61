"""Commands and agents at standard input tell the servers of their changes; some of them live for days."""

import atexit
import threading
import uuid

import pytest

from sessions_app.events import redis_relay
from sessions_app.events.redis_relay import DetachedRelay, Item


def test_what_is_kept_for_the_end_does_not_grow_with_the_events(monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[object] = []
    sent: list[Item] = []

    async def send_once(self: DetachedRelay, batch: list[Item]) -> None:
        sent.extend(batch)

    monkeypatch.setattr(atexit, "register", registered.append)
    monkeypatch.setattr(DetachedRelay, "_send_once", send_once)
    relay = DetachedRelay()
    for number in range(20):
        relay.publish((uuid.uuid4(), number, "{}", True))
        for thread in threading.enumerate():
            if thread.name == "events":
                thread.join()
    assert [event_seq for _, event_seq, _, _ in sent] == list(range(20))
    assert len(registered) == 1


def test_the_end_waits_for_what_is_being_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[object] = []
    is_sent, may_send = threading.Event(), threading.Event()

    async def send_once(self: DetachedRelay, batch: list[Item]) -> None:
        may_send.wait()
        is_sent.set()

    monkeypatch.setattr(atexit, "register", ends.append)
    monkeypatch.setattr(redis_relay, "LEAVE_SECONDS", 30)
    monkeypatch.setattr(DetachedRelay, "_send_once", send_once)
    DetachedRelay().publish((uuid.uuid4(), 1, "{}", True))
    threading.Timer(0.1, may_send.set).start()
    for end in ends:
        assert callable(end)
        end()
    assert is_sent.is_set()
