"""A session as runs, turns and tool calls: what its messages say of time, model and tokens, and nothing else."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.chats.reading.trace_entries import Entry, Tokens, entry_of
from sessions_app.models import Message
from sessions_app.pages.trace import trace_page
from sessions_app.pages.trace.spans import MOST_SPANS, WIDTH, runs_of, turns_of
from tests.support.chat import Chat

HOSTILE = "<script>alert(1)</script>"
BEGUN = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    return Chat(api(alice))


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html.partition("<main")[2].partition("</main>")[0]).split())


def at(position: int, seconds: float, until: float | None = None) -> None:
    """When the message at a position was saved first and last."""
    times = {"created_at": seconds, "updated_at": seconds if until is None else until}
    saved = {name: BEGUN + timedelta(seconds=late) for name, late in times.items()}
    Message.objects.filter(position=position).update(ver=1 if until is None else 2, **saved)


def raw(message_id: str, form: str, said: dict[str, Any]) -> dict[str, Any]:
    return {"op": "upsert", "id": message_id, "format": form, "raw": said}


def test_turns_with_tools_time_model_and_tokens(page: Client, chat: Chat) -> None:
    calls = [{"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "pytest -x"}}]
    usage = {"input_tokens": 1200, "output_tokens": 34, "cache_read_input_tokens": 1000}
    asked = {"role": "assistant", "model": "model-a", "usage": usage, "content": [{"type": "text", "text": "I run it."}, *calls]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True}]}
    done = {"role": "assistant", "model": "model-b", "usage": {"input_tokens": 1300, "output_tokens": 6}, "content": "Broken."}
    chat.say("q1", "Run the tests")
    chat.ops(raw("a1", "anthropic", asked), raw("r1", "anthropic", result), raw("a2", "anthropic", done))
    chat.say("q2", "Thanks")
    for position, (seconds, until) in enumerate(((0, 0), (2, 4), (10, 10), (12, 15), (100, 100)), 1):
        at(position, seconds, until)
    html = page.get(f"/sessions/{chat.id}/trace/").content.decode()
    shown = text_of(html)
    assert "Turns 2" in shown
    assert "Tool calls, 1 failed 1" in shown
    assert "Tokens in, 1 000 cached 2 500" in shown
    assert "Tokens out 40" in shown
    assert "model-a" in shown
    assert "model-b" in shown
    assert "Time of the turns 15.0 s" in shown
    [tool] = re.findall(r"<code>bash</code></a>(.*?)</li>", html, re.DOTALL)
    assert "pytest -x" in tool
    assert "6.0 s" in tool  # From the last save of the call to its result.
    assert "failed" in tool
    assert re.findall(r'class="tool" d="M(\d+) 0h(\d+)v', tool) == [("267", "400")]
    assert f'href="/sessions/{chat.id}/?at=a1#message-2"' in html


def test_a_call_and_its_result_in_one_message_have_no_time(page: Client, chat: Chat) -> None:
    part = {"type": "tool-bash", "toolCallId": "1", "state": "output-available", "input": {"command": "ls"}, "output": "x"}
    metadata = {"model": "model-c", "usage": {"inputTokens": 7, "outputTokens": 3}, "cost": 0.25}
    chat.say("q1", "List")
    chat.ops({"op": "upsert", "id": "a1", "role": "assistant", "parts": [part], "metadata": metadata})
    chat.ops({"op": "upsert", "id": "a2", "role": "assistant", "text": "half", "status": "interrupted"})
    shown = text_of(page.get(f"/sessions/{chat.id}/trace/").content.decode())
    assert "bash ls saved at once" in shown
    assert "7 in, 3 out" in shown
    assert "model-c" in shown
    assert "Cost, US$ 0.2500" in shown
    assert "half interrupted" in shown


def test_a_time_that_is_not_known_is_not_called_zero(page: Client, chat: Chat) -> None:
    chat.say("m1", "alone")
    html = page.get(f"/sessions/{chat.id}/trace/").content.decode()
    assert "not known" in html
    assert "0.0 ms" not in html


def test_a_call_whose_result_was_saved_with_it_has_no_time_either(page: Client, chat: Chat) -> None:
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls *.py"}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]}
    chat.say("q1", "List")
    chat.ops(raw("a1", "anthropic", call), raw("r1", "anthropic", result))
    html = page.get(f"/sessions/{chat.id}/trace/").content.decode()
    assert "bash ls *.py saved at once" in text_of(html)
    assert "0.0 ms" not in html


def test_runs_are_who_answered(page: Client, chat: Chat) -> None:
    other = Chat(chat.api, session_id=chat.id)
    chat.say("q1", "one")
    chat.say("a1", "first", role="assistant")
    chat.say("q2", "two")
    other.say("a2", "second", role="assistant")
    html = page.get(f"/sessions/{chat.id}/trace/").content.decode()
    assert re.findall(r'Run <code title="([^"]+)"', html) == [chat.writer, other.writer]
    fork = chat.post_plain("fork", {}).json()["id"]
    assert "Copied or restored" in text_of(page.get(f"/sessions/{fork}/trace/").content.decode())


def test_pages_end_between_turns(page: Client, chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1, 7):
        chat.say(f"q{number}", f"question {number}")
        chat.say(f"a{number}", f"answer {number}", role="assistant")
    chat.api.patch(f"/sessions/{chat.id}", {"title": "Six"})
    monkeypatch.setattr(trace_page, "MESSAGES_A_PAGE", 5)
    monkeypatch.setattr(trace_page, "MESSAGES_A_READ", 5)
    seen, address = list[str](), "?after=0"
    while address:
        html = page.get(f"/sessions/{chat.id}/trace/{address}").content.decode()
        seen += re.findall(r">question (\d)</a>", html)
        address = next(iter(re.findall(r'href="(\?after=\d+)"', html)), "")
        assert "Totals of this page" in html
    assert seen == [str(number) for number in range(1, 7)]
    monkeypatch.setattr(trace_page, "MESSAGES_A_PAGE", 200)
    assert "Totals of the session" in page.get(f"/sessions/{chat.id}/trace/").content.decode()


def test_a_turn_longer_than_a_page_goes_on(page: Client, chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    chat.say("q1", "question")
    chat.ops(*({"op": "upsert", "id": f"a{number}", "role": "assistant", "text": f"answer {number}"} for number in range(9)))
    monkeypatch.setattr(trace_page, "MESSAGES_A_PAGE", 4)
    monkeypatch.setattr(trace_page, "MESSAGES_A_READ", 4)
    first = page.get(f"/sessions/{chat.id}/trace/").content.decode()
    assert "?after=4" in first
    assert "Continued" in text_of(page.get(f"/sessions/{chat.id}/trace/?after=4").content.decode())
    assert "That is all" in page.get(f"/sessions/{chat.id}/trace/?after=999").content.decode()


def entry(position: int, *, asks: bool = False, seconds: float = 0, until: float = 0, **more: Any) -> Entry:
    given = {
        "model": "",
        "tokens": Tokens(),
        "calls": [],
        "results": [],
        "writer": "w",
        "interrupted": False,
        "text": "x",
        **more,
    }
    role = "user" if asks else "assistant"
    begun, ended = (BEGUN + timedelta(seconds=late) for late in (seconds, max(seconds, until)))
    return Entry(id=f"m{position}", position=position, role=role, at=begun, until=ended, asks=asks, **given)


def test_an_answer_that_was_edited_long_after_did_not_take_that_long() -> None:
    turns = turns_of([entry(1, asks=True), entry(2, seconds=1, until=9_000), entry(3, asks=True, seconds=60)])
    assert [turn.ms for turn in turns] == [60_000, 0]
    assert [turn.bar.width for turn in turns] == [WIDTH, 0]
    assert runs_of([]) == []


def test_a_copy_did_not_take_until_it_was_made(page: Client, chat: Chat) -> None:
    """A fork writes its messages now; their answers were given then."""
    chat.say("m1", "why?")
    chat.say("m2", "because", role="assistant")
    at(1, 0)
    at(2, 4)
    made = chat.api.post(f"/sessions/{chat.id}/fork", {}).json()["id"]
    assert "Time of the turns 4.0 s" in text_of(page.get(f"/sessions/{made}/trace/").content.decode())


def test_what_metadata_says_is_taken_only_if_it_is_sound() -> None:
    item: dict[str, Any] = {"id": "a", "role": "assistant", "text": "x", "parts": [], "position": 1, "status": "complete"}
    item |= {"created_at": "2026-11-01T00:00:00.000Z", "updated_at": "2026-11-01T00:00:00.000Z"}
    wrong: list[Any] = [None, [], "x", *({"input_tokens": number} for number in (-1, True, "7", 10**30))]
    for usage in wrong:
        made = entry_of({**item, "metadata": {"usage": usage, "model": ["x"], "cost": {"total": float("inf")}}}, None)
        assert (made.tokens, made.model) == (Tokens(), "")
    assert not entry_of({**item, "metadata": {"model": "m" * 1_000}}, None).tokens.known
    assert Tokens(1, None) + Tokens(None, 2, cost=0.5) == Tokens(1, 2, None, 0.5)


def test_thousands_of_calls_and_hostile_texts(page: Client, chat: Chat) -> None:
    part = {"type": "tool-x", "toolName": HOSTILE, "state": "output-error", "input": {"path": HOSTILE}, "errorText": HOSTILE}
    parts = [{**part, "type": f"tool-{HOSTILE}", "toolCallId": f"{number}"} for number in range(1_000)]
    chat.say("q1", HOSTILE)
    chat.ops({"op": "upsert", "id": "a1", "role": "assistant", "parts": parts, "metadata": {"model": HOSTILE}})
    html = page.get(f"/sessions/{chat.id}/trace/").content.decode()
    assert HOSTILE not in html
    assert f"{1_000 - MOST_SPANS} more" in text_of(html)
    for wrong in ("-1", "x", "9" * 30, "%00"):
        assert page.get(f"/sessions/{chat.id}/trace/?after={wrong}").status_code == 200


def test_what_comes_before_the_first_question_is_no_turn(page: Client, chat: Chat) -> None:
    chat.ops(raw("i", "openai.chat", {"role": "system", "content": "Be brief."}))
    assert "Turns 1" in text_of(page.get(f"/sessions/{chat.id}/trace/").content.decode())
    chat.say("q1", "One?")
    chat.say("a1", "Yes.", role="assistant")
    chat.say("q2", "Two?")
    assert "Turns 2" in text_of(page.get(f"/sessions/{chat.id}/trace/").content.decode())
