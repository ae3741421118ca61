"""A save costs what changed, not what is there: its statements are counted, and so are a resume's and a list's."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.chat import Chat

# Key, transaction, session, receipt, messages, insert, session's counters, event number, event, receipt, end.
MOST_FOR_A_SAVE = 14
# Key, project with session, window, states, handoff, app state.
MOST_FOR_A_RESUME = 6


@pytest.fixture
def client(api: Callable[..., Any], alice: User) -> Any:
    client = api(alice)
    client.get("/projects")  # The key's first use is noted once a minute, with a write of its own.
    return client


def statements(act: Callable[..., Any], *arguments: Any, **named: Any) -> int:
    with CaptureQueriesContext(connection) as seen:
        answer = act(*arguments, **named)
    assert getattr(answer, "status_code", 200) == 200
    return len(seen)


def fill(chat: Chat, number: int) -> None:
    for start in range(0, number, 500):
        size = min(500, number - start)
        chat.ops(*({"op": "upsert", "id": f"old{start + each}", "role": "user", "text": "words " * 20} for each in range(size)))


@pytest.mark.timeout(60)
def test_a_save_takes_the_same_statements_in_a_chat_of_any_length(client: Any) -> None:
    short, long = Chat(client, project="short"), Chat(client, project="long")
    fill(short, 10)
    fill(long, 3_000)
    counted = [statements(chat.post, "changes", ops=[upsert("new")]) for chat in (short, long)]
    grown = [statements(chat.post, "changes", ops=[upsert("new", "grown")]) for chat in (short, long)]
    assert counted[0] == counted[1] <= MOST_FOR_A_SAVE
    assert grown[0] == grown[1] <= MOST_FOR_A_SAVE


def upsert(message_id: str, text: str = "new") -> dict[str, str]:
    return {"op": "upsert", "id": message_id, "role": "assistant", "text": text}


def test_a_save_of_many_messages_takes_as_many_statements_as_one_of_few(client: Any) -> None:
    chat = Chat(client)
    counted = [
        statements(chat.post, "changes", ops=[upsert(f"{number}-{each}") for each in range(number)]) for number in (2, 200)
    ]
    assert counted[0] == counted[1]


@pytest.mark.timeout(60)
def test_a_resume_takes_the_same_statements_whatever_is_there(client: Any) -> None:
    short, long = Chat(client, project="short"), Chat(client, project="long")
    fill(short, 1)
    fill(long, 1_000)
    for number in range(20):
        Chat(client, project=f"another {number}")
    counted = [statements(client.get, f"/resume?project={path}&quiet=1") for path in ("short", "long")]
    assert counted[0] == counted[1] <= MOST_FOR_A_RESUME


def test_a_list_of_sessions_takes_the_same_statements_however_many(client: Any) -> None:
    project = client.post("/projects", {"path": "listed"}).json()["id"]
    counted = []
    for more in (1, 40):
        for _ in range(more):
            client.post(f"/projects/{project}/sessions", {})
        counted.append(statements(client.get, f"/projects/{project}/sessions"))
    assert counted[0] == counted[1]
