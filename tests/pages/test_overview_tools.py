"""The overview's table of tools: calls, failures, repetitions, and the newest one of each."""

import csv
import io
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import caches
from django.test import Client

from sessions_app.models import Message, Project
from sessions_app.models.times import now
from sessions_app.pages.overview import tool_counts
from tests.support.chat import Chat

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_counted")]


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    """OpenAI's form, with results as messages of their own: `grep` twice with one pattern and once failed, `read` once."""
    chat = Chat(api(alice), project="/home/alice/shop")
    calls = [("grep", "cart", "3 lines"), ("grep", "stock", "Error: no such folder"), ("grep", "cart", "3 lines")]
    for number, (name, pattern, output) in enumerate([*calls, ("read", "a.py", "text")]):
        function = {"name": name, "arguments": f'{{"pattern": "{pattern}"}}'}
        call = {"role": "assistant", "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}]}
        save(chat, f"a{number}", "openai.chat", call)
        failed = output.startswith("Error")
        part = {"type": "tool_result", "tool_use_id": f"c{number}", "content": output, "is_error": failed}
        save(chat, f"r{number}", "anthropic", {"role": "user", "content": [part]})
    return chat


def save(chat: Chat, message_id: str, form: str, raw: dict[str, Any]) -> None:
    chat.ops({"op": "upsert", "id": message_id, "role": raw["role"], "format": form, "raw": raw})


def counted(page: Client, address: str = "/overview/") -> dict[str, tuple[int, int, int]]:
    rows = csv.DictReader(io.StringIO(page.get(f"{address}?as=tools.csv").content.decode()))
    return {row["tool"]: (int(row["calls"]), int(row["failed"]), int(row["repeated"])) for row in rows}


def test_calls_failures_and_repetitions(page: Client, chat: Chat) -> None:
    assert counted(page) == {"grep": (3, 1, 1), "read": (1, 0, 0)}
    html = page.get("/overview/").content.decode()
    for message_id, position in (("a3", 7), ("a1", 3), ("a2", 5)):
        assert f"/sessions/{chat.id}/?at={message_id}#message-{position}" in html
    assert "33 %" in html


def test_what_the_ai_sdk_and_agents_save_counts_too(page: Client, api: Callable[..., Any], alice: User) -> None:
    chat = Chat(api(alice))
    sdk = {"type": "tool-weather", "toolCallId": "c1", "state": "output-error", "input": {}, "errorText": "no"}
    opencode = {
        "type": "tool",
        "tool": "bash",
        "callID": "c2",
        "state": {"status": "error", "input": {"command": "x"}, "error": "no"},
    }
    chat.ops({"op": "upsert", "id": "m1", "role": "assistant", "text": "", "parts": [sdk, opencode]})
    assert counted(page) == {"weather": (1, 1, 0), "bash": (1, 1, 0)}


def test_only_what_is_the_user_s_own_and_live_and_of_a_month(
    page: Client, chat: Chat, api: Callable[..., Any], bob: User
) -> None:
    save(Chat(api(bob), project="his"), "a1", "openai.chat", {"role": "assistant", "tool_calls": [tool_call("his")]})
    other = Chat(chat.api, project="gone")
    save(other, "a1", "openai.chat", {"role": "assistant", "tool_calls": [tool_call("gone")]})
    chat.api.delete(f"/sessions/{other.id}")
    Message.objects.filter(message_id="a3").update(created_at=now() - timedelta(days=31))
    assert counted(page) == {"grep": (3, 1, 1)}
    chat.clear()
    caches["process"].clear()
    assert counted(page) == {}


def test_a_project_has_its_own(page: Client, chat: Chat) -> None:
    blog = Chat(chat.api, project="blog")
    save(blog, "a1", "openai.chat", {"role": "assistant", "tool_calls": [tool_call("draw")]})
    address = f"/projects/{Project.objects.get(path='blog').id}/overview/"
    assert counted(page, address) == {"draw": (1, 0, 0)}
    assert set(counted(page)) == {"grep", "read", "draw"}
    # The same name in two projects is one tool of all.
    save(blog, "a2", "openai.chat", {"role": "assistant", "tool_calls": [tool_call("grep")]})
    caches["process"].clear()
    assert counted(page)["grep"] == (4, 1, 1)


def test_it_is_counted_in_pieces_of_limited_time(page: Client, chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    # Numbers of messages go on from test to test.
    monkeypatch.setattr(tool_counts, "PIECE", Message.objects.latest("id").pk // 4)
    monkeypatch.setattr(tool_counts, "SECONDS", 0)
    assert "still being looked through" in page.get("/overview/").content.decode()
    looks = 1
    while "still being looked through" in page.get("/overview/").content.decode():
        looks += 1
    assert looks < 10, "each look gets further"
    assert counted(page) == {"grep": (3, 1, 1), "read": (1, 0, 0)}


def test_a_name_is_only_text_on_the_page_and_in_a_spreadsheet(page: Client, chat: Chat) -> None:
    save(chat, "x", "openai.chat", {"role": "assistant", "tool_calls": [tool_call("=cmd<script>")]})
    assert b"<script>" not in page.get("/overview/").content.split(b"by-tool")[1]
    assert "'=cmd<script>" in counted(page)


def tool_call(name: str) -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}}
