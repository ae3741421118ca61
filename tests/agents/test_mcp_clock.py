"""Agents number their saves by the clock, which can be set."""

import time

import pytest
from django.contrib.auth.models import User

from mcp_app.core.calls import Call
from mcp_app.core.tool import run_tool
from mcp_app.tools.catalog import TOOLS
from sessions_app.chats.saving import receipts
from sessions_app.core.callers import caller_of_user
from sessions_app.models import Message

pytestmark = pytest.mark.django_db
HOUR = 3_600 * 10**9


def test_an_agent_changes_its_message_after_the_clock_went_back(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def say(text: str) -> None:
        run_tool(
            TOOLS["session_save"],
            Call(caller_of_user(alice), "/home/alice/shop"),
            {"messages": [{"id": "m1", "role": "user", "text": text}]},
        )

    say("one")
    # Another process, an hour earlier.
    monkeypatch.setattr(receipts, "_clock", receipts._Clock())
    monkeypatch.setattr(time, "time_ns", lambda now=time.time_ns: now() - HOUR)
    say("two")
    assert Message.objects.get().text == "two"


def test_no_number_is_given_twice_and_none_is_below_the_newest_stored_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 5_000_999)
    clock = receipts._Clock()
    assert [clock.next_after(newest) for newest in (0, 0, 9_000, 9_000, 0)] == [5_000, 5_001, 9_001, 9_002, 9_003]
