"""States and handoffs damaged by a broken disk or another program: reported as damaged, without effect on others, and
saved again."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.models import AgentState, AgentStateVersion, AiState, AiStateVersion, Handoff, PendingAction
from sessions_app.models.times import now
from tests.support.chat import Chat
from tests.support.saves import refusal

pytestmark = pytest.mark.django_db
BROKEN = ['{"plan": ', "[]", "5"]
# JSON, and yet nothing that a save would have stored.
ODD = ['{"plan": "x"}', '{"pending_action": 7}', '{"plan": {"steps": [1]}}', '{"todos": [1]}', '{"working_notes": 5}']
ODD += ['{"transferred_from": 5}', '{"pending_action": {"id": "a", "kind": "k", "expires_at": "soon"}}']


@pytest.fixture
def held(chat: Chat) -> Chat:
    """A session with both kinds of state, and a project with a handoff."""
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"context": "agent"})
    chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"working_notes": "notes"})
    chat.api.patch(handoff_of(chat), {"summary": "so far"})
    return chat


def handoff_of(chat: Chat) -> str:
    return f"/projects/{chat.read()['session']['project_id']}/handoff"


def damage(content: str) -> None:
    for model in (AgentState, AiState, Handoff):
        model.objects.update(content=content)


@pytest.mark.parametrize("content", BROKEN)
def test_a_damaged_state_is_reported_and_can_be_overwritten(held: Chat, content: str) -> None:
    damage(content)
    for at in ("agent-state", "ai-states/claude"):
        assert refusal(held.get(at)) == (404, "damaged")
    assert held.get("ai-states").json()["items"] == []
    at = f"/sessions/{held.id}"
    assert held.api.patch(f"{at}/agent-state", {"context": "again"}).json()["context"] == "again"
    assert held.api.patch(f"{at}/ai-states/claude", {"working_notes": "again"}).json()["working_notes"] == "again"
    assert [item["working_notes"] for item in held.get("ai-states").json()["items"]] == ["again"]


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_version_is_left_out_of_the_history(held: Chat, content: str) -> None:
    at = f"/sessions/{held.id}/ai-states/claude"
    for notes in ("second", "third"):
        held.api.put(at, {"working_notes": notes})
    AgentStateVersion.objects.create(state=AgentState.objects.get(), content=content, rev=1, saved_at=now())
    broken = AiStateVersion.objects.earliest("rev")
    AiStateVersion.objects.filter(pk=broken.pk).update(content=content)
    history = held.get("ai-states/claude/history").json()["items"]
    assert [item["working_notes"] for item in history] == ["third", "second"]
    assert held.get("agent-state/history").json()["items"] == []


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_handoff_is_an_empty_one(held: Chat, content: str) -> None:
    handoff = handoff_of(held)
    damage(content)
    assert held.api.get(handoff).json()["summary"] == ""
    assert held.api.get(handoff.replace("handoff", "context")).json()["handoff"] is None
    assert held.api.post(f"{handoff}/decisions", {"text": "again"}).status_code == 201
    assert [item["text"] for item in held.api.get(handoff).json()["decisions"]] == ["again"]


@pytest.mark.parametrize("content", [*BROKEN, *ODD])
def test_no_page_and_no_resume_is_spoilt(held: Chat, alice: User, content: str) -> None:
    browser = Client()
    browser.force_login(alice)
    damage(content)
    assert json.loads(held.api.get(f"/resume?project={held.project}").content)["session"]["id"] == held.id
    for page in (f"/sessions/{held.id}/", f"{handoff_of(held)}/"):
        assert browser.get(page).status_code == 200, page


@pytest.mark.parametrize("content", BROKEN)
def test_a_fork_and_a_transfer_go_on_without_it(held: Chat, content: str) -> None:
    other = Chat(held.api, project="/elsewhere")
    damage(content)
    assert held.post("fork").status_code == 201
    carried: dict[str, Any] = held.post("transfer", to_session=other.id, include=["ai_states", "agent_state"]).json()
    assert carried["to_session"]


def test_a_number_beyond_every_float_is_no_damage(chat: Chat) -> None:
    large = 10**400
    for at in ("agent-state", "ai-states/claude"):
        place = f"/sessions/{chat.id}/{at}"
        field = "context" if at == "agent-state" else "todos"
        value: Any = {"n": large} if field == "context" else [{"content": "a", "status": "pending", "n": large}]
        other = {"last_error": "e"} if field == "context" else {"working_notes": "w"}
        assert chat.api.put(place, {field: value}).status_code < 300
        assert chat.api.patch(place, other).status_code < 300
        assert json.loads(chat.get(at).content)[field] == value


@pytest.mark.parametrize("content", BROKEN)
def test_a_damaged_question_is_reported_and_can_be_asked_again(held: Chat, content: str) -> None:
    state, at = f"/sessions/{held.id}/agent-state", "agent-state/pending-action/a1"
    asked = {"pending_action": {"id": "a1", "kind": "deploy", "payload": {"to": "staging"}}}
    held.api.put(state, asked)
    PendingAction.objects.update(content=content)
    assert refusal(held.get(at)) == (404, "damaged")
    assert held.api.put(state, asked).status_code == 200
    assert held.get(at).json()["payload"] == {"to": "staging"}
    held.api.post("/projects", {"path": "/carried"})
    carried = {"to_project": "/carried", "include": ["agent_state"]}
    PendingAction.objects.update(content=content)
    assert held.post_plain("transfer", carried).status_code == 201


@pytest.mark.parametrize("content", BROKEN)
def test_a_damaged_answer_stays_one(held: Chat, content: str) -> None:
    state, at = f"/sessions/{held.id}/agent-state", f"/sessions/{held.id}/agent-state/pending-action/a1"
    asked = {"pending_action": {"id": "a1", "kind": "deploy", "payload": {"to": "staging"}}}
    held.api.put(state, asked)
    assert held.api.post(f"{at}/resolve", {"decision": "approve"}).status_code == 200
    PendingAction.objects.update(resolution=content)
    assert held.api.get(at).json()["status"] == "resolved"
    assert held.api.put(state, asked).status_code == 200
    assert refusal(held.api.post(f"{at}/resolve", {"decision": "reject"})) == (409, "already_resolved")


@pytest.mark.parametrize("content", ODD)
def test_an_answer_counts_whatever_the_state_says(held: Chat, content: str) -> None:
    at = f"/sessions/{held.id}/agent-state"
    held.api.put(at, {"pending_action": {"id": "a1", "kind": "deploy", "payload": {}}})
    AgentState.objects.update(content=content)
    assert held.api.post(f"{at}/pending-action/a1/resolve", {"decision": "approve"}).json()["status"] == "resolved"
