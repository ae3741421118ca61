"""Ways through a long session: find, contents, a number or a date, newer and older messages."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.models import ChatSession, Message
from sessions_app.pages.session import outline_page
from tests.support.chat import Chat

ABOUT = "How does the cart work?"


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    """120 messages, the third of each ten about a needle."""
    chat = Chat(api(alice))
    texts = [f"<b>Needle</b> {number}" if number % 10 == 3 else f"hay {number}" for number in range(120)]
    chat.ops(*({"op": "upsert", "id": f"m{number}", "role": "user", "text": text} for number, text in enumerate(texts)))
    return chat


def shown(html: str) -> list[int]:
    return [int(number) for number in re.findall(r'data-id="m(\d+)"', html)]


def hits(html: str) -> list[int]:
    return [int(number) for number in re.findall(r'data-position="(\d+)"', html)]


def test_a_text_is_found_in_the_whole_session_newest_first(page: Client, chat: Chat) -> None:
    Chat(chat.api).say("m1", "a needle elsewhere")
    chat.ops({"op": "delete", "id": "m13"})
    html = page.get(f"/sessions/{chat.id}/find/?q=NEEDLE").content.decode()
    assert hits(html) == [114, 104, 94, 84, 74, 64, 54, 44, 34, 24, 4]
    assert "&lt;b&gt;<mark>Needle</mark>&lt;/b&gt; 113" in html
    [address] = {found.replace("&amp;", "&") for found in re.findall(r'href="([^"]+#message-4)"', html)}
    assert 3 in shown(page.get(address.partition("#")[0]).content.decode())
    assert "No message of this session says" in page.get(f"/sessions/{chat.id}/find/?q=pin").content.decode()
    chat.clear()
    assert hits(page.get(f"/sessions/{chat.id}/find/?q=needle").content.decode()) == []


def test_finding_goes_on_where_a_page_ends(page: Client, chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outline_page, "HITS_A_PAGE", 5)
    first = page.get(f"/sessions/{chat.id}/find/?q=needle").content.decode()
    [more] = set(re.findall(r'hx-get="([^"]+)"', first))
    rest = page.get(more.replace("&amp;", "&"), headers={"HX-Request": "true"}).content.decode()
    assert (hits(first), hits(rest)) == ([114, 104, 94, 84, 74], [64, 54, 44, 34, 24])
    assert "<html" not in rest


@pytest.mark.parametrize(
    ("to", "position"),
    [
        ("7", 7),
        ("#7", 7),
        ("999", 120),
        ("2001-01-03", 61),
        ("2001-01-02T12:00+02:00", 1),
        ("1999-12-31", 1),
        ("2050-01-01", 120),
    ],
)
def test_one_goes_to_a_number_or_a_date(page: Client, chat: Chat, to: str, position: int) -> None:
    begun = datetime(2001, 1, 2, 20, tzinfo=UTC)
    for number in (1, 61):
        later = Message.objects.filter(session__id=chat.id, position__gte=number)
        later.update(created_at=begun + timedelta(days=number // 60))
    gone = page.get(f"/sessions/{chat.id}/go/", {"to": to})
    assert gone["Location"] == f"/sessions/{chat.id}/?at=m{position - 1}#message-{position}"


def test_what_is_neither_number_nor_date_is_said_so(page: Client, chat: Chat) -> None:
    assert "Give a message" in page.get(f"/sessions/{chat.id}/go/?to=soon", follow=True).content.decode()
    Message.objects.all().delete()
    assert page.get(f"/sessions/{chat.id}/go/?to=1")["Location"] == f"/sessions/{chat.id}/"


def test_around_a_message_there_are_older_and_newer_ones(page: Client, chat: Chat) -> None:
    html = page.get(f"/sessions/{chat.id}/?at=m50").content.decode()
    assert shown(html)[0] < 50 < shown(html)[-1] < 119
    assert 'data-follow=""' in html
    [newer] = re.findall(r'href="(\?after=[^"]+)" data-newer', html)
    part = page.get(f"/sessions/{chat.id}/{newer}", headers={"HX-Request": "true"}).content.decode()
    assert shown(part)[0] == shown(html)[-1] + 1
    assert "data-newer" in part
    assert "data-older" not in part
    [older] = re.findall(r'href="(\?before=[^"]+)" data-older', html)
    part = page.get(f"/sessions/{chat.id}/{older}", headers={"HX-Request": "true"}).content.decode()
    assert shown(part)[-1] == shown(html)[0] - 1
    assert "data-newer" not in part
    last = page.get(f"/sessions/{chat.id}/?after=m118").content.decode()
    assert shown(last) == [119]
    assert 'data-follow="1"' in last


def test_a_page_of_large_messages_has_fewer_of_them(page: Client, api: Callable[..., Any], alice: User) -> None:
    chat = Chat(api(alice))
    parts = [{"type": "text", "text": "large " * 15_000}] * 9
    for number in range(6):
        chat.ops({"op": "upsert", "id": f"m{number}", "role": "user", "text": "large", "parts": parts})

    def at(query: str) -> tuple[list[int], bool, bool]:
        html = page.get(f"/sessions/{chat.id}/{query}").content.decode()
        return shown(html), "data-older" in html, "data-newer" in html

    assert at("") == ([4, 5], True, False)
    assert at("?before=m4") == ([2, 3], True, True)
    assert at("?after=m0") == ([1, 2], True, True)
    assert at("?at=m0") == ([0], False, True)
    assert at("?at=m3") == ([2, 3], True, True)


GONE = "The message of this address is not here any more"
NEVER = "The address names no message of this session"


def test_a_page_at_a_message_that_is_not_there_any_more_says_so(page: Client, chat: Chat) -> None:
    chat.ops({"op": "delete", "id": "m50"}, {"op": "delete", "id": "m119"})
    for gone in ("m50", "m119"):
        html = page.get(f"/sessions/{chat.id}/", {"at": gone}).content.decode()
        assert (GONE in html, NEVER in html) == (True, False), gone
    for there in ("m51", "m118"):
        assert GONE not in page.get(f"/sessions/{chat.id}/", {"at": there}).content.decode(), there
    assert GONE not in page.get(f"/sessions/{chat.id}/").content.decode()


def test_a_page_at_what_never_was_a_message_says_so(page: Client, chat: Chat) -> None:
    chat.clear()
    for at in ("never", "", " m50"):
        html = page.get(f"/sessions/{chat.id}/", {"at": at}).content.decode()
        assert (GONE in html, NEVER in html) == (False, True), at
    html = page.get(f"/sessions/{chat.id}/", {"at": "m50"}).content.decode()
    assert (GONE in html, NEVER in html) == (True, False)


def test_a_find_without_a_text_has_a_title_without_one(page: Client, chat: Chat) -> None:
    chat.api.patch(f"/sessions/{chat.id}", {"title": "Coupons"})
    html = page.get(f"/sessions/{chat.id}/find/?q=").content.decode()
    assert "<title>Find · Coupons · Stillhere</title>" in html


def test_the_contents_have_questions_tools_failures_and_compactions(
    page: Client, api: Callable[..., Any], alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = Chat(api(alice))
    good = {"type": "tool-bash", "toolCallId": "1", "state": "output-available", "input": {"command": "ls -l"}, "output": "x"}
    bad = {**good, "toolCallId": "2", "state": "output-error", "input": {"path": "<a.py>"}, "errorText": "no such file"}
    chat.say("q1", f"{ABOUT}\nAnd why?")
    chat.ops({"op": "upsert", "id": "a1", "role": "assistant", "parts": [good, bad, {"type": "text", "text": "So."}]})
    chat.ops({"op": "upsert", "id": "c1", "role": "assistant", "parts": [{"type": "data-compaction", "data": {"tokens": 9}}]})
    chat.ops({"op": "upsert", "id": "a2", "role": "assistant", "text": "Half", "status": "interrupted"})

    def lines(kind: str = "") -> list[str]:
        html = page.get(f"/sessions/{chat.id}/contents/?kind={kind}").content.decode()
        found = re.findall(r'<a class="title"[^>]* href="[^"]+\?at=(\w+)#message-\d+">(.*?)</a>', html)
        return [f"{message} {re.sub('</?code>', '', text)}" for message, text in found]

    turn, tools = f"q1 {ABOUT} And why?", ["a1 bash ls -l", "a1 bash &lt;a.py&gt;"]
    compaction, interrupted = "c1 The context was compacted", "a2 The answer was interrupted"
    assert lines() == [turn, *tools, compaction, interrupted]
    assert [lines(kind) for kind in ("turns", "tools", "errors", "compactions")] == [
        [turn],
        tools,
        [tools[1], interrupted],
        [compaction],
    ]
    monkeypatch.setattr(outline_page, "LINES_A_PAGE", 1)
    monkeypatch.setattr("sessions_app.pages.session.outline.MESSAGES_A_READ", 1)
    first = page.get(f"/sessions/{chat.id}/contents/").content.decode()
    [more] = set(re.findall(r'hx-get="([^"]+)"', first))
    assert more == f"/sessions/{chat.id}/contents/?after=1"
    assert "ls -l" in page.get(more, headers={"HX-Request": "true"}).content.decode()
    assert ChatSession.objects.count() == 1


def test_the_contents_know_results_that_another_read_brings(
    page: Client, api: Callable[..., Any], alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two calls at once, and one that was never answered. The messages are read ten at a time."""
    monkeypatch.setattr("sessions_app.pages.session.outline.MESSAGES_A_READ", 10)
    calls = [
        {"type": "tool_call", "id": f"c{number}", "name": "run", "input": {"command": f"make {number}"}} for number in range(3)
    ]
    results = [{"type": "tool_result", "id": f"c{number}", "output": "no rule", "is_error": True} for number in range(2)]
    hay: list[Any] = [{"type": "text", "text": "hay"}] * 10
    for ahead in range(11):
        chat = Chat(api(alice))
        parts = [*hay[:ahead], calls[2], *calls[:2], *results, *hay]
        chat.ops(*({"op": "upsert", "id": f"m{at}", "role": "assistant", "parts": [part]} for at, part in enumerate(parts)))
        found = {}
        for kind in ("tools", "errors"):
            html = page.get(f"/sessions/{chat.id}/contents/?kind={kind}").content.decode()
            found[kind] = re.findall(r"<code>(.*?)</code> (.*?)</a>", html)
        assert found == {"tools": [("run", f"make {at}") for at in (2, 0, 1)], "errors": [("run", f"make {at}") for at in (0, 1)]}
