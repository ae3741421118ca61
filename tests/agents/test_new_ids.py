"""`.` and `..` as ids: an address cannot have them, so nothing new gets one. What has one already goes on."""

import uuid
from typing import Any

import pytest

from sessions_app.models import AgentState, AiState, ChatSession, Handoff, Message, PendingAction
from tests.support.chat import Chat
from tests.support.saves import Writer

pytestmark = pytest.mark.django_db
DOTS = pytest.mark.parametrize("dots", [".", ".."])


@pytest.fixture
def project(chat: Chat) -> str:
    return f"/projects/{chat.read()['session']['project_id']}"


def refused(answer: Any, field: str) -> bool:
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["details"]) == (422, "invalid", {"field": field}), error
    assert error["message"].startswith(f"`{field}` cannot be `.` or `..`: in an address")
    return True


@DOTS
def test_items_of_a_handoff(chat: Chat, project: str, dots: str) -> None:
    at = f"{project}/handoff"
    for kind, field in (("decisions", "text"), ("files", "path"), ("risks", "text")):
        assert refused(chat.api.post(f"{at}/{kind}", {"id": dots, field: "x"}), "id")
        assert refused(chat.api.patch(at, {kind: [{"id": "a", field: "x"}, {"id": dots, field: "y"}]}), "id")
        assert chat.api.post(f"{at}/{kind}", {"id": "...", field: "x"}).status_code == 201
    content = Handoff.objects.get().content.replace('"..."', f'"{dots}"')
    Handoff.objects.update(content=content)
    stored = chat.api.get(at).json()["decisions"]
    assert stored[0]["id"] == dots
    assert chat.api.patch(at, {"decisions": [*stored, {"text": "more"}]}).json()["decisions"][0] == stored[0]
    assert chat.api.post(f"{at}/decisions", {"text": "X"}).json()["merged"] is True


@DOTS
def test_ids_of_your_own_of_sessions(chat: Chat, project: str, dots: str) -> None:
    new = {"project": chat.project, "external_id": dots}
    for answer in (
        chat.api.post(f"{project}/sessions", {"external_id": dots}),
        chat.api.put(f"{project}/sessions/by-external/{dots}", {}),
        chat.api.post(f"/sessions/{uuid.uuid4()}/changes", {"epoch": 1, "writer_id": "w", "seq": 1, "create": new}),
    ):
        assert refused(answer, "external_id")
    made = chat.api.post(f"{project}/sessions", {"external_id": "..."}).json()["id"]
    ChatSession.objects.filter(id=made).update(external_id=dots)
    assert chat.api.put(f"{project}/sessions/by-external/{dots}", {}).json()["id"] == made


@DOTS
def test_messages(chat: Chat, dots: str) -> None:
    new = {"op": "upsert", "id": dots, "role": "assistant", "text": "new", "status": "streaming"}
    chat.say("m1", "one")
    (rejected,) = chat.ops(new, {**new, "id": "...", "text": "old"})["rejected"]
    assert (rejected["id"], rejected["index"], rejected["reason"]) == (dots, 0, "dots_as_id")
    assert "`.` or `..`: in an address" in rejected["message"]
    Message.objects.filter(message_id="...").update(message_id=dots)
    rev = chat.read()["session"]["rev"]
    for op in (
        {**new, "text": "old and"},
        {"op": "append", "id": dots, "at": 7, "text": " more"},
        {"op": "patch", "id": dots, "metadata": 1},
    ):
        rev = chat.ops(op, base_rev=rev)["rev"]
    assert [(item["id"], item["text"], item.get("metadata")) for item in chat.read()["messages"]][1:] == [
        (dots, "old and more", 1)
    ]
    assert chat.get(f"messages/{dots}").json()["text"] == "old and more"
    assert chat.get(f"messages?before={dots}").json()["items"][0]["id"] == "m1"
    assert chat.ops({"op": "truncate", "after": dots}, {"op": "delete", "id": dots}, base_rev=rev)["applied"][0]["removed"]
    assert chat.texts() == ["one"]
    assert chat.post(f"removed/{dots}/restore").json()["message"] == dots


