"""The end of a run: what the agent still holds is written whole or not at all, and the lease is free."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from memory_app.models import ErrorReport, MemoryEntry
from sessions_app.models import AiState
from tests.memory.conftest import Memory
from tests.memory.errors.test_errors import errors_of
from tests.support.chat import Chat

NOTE = {"namespace": "notes", "key": "n", "value": {"token": "abc123def"}}
ERROR = {"message": "boom", "kind": "KeyError"}
TODO = {"content": "go on", "status": "pending"}


@pytest.fixture
def chat(memory: Memory) -> Chat:
    path = memory.api.get(f"/projects/{memory.project}").json()["path"]
    return Chat(memory.api, project=path)


def ai_state(chat: Chat, ai_id: str = "claude") -> Any:
    return chat.api.get(f"/sessions/{chat.id}/ai-states/{ai_id}")


def nothing_was_written() -> bool:
    return not (MemoryEntry.objects.exists() or ErrorReport.objects.exists() or AiState.objects.exists())


def test_entries_errors_and_states_are_written_together(memory: Memory, chat: Chat) -> None:
    chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"context_summary": "kept"})
    run = memory.start()
    states = [
        {"ai_id": "claude", "todos": [TODO], "working_notes": "password=hunter2hunter2"},
        {"ai_id": "gpt", "session": chat.id},
    ]
    ended = memory.run(run["run_id"], "end", {"entries": [NOTE], "errors": [ERROR, ERROR], "ai_states": states})
    assert ended.status_code == 200, ended.content
    body = ended.json()
    assert (body["recorded"], body["filtered"], body["redacted"]) == (2, 0, {"token": 1, "password": 1})
    assert body["holder"] is None
    assert memory.get("notes/n").json()["value"] == {"token": "[REDACTED:token]"}
    assert errors_of(memory)[0]["count"] == 2
    state = ai_state(chat).json()
    assert (state["context_summary"], state["todos"][0]["content"]) == ("kept", "go on")
    assert "hunter2" not in state["working_notes"]
    assert ai_state(chat, "gpt").status_code == 200
    assert memory.start()["mode"] == "writer"


def test_rules_that_end_with_the_run_filter_its_errors(memory: Memory) -> None:
    rule = {"id": "r", "pattern": "boom", "kind": "substring", "source": "auto", "enabled": True}
    run = memory.start()
    noise = {"namespace": "noise", "key": "config", "value": {"rules": [rule]}}
    ended = memory.run(run["run_id"], "end", {"entries": [noise], "errors": [ERROR, {"message": "real"}]}).json()
    assert (ended["recorded"], ended["filtered"]) == (1, 1)


def test_a_retried_end_changes_nothing(memory: Memory, chat: Chat) -> None:
    run = memory.start()
    body = {"entries": [NOTE], "errors": [ERROR], "ai_states": [{"ai_id": "claude", "working_notes": "one"}]}
    assert memory.run(run["run_id"], "end", body).json()["recorded"] == 1
    again: dict[str, Any]
    for again in (body, {**body, "entries": [dict(reversed(NOTE.items()))]}, {}, {"errors": []}):
        ended = memory.run(run["run_id"], "end", again)
        assert (ended.status_code, ended.json()["recorded"]) == (200, 0)
    assert errors_of(memory)[0]["count"] == 1
    assert memory.get("notes/n").json()["rev"] == 1


@pytest.mark.parametrize("first", [{}, {"errors": [ERROR]}])
@pytest.mark.parametrize("more", [{"entries": [NOTE]}, {"errors": [ERROR, ERROR]}, {"ai_states": [{"ai_id": "claude"}]}])
def test_what_a_run_holds_after_its_end_is_refused_not_dropped(memory: Memory, chat: Chat, first: Any, more: Any) -> None:
    run = memory.start()
    assert memory.run(run["run_id"], "end", first).status_code == 200
    for _ in range(2):
        late = memory.run(run["run_id"], "end", more)
        assert (late.status_code, late.json()["error"]["code"]) == (410, "run_ended")
    assert not MemoryEntry.objects.exists()
    assert not AiState.objects.exists()
    next_run = memory.start()
    assert memory.run(next_run["run_id"], "end", more).status_code == 200


@pytest.mark.parametrize(
    ("held", "status"),
    [
        ({"ai_states": [{"ai_id": "claude", "session": "00000000-0000-4000-8000-000000000000"}]}, 404),
        ({"ai_states": [{"ai_id": "claude", "session": "elsewhere"}]}, 404),
        ({"ai_states": [{"ai_id": "claude", "session": "mine"}]}, 404),
        ({"ai_states": [{"ai_id": "NO"}]}, 422),
        ({"ai_states": [{"ai_id": "claude", "todos": [{"content": "c", "status": "odd"}]}]}, 422),
        ({"errors": [{"message": 5}]}, 422),
        ({"entries": [{"namespace": "errors", "key": "history", "value": {}}]}, 409),
    ],
)
def test_what_cannot_be_written_leaves_all_unwritten_and_the_run_going(
    memory: Memory, chat: Chat, held: dict[str, Any], status: int
) -> None:
    elsewhere = Chat(memory.api, project="/elsewhere")
    for state in held.get("ai_states", []):
        if state.get("session") == "elsewhere":
            state["session"] = elsewhere.id
    run = memory.start()
    good = {"entries": [NOTE], "errors": [ERROR], "ai_states": [{"ai_id": "claude", "working_notes": "x"}]}
    body = {name: good[name] + held.get(name, []) for name in good}
    assert memory.run(run["run_id"], "end", body).status_code == status
    assert nothing_was_written()
    assert memory.run(run["run_id"], "heartbeat").json()["mode"] == "writer"


def test_without_a_current_session_a_state_must_name_one(memory: Memory) -> None:
    run = memory.start()
    refused = memory.run(run["run_id"], "end", {"ai_states": [{"ai_id": "claude"}]})
    assert (refused.status_code, refused.json()["error"]["details"]) == (422, {"field": "ai_states"})


def test_a_reader_may_end_with_states_but_not_with_memory(memory: Memory, chat: Chat) -> None:
    memory.start()
    reader = memory.start()
    held = {"ai_states": [{"ai_id": "claude", "working_notes": "x"}]}
    assert memory.run(reader["run_id"], "end", {**held, "errors": [ERROR]}).status_code == 423
    assert nothing_was_written()
    assert memory.run(reader["run_id"], "end", held).status_code == 200
    assert ai_state(chat).json()["working_notes"] == "x"


def settle(memory: Memory, namespace: str, **values: Any) -> None:
    assert memory.api.put(memory.address(f"memory-settings/{namespace}"), values).status_code in {200, 201}


def test_a_reader_may_end_with_entries_that_need_no_lease(memory: Memory) -> None:
    settle(memory, "free", leased=False)
    memory.start()
    reader = memory.start()
    free = {"namespace": "free", "key": "k", "value": 1}
    assert memory.run(reader["run_id"], "end", {"entries": [free, NOTE]}).status_code == 423
    assert memory.run(reader["run_id"], "end", {"entries": [free], "errors": [ERROR]}).status_code == 423
    assert nothing_was_written()
    assert memory.run(reader["run_id"], "end", {"entries": [free]}).status_code == 200
    assert memory.get("free/k").json()["value"] == 1


@pytest.mark.parametrize("namespace", ["a~b", "a/b", ["a", "b"], ["a/b", "c"], "plain"])
def test_namespaces_are_named_as_in_a_batch(memory: Memory, namespace: str | list[str]) -> None:
    run, entry = memory.start(), {"namespace": namespace, "key": "k"}
    ended = memory.run(run["run_id"], "end", {"entries": [{**entry, "value": "v"}]})
    assert ended.status_code == 200, ended.content
    answer = memory.api.post(memory.address("memory/batch"), {"ops": [{"op": "get", **entry}]})
    assert answer.json()["results"][0]["entry"]["value"] == "v"


def test_an_exact_namespace_gets_what_was_sent(memory: Memory) -> None:
    settle(memory, "exact", exact=True)
    run, value = memory.start(), {"nul\0": "a\0b", "token": "abc123def"}
    entries = [{"namespace": place, "key": "k", "value": value} for place in ("exact", "notes")]
    assert memory.run(run["run_id"], "end", {"entries": entries}).status_code == 200
    assert memory.get("exact/k").json()["value"] == value
    assert memory.get("notes/k").json()["value"] == {"nul\ufffd": "a\ufffdb", "token": "[REDACTED:token]"}


def test_nobody_ends_another_one_s_run(memory: Memory, api: Callable[..., Any], bob: User) -> None:
    run = memory.start()
    assert api(bob).post(memory.address(f"runs/{run['run_id']}/end"), {"errors": [ERROR]}).status_code == 404
    assert nothing_was_written()
