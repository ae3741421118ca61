"""The statements of a call are counted: how many there are does not depend on how much is stored."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.support.chat import Chat
from tests.support.saves import Writer, delete, truncate, upsert

pytestmark = pytest.mark.django_db
MOST_FOR_A_SAVE = 12
# Key, project with session, window, states, handoff, app state.
MOST_FOR_A_RESUME = 6


def fill(chat: Chat, messages: int, sessions: int = 0) -> None:
    writer = Writer(chat)
    for start in range(0, messages, 250):
        writer.save(*(upsert(f"old{number}", "text") for number in range(start, min(start + 250, messages))))
    for _ in range(sessions):
        Chat(chat.api, project=chat.project)
    chat.api.patch(f"/sessions/{chat.id}", {"current": True})


def statements(call: Callable[[], Any]) -> int:
    with CaptureQueriesContext(connection) as caught:
        response = call()
    assert response.status_code == 200, response.content
    return len(caught)


def counted(chat: Chat) -> dict[str, int]:
    """Statements of each call, from a writer and a key that the server knows already."""
    writer = Writer(chat)
    writer.save(upsert("first", "text"))
    project = chat.read()["session"]["project_id"]
    return {
        "append": statements(lambda: writer.send(upsert("a", "text"))),
        "append 20": statements(lambda: writer.send(*(upsert(f"many{number}", "text") for number in range(20)))),
        "change": statements(lambda: writer.send(upsert("a", "text, edited"))),
        "delete": statements(lambda: writer.send(delete("a"))),
        "truncate": statements(lambda: writer.send(truncate("first"))),
        "repeat": statements(lambda: writer.send(upsert("first", "text"), seq=1)),
        "resume": statements(lambda: chat.api.get(f"/resume?project={chat.project}")),
        "read": statements(lambda: chat.api.get(f"/sessions/{chat.id}")),
        "older": statements(lambda: chat.get("messages?limit=5")),
        "changed": statements(lambda: chat.get("messages?since_rev=1&limit=5")),
        "sessions": statements(lambda: chat.api.get(f"/projects/{project}/sessions")),
        "projects": statements(lambda: chat.api.get("/projects")),
        "clear": statements(lambda: writer.step("clear")),
    }


def test_messages_in_the_session_cost_no_statement(api: Any, alice: Any) -> None:
    few, many = Chat(api(alice), project="/few"), Chat(api(alice), project="/many")
    fill(few, 10)
    fill(many, 1_000)
    assert counted(few) == counted(many)


def test_sessions_in_the_project_cost_no_statement(api: Any, alice: Any) -> None:
    few, many = Chat(api(alice), project="/few"), Chat(api(alice), project="/many")
    fill(few, 10, sessions=1)
    fill(many, 10, sessions=50)
    assert counted(few) == counted(many)


def test_a_save_takes_few_statements_and_a_batch_no_more(chat: Chat) -> None:
    fill(chat, 10)
    found = counted(chat)
    assert found["append"] == found["append 20"] <= MOST_FOR_A_SAVE
    assert found["resume"] <= MOST_FOR_A_RESUME