@DOTS
def test_what_is_kept_of_a_message_gets_an_id_that_has_an_address(chat: Chat, dots: str) -> None:
    """Its text came late, for an epoch that had ended, so it is not lost."""
    chat.clear()
    late = {"op": "upsert", "id": dots, "role": "user", "text": "late"}
    assert Writer(chat).send(late).json()["error"]["code"] == "stale_epoch"
    (copy,) = chat.conflicts()
    assert chat.post_plain(f"conflicts/{copy['copy_id']}/settle", {"keep": "both"}).status_code == 200
    assert [item["id"] for item in chat.read()["messages"]] == [f"{dots}~2"]


@DOTS
def test_questions_and_steps_of_agents(chat: Chat, dots: str) -> None:
    at = f"/sessions/{chat.id}/agent-state"
    asked, step = {"id": dots, "kind": "deploy"}, {"id": dots, "title": "Build", "status": "pending"}
    for send in (chat.api.put, chat.api.patch):
        assert refused(send(at, {"pending_action": asked}), "id")
        assert refused(send(at, {"plan": {"steps": [{**step, "id": "a"}, step]}}), "id")
    whole = {"pending_action": {**asked, "id": "..."}, "plan": {"steps": [{**step, "id": "..."}]}}
    assert chat.api.put(at, whole).status_code == 201
    AgentState.objects.update(content=str(AgentState.objects.get().content).replace('"..."', f'"{dots}"'))
    PendingAction.objects.update(action_id=dots)
    stored = {"pending_action": asked, "plan": {"steps": [step]}}
    assert chat.api.put(at, stored).status_code == 200
    fork = chat.api.post(f"/sessions/{chat.id}/fork", {}).json()["id"]
    for session in (chat.id, fork):
        assert chat.api.get(f"/sessions/{session}/agent-state").json()["pending_action"]["id"] == dots
    AgentState.objects.update(content='{"plan":{"steps":5}}')
    assert chat.api.put(at, {"context": 1}).status_code == 200


@DOTS
def test_names_of_ais(chat: Chat, project: str, dots: str) -> None:
    at = f"/sessions/{chat.id}/ai-states"
    run = chat.api.post(f"{project}/runs", {}).json()["run_id"]
    held = {"ai_id": dots, "session": chat.id, "working_notes": "x"}
    assert refused(chat.api.post(f"{project}/runs/{run}/end", {"ai_states": [held]}), "ai_id")
    assert refused(chat.api.put(f"{at}/{dots}", {"working_notes": "x"}), "ai_id")
    chat.api.put(f"{at}/claude", {"working_notes": "x"})
    AiState.objects.update(ai_id=dots)
    assert [state["ai_id"] for state in chat.api.get(at).json()["items"]] == [dots]
    assert chat.api.put(f"{at}/{dots}", {"working_notes": "y"}).status_code == 200


@pytest.mark.parametrize("text", [" ", "\n\t", "\u3000"])
def test_a_blank_decision_says_nothing(chat: Chat, project: str, text: str) -> None:
    at = f"{project}/handoff"
    made = chat.api.post(f"{at}/decisions", {"id": "d", "text": "x"})
    assert made.status_code == 201
    answers = [
        chat.api.post(f"{at}/decisions", {"text": text}),
        chat.api.post(f"{at}/risks", {"text": text}),
        chat.api.post(f"{at}/files", {"path": text}),
        chat.api.patch(f"{at}/decisions/d", {"text": text}),
        chat.api.patch(at, {"decisions": [{"text": text}]}),
    ]
    for answer in answers:
        assert answer.status_code == 422
        assert "it is blank: write what the next agent has to know" in answer.json()["error"]["message"]
    assert [item["text"] for item in chat.api.get(at).json()["decisions"]] == ["x"]
