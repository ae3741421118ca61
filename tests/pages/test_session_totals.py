"""Tokens and time in lists of sessions: right for the revision that is shown, after every kind of change, and free to read."""

import re
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from sessions_app.chats.reading import session_totals as totals_module
from sessions_app.chats.reading.session_totals import Meter, session_totals
from sessions_app.chats.reading.trace_entries import Entry, entry_of
from sessions_app.models import ChatSession, Message
from sessions_app.pages.trace.spans import totals_of, turns_of
from tests.support.chat import Chat

BEGUN = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def nothing_counted() -> Iterator[None]:
    session_totals.forget()
    yield
    session_totals.forget()


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    return Chat(api(alice))


def answer(message_id: str, given: int, made: int, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": given, "output_tokens": made}
    said = {"role": "assistant", "content": [{"type": "text", "text": message_id}], "usage": usage}
    return {"op": "upsert", "id": message_id, "format": "anthropic", "raw": said, **more}


def question(message_id: str) -> dict[str, Any]:
    return {"op": "upsert", "id": message_id, "role": "user", "text": message_id}


def count_all() -> None:
    while session_totals.count_on():
        pass


def shown(page: Client, session_id: str, address: str = "/sessions/") -> str:
    """What the row of the session says of tokens and time."""
    html = page.get(address).content.decode()
    found = re.search(rf'<span id="totals-{session_id}".*?</span>(?=\s*<span class="number">)', html, re.DOTALL)
    assert found, html
    return " ".join(re.sub(r"<[^>]+>", " ", found[0]).split()).replace("\u202f", " ")


def after_counting(page: Client, session_id: str) -> str:
    page.get("/sessions/")
    count_all()
    return shown(page, session_id)


def test_a_list_shows_tokens_and_time_once_they_are_counted(page: Client, chat: Chat) -> None:
    chat.ops(question("q1"), answer("a1", 1200, 34), question("q2"), answer("a2", 1300, 6))
    for position, seconds in enumerate((0, 75, 100, 130), 1):
        at = BEGUN + timedelta(seconds=seconds)
        Message.objects.filter(position=position).update(created_at=at, updated_at=at)
    project = ChatSession.objects.get(pk=chat.id).project_id
    assert shown(page, chat.id) == ""
    count_all()
    assert shown(page, chat.id) == "2 500 tokens in, 40 out 1 min 45 s"
    assert shown(page, chat.id, f"/projects/{project}/") == "2 500 tokens in, 40 out 1 min 45 s"


def test_the_list_asks_for_what_is_still_counted_and_is_answered_row_by_row(page: Client, chat: Chat) -> None:
    chat.ops(answer("a1", 10, 1))
    other = Chat(chat.api)
    other.ops(answer("a1", 20, 2))
    html = page.get("/sessions/").content.decode()
    (asked,) = re.findall(r'hx-get="(/sessions/totals/[^"]+)"', html)
    address = asked.replace("&amp;", "&")
    count_all()
    reply = page.get(address).content.decode()
    assert "10 tokens in, 1 out" in reply
    assert "20 tokens in, 2 out" in reply
    assert reply.count('hx-swap-oob="true"') == 1
    assert "hx-get" not in reply


def test_it_asks_later_and_later_and_then_no_more(page: Client, chat: Chat) -> None:
    chat.ops(answer("a1", 10, 1))
    replies = [page.get(f"/sessions/totals/?of={chat.id}&asked={asked}").content.decode() for asked in range(1, 8)]
    assert [re.search(r"delay:(\d+)s", reply)[1] for reply in replies[:-1]] == ["2", "4", "8", "16", "32", "64"]  # type: ignore[index]
    assert "hx-get" not in replies[-1]


def test_totals_of_others_are_not_shown(page: Client, api: Callable[..., Any], bob: User) -> None:
    foreign = Chat(api(bob), project="/home/bob/secret")
    foreign.ops(answer("a1", 10, 1))
    page.get(f"/sessions/totals/?of={foreign.id}&asked=1")
    count_all()
    reply = page.get(f"/sessions/totals/?of={foreign.id}&asked=1")
    assert reply.status_code == 200
    assert b"tokens" not in reply.content
    assert page.get("/sessions/totals/?of=nothing&asked=1").status_code == 400
    assert page.get(f"/sessions/totals/?of={','.join([str(uuid.uuid4())] * 101)}&asked=1").status_code == 400


CHANGES: dict[str, Callable[[Chat], Any]] = {
    "a further answer": lambda chat: chat.ops(answer("new", 5, 5)),
    "an old answer replaced": lambda chat: chat.ops(answer("a2", 7, 7)),
    "the newest answer replaced": lambda chat: chat.ops(answer("a29", 7, 7)),
    "deleted": lambda chat: chat.ops({"op": "delete", "id": "a3"}),
    "cut": lambda chat: chat.ops({"op": "truncate", "after_id": "a4"}),
    "popped": lambda chat: chat.ops({"op": "pop", "n": 2}),
    "cleared": lambda chat: chat.clear(),
    "cleared and undone": lambda chat: (chat.clear(), chat.undo(of=1, epoch=2)),
    "a branch from the middle": lambda chat: chat.ops({**answer("b1", 9, 9), "parent_id": "a5"}),
    "a branch, and back": lambda chat: (
        chat.ops({**answer("b1", 9, 9), "parent_id": "a5"}),
        chat.api.patch(f"/sessions/{chat.id}", {"head": "a29"}),
    ),
    "a title": lambda chat: chat.api.patch(f"/sessions/{chat.id}", {"title": "Renamed"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_totals_are_those_of_the_live_messages_after_every_change(page: Client, chat: Chat, change: str) -> None:
    turns = ((question(f"q{number}"), answer(f"a{number}", 100 + number, number)) for number in range(30))
    chat.ops(*(op for turn in turns for op in turn))
    assert after_counting(page, chat.id).startswith("3 435 tokens in, 435 out")
    CHANGES[change](chat)
    items = chat.get("messages?limit=200").json()["items"]
    used = [item["raw"]["usage"] for item in items if "raw" in item]
    given, made = (f"{sum(one[name] for one in used):,}".replace(",", " ") for name in ("input_tokens", "output_tokens"))
    expected = f"{given} tokens in, {made} out" if used else ""
    # Counted on from what is known, and counted again.
    assert after_counting(page, chat.id).startswith(expected)
    counted_on = shown(page, chat.id) if items else ""
    session_totals.forget()
    assert (after_counting(page, chat.id) if items else "") == counted_on


def test_a_fork_has_totals_of_its_own(page: Client, chat: Chat) -> None:
    chat.ops(question("q1"), answer("a1", 10, 1), question("q2"), answer("a2", 20, 2))
    after_counting(page, chat.id)
    made = chat.api.post(f"/sessions/{chat.id}/fork", {"up_to": "a1"})
    assert made.status_code in {200, 201}, made.content
    assert after_counting(page, made.json()["id"]).startswith("10 tokens in, 1 out")
    assert shown(page, chat.id).startswith("30 tokens in, 3 out")


def test_a_longer_session_is_counted_on_by_its_new_messages(page: Client, chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(0, 200, 50):
        chat.ops(*(answer(f"a{place}", 1, 1) for place in range(number, number + 50)))
    after_counting(page, chat.id)
    read = list[str]()

    def watched(item: dict[str, Any], writer: Any) -> Entry:
        read.append(item["id"])
        return entry_of(item, writer)

    monkeypatch.setattr(totals_module, "entry_of", watched)
    chat.ops(answer("new", 1, 1))
    # How long it took, which depends on the machine, may follow.
    assert after_counting(page, chat.id).startswith("201 tokens in, 201 out")
    assert len(read) == totals_module.UNSETTLED + 1


def test_the_sum_is_that_of_the_trace() -> None:
    def item(number: int, role: str, seconds: float, until: float) -> dict[str, Any]:
        at, changed = BEGUN + timedelta(seconds=seconds), BEGUN + timedelta(seconds=until)
        return {
            "id": f"m{number}",
            "role": role,
            "text": "words",
            "parts": [{"type": "text", "text": "words"}],
            "metadata": {"usage": {"input_tokens": number, "output_tokens": 1}},
            "status": "complete",
            "position": number,
            "created_at": at.isoformat(),
            "updated_at": changed.isoformat(),
        }

    said = [("assistant", 0, 5), ("user", 10, 400), ("assistant", 11, 14), ("tool", 15, 15), ("user", 12, 12), ("user", 30, 30)]
    said += [("assistant", 29, 900), ("user", 40, 40), ("assistant", 50, 77)]
    entries = [entry_of(item(number, *one), None) for number, one in enumerate(said)]
    for count in range(len(entries) + 1):
        meter = Meter()
        for entry in entries[:count]:
            meter.add(entry)
        expected = totals_of(turns_of(entries[:count]))
        assert (meter.ms, meter.tokens) == (expected.ms, expected.tokens)


def test_a_list_reads_no_messages_for_its_totals(page: Client, chat: Chat) -> None:
    chat.ops(*(answer(f"a{number}", 1, 1) for number in range(50)))

    def statements() -> int:
        page.get("/sessions/")
        with CaptureQueriesContext(connection) as seen:
            page.get("/sessions/")
        return len(seen)

    before = statements()
    count_all()
    assert statements() == before
