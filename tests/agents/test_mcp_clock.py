"""Writers that are several processes number their saves by the clock, which can be set."""

import time
import uuid

import pytest

from sessions_app.chats.saving import receipts
from tests.support.chat import Chat

pytestmark = pytest.mark.django_db
HOUR = 3_600 * 10**9


def test_a_number_after_the_clock_went_back_is_above_the_newest_stored_one(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    session_id, writer_id = uuid.UUID(chat.id), "several processes"
    newest = receipts.seq_of_now(session_id=session_id, writer_id=writer_id)
    chat.say("m1", "one", writer_id=writer_id, seq=newest)
    # Another process, an hour earlier.
    monkeypatch.setattr(receipts, "_clock", receipts._Clock())
    monkeypatch.setattr(time, "time_ns", lambda now=time.time_ns: now() - HOUR)
    assert receipts.seq_of_now(session_id=session_id, writer_id=writer_id) == newest + 1


def test_no_number_is_given_twice_and_none_is_below_the_newest_stored_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 5_000_999)
    clock = receipts._Clock()
    assert [clock.next_after(newest) for newest in (0, 0, 9_000, 9_000, 0)] == [5_000, 5_001, 9_001, 9_002, 9_003]
