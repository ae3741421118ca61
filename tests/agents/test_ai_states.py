"""Each AI's working state in a session."""

from typing import Any

import pytest

from tests.support.chat import Chat

pytestmark = pytest.mark.django_db
TODO = {"content": "Write the test", "status": "in_progress", "activeForm": "Writing the test"}


@pytest.fixture
def at(chat: Chat) -> str:
    return f"/sessions/{chat.id}/ai-states"


def test_save_state_then_restore_state(chat: Chat, at: str) -> None:
    whole = {"todos": [TODO], "working_notes": "Current focus areas", "context_summary": "What I was working on"}
    assert chat.api.put(f"{at}/claude", whole).status_code == 201
    kept = chat.api.get(f"{at}/claude").json()
    assert {name: kept[name] for name in whole} == whole
    assert (kept["ai_id"], kept["rev"], "transferred_from" in kept) == ("claude", 1, False)


def test_a_patch_keeps_what_it_leaves_out(chat: Chat, at: str) -> None:
    chat.api.put(f"{at}/claude", {"todos": [TODO], "working_notes": "notes"})
    patched = chat.api.patch(f"{at}/claude", {"context_summary": "so far"}).json()
    assert (patched["todos"], patched["working_notes"], patched["context_summary"]) == ([TODO], "notes", "so far")
    assert "todos" not in chat.api.put(f"{at}/claude", {"working_notes": "notes"}).json()


def test_several_ais_share_a_session_and_not_their_states(chat: Chat, at: str) -> None:
    for name in ("lars", "claude", "gemini"):
        chat.api.put(f"{at}/{name}", {"working_notes": f"of {name}"})
    assert chat.api.delete(f"{at}/lars").status_code == 204
    first = chat.api.get(f"{at}?limit=1").json()
    assert [item["ai_id"] for item in first["items"]] == ["claude"]
    rest = chat.api.get(f"{at}?cursor={first['next']}").json()
    assert ([item["working_notes"] for item in rest["items"]], rest["next"]) == (["of gemini"], None)
    assert chat.api.get(f"{at}/lars").status_code == 404


def test_sessions_are_isolated(chat: Chat, at: str) -> None:
    chat.api.put(f"{at}/claude", {"working_notes": "here"})
    other = Chat(chat.api, project=chat.project)
    assert chat.api.get(f"/sessions/{other.id}/ai-states").json()["items"] == []


def test_fifty_versions_are_kept_and_any_comes_back(chat: Chat, at: str) -> None:
    for number in range(1, 54):
        chat.api.patch(f"{at}/claude", {"working_notes": str(number)})
    history = chat.api.get(f"{at}/claude/history").json()["items"]
    assert [item["rev"] for item in history] == list(range(53, 3, -1))
    restored = chat.api.post(f"{at}/claude/history/4/restore").json()
    assert (restored["working_notes"], restored["rev"]) == ("4", 54)
    assert chat.api.post(f"{at}/claude/history/3/restore").status_code == 404


def test_a_deleted_state_can_be_restored(chat: Chat, at: str) -> None:
    chat.api.put(f"{at}/claude", {"todos": [TODO]})
    chat.api.delete(f"{at}/claude")
    assert chat.api.delete(f"{at}/claude").status_code == 404
    assert chat.api.post(f"{at}/claude/history/1/restore").status_code == 200
    assert chat.api.get(f"{at}/claude").json()["todos"] == [TODO]


def test_compare_and_set(chat: Chat, at: str) -> None:
    first = chat.api.put(f"{at}/claude", {"working_notes": "1"})["ETag"]
    chat.api.put(f"{at}/claude", {"working_notes": "2"}, **{"If-Match": first})
    assert chat.api.put(f"{at}/claude", {"working_notes": "3"}, **{"If-Match": first}).status_code == 412
    assert chat.api.get(f"{at}/claude").json()["working_notes"] == "2"


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("Claude", {}),
        ("a" * 65, {}),
        ("claude", {"todos": [{"content": "x", "status": "done"}]}),
        ("claude", {"working_notes": "x" * 100_001}),
    ],
)
def test_what_is_no_ai_state_is_refused(chat: Chat, at: str, name: str, body: Any) -> None:
    assert chat.api.put(f"{at}/{name}", body).status_code == 422
    assert chat.api.get(at).json()["items"] == []


def test_a_listener_hears_of_a_save_without_its_content(chat: Chat, at: str) -> None:
    chat.api.put(f"{at}/claude", {"working_notes": "private words"})
    project = chat.read()["session"]["project_id"]
    answer = chat.api.get(f"/projects/{project}/events?since=0")
    last = answer.json()["items"][-1]
    assert (last["type"], last["data"]) == ("AI_STATE_SAVED", {"ai_id": "claude", "state_rev": 1, "deleted": False})
    assert "private words" not in answer.content.decode()
