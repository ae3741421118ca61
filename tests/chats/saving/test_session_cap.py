"""The hard cap of a session: the oldest go, nothing else does, and the saving client is told."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.chats import session_cap
from tests.support.chat import Chat
from tests.support.saves import Writer, refusal, truncate, upsert


@pytest.fixture
def capped(settings: Any) -> None:
    settings.SESSION_CAP = 5


def numbers(chat: Chat) -> tuple[int, int]:
    session = chat.read()["session"]
    return session["message_count"], session["size_bytes"]


def test_above_the_cap_the_oldest_are_dropped_and_named(capped: None, chat: Chat) -> None:
    assert chat.ops(*(upsert(f"m{each}", f"text {each}") for each in range(5)))["dropped"] == []
    five = numbers(chat)
    answer = chat.ops(upsert("m5", "text 5"), upsert("m6", "text 6"))
    assert answer["dropped"] == ["m0", "m1"]
    assert chat.texts() == [f"text {each}" for each in range(2, 7)]
    assert numbers(chat) == five
    changed = chat.get(f"messages?since_rev={answer['prev_rev']}").json()
    assert (sorted(changed["removed"]), [m["id"] for m in changed["items"]]) == (["m0", "m1"], ["m5", "m6"])


def test_what_was_dropped_is_restorable_but_no_late_save_brings_it_back(capped: None, chat: Chat) -> None:
    writer = Writer(chat)
    writer.save(upsert("m0", "the first"))
    writer.save(*(upsert(f"m{each}", "more") for each in range(1, 6)))
    late = writer.save(upsert("m0", "the first, longer"))
    assert [entry["reason"] for entry in late["ignored"]] == ["removed"]
    assert "the first, longer" not in chat.texts()
    assert [(m["id"], m["text"], m["reason"]) for m in chat.removed()] == [("m0", "the first, longer", "dropped")]
    assert refusal(chat.post("removed/m0/restore")) == (409, "session_full")
    writer.save(truncate("m4"))
    assert chat.post("removed/m0/restore").status_code == 200
    assert chat.texts()[0] == "the first, longer"


def test_undoing_a_clear_keeps_the_newest(capped: None, chat: Chat) -> None:
    chat.ops(*(upsert(f"m{each}", f"old {each}") for each in range(5)))
    chat.clear()
    chat.ops(upsert("n1", "new 1"), upsert("n2", "new 2"), epoch=2)
    assert chat.undo(of=1, epoch=2)["dropped"] == ["m0", "m1"]
    assert chat.texts() == ["old 2", "old 3", "old 4", "new 1", "new 2"]


def test_a_cap_that_was_lowered_is_reached_bit_by_bit(settings: Any, chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    chat.ops(*(upsert(f"m{each}", "said") for each in range(20)))
    settings.SESSION_CAP = 5
    monkeypatch.setattr(session_cap, "MOST_AT_ONCE", 10)
    assert len(chat.ops(upsert("n1", "said"))["dropped"]) == 10
    assert len(chat.ops(upsert("n2", "said"))["dropped"]) == 7
    assert numbers(chat)[0] == 5


def test_the_cap_is_told_by_counters_not_by_counting(settings: Any, api: Callable[..., Any], alice: User) -> None:
    client = api(alice)
    client.get("/projects")
    chat = Chat(client)
    chat.ops(*(upsert(f"m{each}", "said") for each in range(300)))
    taken: list[int] = []
    for cap in (0, 302, 302):
        settings.SESSION_CAP = cap
        with CaptureQueriesContext(connection) as seen:
            chat.post("changes", ops=[upsert(f"n{len(taken)}", "said")])
        taken.append(len(seen))
    assert (taken[1] - taken[0], taken[2] - taken[0]) == (0, 2)
