"""An agent's own state, its plan, and what it asks a person."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.support.chat import Chat

pytestmark = pytest.mark.django_db
PLAN = {
    "title": "Ship",
    "steps": [{"id": "s1", "title": "Build", "status": "completed"}, {"id": "s2", "title": "Sell", "status": "pending"}],
}
ASK = {"id": "a1", "kind": "deploy", "payload": {"to": "production"}}


@pytest.fixture
def at(chat: Chat) -> str:
    return f"/sessions/{chat.id}/agent-state"


def refusal(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def events_of(chat: Chat) -> list[str]:
    project = chat.read()["session"]["project_id"]
    return [event["type"] for event in chat.api.get(f"/projects/{project}/events?since=0&limit=500").json()["items"]]


def test_it_comes_back_as_it_was_saved(chat: Chat, at: str) -> None:
    assert chat.api.head(at).status_code == 404
    whole = {"context": {"n": 12345678901234567890123, "empty": None}, "pr_data": [1], "plan": PLAN, "last_error": "boom"}
    made = chat.api.put(at, whole)
    assert (made.status_code, made.json()["rev"]) == (201, 1)
    kept = chat.api.get(at).json()
    assert {name: kept[name] for name in whole} == whole
    assert "pending_action" not in kept
    assert chat.api.head(at).status_code == 200
    assert chat.api.get(at, **{"If-None-Match": made["ETag"]}).status_code == 304


def test_what_a_put_overwrote_and_what_was_deleted_is_in_the_history(chat: Chat, at: str) -> None:
    def past() -> list[tuple[int, Any]]:
        return [(item["rev"], item["context"]) for item in chat.api.get(f"{at}/history").json()["items"]]

    chat.api.put(at, {"context": "first"})
    assert past() == []
    chat.api.put(at, {"context": "first"})
    assert past() == [], "saved again as it was"
    chat.api.put(at, {"context": "second"})
    assert chat.api.delete(at).status_code == 204
    assert past() == [(3, "second"), (2, "first")]
    chat.api.put(at, {"context": "third"})
    assert past() == [(3, "second"), (2, "first")]
    assert chat.api.post(f"{at}/history/3/restore").json()["context"] == "second"
    assert past()[0] == (5, "third")


def test_the_history_keeps_the_last_ten(chat: Chat, at: str) -> None:
    for number in range(13):
        chat.api.put(at, {"context": number})
    assert [item["context"] for item in chat.api.get(f"{at}/history").json()["items"]] == [*range(11, 1, -1)]


def test_a_patch_keeps_what_it_leaves_out_and_a_put_does_not(chat: Chat, at: str) -> None:
    chat.api.put(at, {"context": 1, "pr_data": 2, "last_error": 3})
    patched = chat.api.patch(at, {"context": 9, "last_error": None}).json()
    assert (patched["context"], patched["pr_data"], "last_error" in patched) == (9, 2, False)
    assert "pr_data" not in chat.api.put(at, {"context": 1}).json()


def test_compare_and_set(chat: Chat, at: str) -> None:
    first = chat.api.put(at, {"context": 1}, **{"If-None-Match": "*"})["ETag"]
    assert chat.api.put(at, {"context": 2}, **{"If-None-Match": "*"}).status_code == 412
    second = chat.api.put(at, {"context": 2}, **{"If-Match": f"W/{first}"})["ETag"]  # As a proxy that compresses makes it.
    late = chat.api.put(at, {"context": 3}, **{"If-Match": first})
    assert refusal(late) == (412, "precondition_failed")
    assert late.json()["error"]["details"] == {"etag": second}
    assert chat.api.delete(at, **{"If-Match": first}).status_code == 412
    assert chat.api.get(at).json()["context"] == 2


def test_a_deleted_state_s_numbers_are_not_used_again(chat: Chat, at: str) -> None:
    first = chat.api.put(at, {"context": 1})["ETag"]
    assert chat.api.delete(at).status_code == 204
    assert chat.api.delete(at).status_code == 404
    assert chat.api.get(at).status_code == 404
    assert chat.api.put(at, {"context": 2}, **{"If-Match": first}).status_code == 412
    assert chat.api.put(at, {"context": 2})["ETag"] != first


def test_steps_change_one_by_one(chat: Chat, at: str) -> None:
    chat.api.put(at, {"plan": PLAN, "context": 1})
    patched = chat.api.patch(f"{at}/plan/steps/s2", {"status": "in_progress"}).json()
    assert patched["plan"]["steps"] == [PLAN["steps"][0], {**PLAN["steps"][1], "status": "in_progress"}]  # type: ignore[dict-item]
    assert patched["context"] == 1
    assert chat.api.patch(f"{at}/plan/steps/s3", {"status": "pending"}).status_code == 404
    assert chat.api.patch(f"{at}/plan/steps/s2", {"status": "flying"}).status_code == 422
    assert chat.api.patch(f"{at}/plan/steps/s2", {"id": "s1"}).status_code == 422


def test_fields_that_nobody_knows_stay_inside_plan_and_action(chat: Chat, at: str) -> None:
    plan = {"steps": [{"id": "s1", "title": "Build", "status": "pending", "hours": 2}], "colour": "red"}
    chat.api.put(at, {"plan": plan, "pending_action": {**ASK, "urgency": 3}})
    kept = chat.api.get(at).json()
    assert (kept["plan"], kept["pending_action"]) == (plan, {**ASK, "urgency": 3})


def test_what_is_no_plan_is_refused(chat: Chat, at: str) -> None:
    twice = {"steps": [PLAN["steps"][0], PLAN["steps"][0]]}
    for wrong in (
        {"plan": twice},
        {"plan": "x"},
        {"pending_action": {"id": "a/b", "kind": "k"}},
        {"pending_action": {**ASK, "expires_at": "soon"}},
    ):
        assert chat.api.put(at, wrong).status_code == 422, wrong
    assert chat.api.head(at).status_code == 404


def test_a_pending_action_is_answered_once(chat: Chat, at: str) -> None:
    chat.api.put(at, {"pending_action": ASK})
    action = f"{at}/pending-action/a1"
    assert chat.api.get(action).json() == {**ASK, "status": "pending"}
    first = chat.api.post(f"{action}/resolve", {"decision": "reject", "note": "not today"}).json()
    assert (first["status"], first["resolution"]["decision"], first["resolution"]["note"]) == ("resolved", "reject", "not today")
    second = chat.api.post(f"{action}/resolve", {"decision": "approve"})
    assert refusal(second) == (409, "already_resolved")
    assert second.json()["error"]["details"]["resolution"] == first["resolution"]
    assert {**chat.api.get(action).json(), "redacted": {}} == first
    assert chat.api.get(at).json()["pending_action"]["resolution"] == first["resolution"]
    assert events_of(chat)[-2:] == ["AGENT_STATE_SAVED", "PENDING_ACTION_RESOLVED"]


@pytest.mark.parametrize("payload", [None, "500 maps", {"from": 10**40, "to": [2**53 + 1, 1.50, True]}, [10**400, "\u2028"]])
def test_an_answer_is_to_the_question_that_was_read(chat: Chat, at: str, payload: Any) -> None:
    chat.api.put(at, {"pending_action": {**ASK, "payload": payload}})
    action = f"{at}/pending-action/a1"
    read = chat.api.get(action).json()
    seen = {"kind": read["kind"], "payload": payload}
    for other in ({**seen, "payload": "501 maps"}, {**seen, "payload": [payload]}, {**seen, "kind": "drop"}, {"kind": "x"}):
        refused = chat.api.post(f"{action}/resolve", {"decision": "approve", "seen": other})
        assert refusal(refused) == (412, "action_changed")
    as_floats = json.loads(json.dumps(seen), parse_int=float)
    # What a browser makes of a number that it does not have.
    if payload == [10**400, "\u2028"]:
        as_floats["payload"][0] = None
    answered = chat.api.post(f"{action}/resolve", {"decision": "approve", "seen": as_floats}).json()
    assert answered["status"] == "resolved"


def test_an_agent_that_saves_again_does_not_reopen_its_question(chat: Chat, at: str) -> None:
    chat.api.put(at, {"pending_action": ASK})
    chat.api.post(f"{at}/pending-action/a1/resolve", {"decision": "approve"})
    saved = chat.api.put(at, {"pending_action": ASK}).json()
    assert saved["pending_action"]["resolution"]["decision"] == "approve"
    assert chat.api.post(f"{at}/pending-action/a1/resolve", {"decision": "reject"}).status_code == 409
    chat.api.delete(at)
    assert chat.api.get(f"{at}/pending-action/a1").json()["status"] == "resolved"


def test_an_expired_action_cannot_be_answered(chat: Chat, at: str) -> None:
    chat.api.put(at, {"pending_action": {**ASK, "expires_at": "2026-01-01T00:00:00Z"}})
    assert refusal(chat.api.post(f"{at}/pending-action/a1/resolve", {"decision": "approve"})) == (410, "action_expired")
    assert chat.api.get(f"{at}/pending-action/a1").json()["status"] == "expired"
    assert chat.api.post(f"{at}/pending-action/other/resolve", {"decision": "approve"}).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_of_50_clients_that_answer_at_once_exactly_one_wins(server: Any, alice: Any, api: Any) -> None:
    own = api(alice)
    chat = Chat(own)
    own.put(f"/sessions/{chat.id}/agent-state", {"pending_action": ASK})
    headers = {"Authorization": own.client.defaults["HTTP_AUTHORIZATION"]}
    address = f"{server.url}/api/v1/sessions/{chat.id}/agent-state/pending-action/a1/resolve"

    def answer(number: int) -> httpx.Response:
        with httpx.Client(headers=headers, timeout=30) as client:
            return client.post(address, json={"decision": "approve", "note": str(number)})

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(answer, range(50)))
    assert sorted(found.status_code for found in answers) == [200] + [409] * 49
    winner = next(found.json()["resolution"] for found in answers if found.status_code == 200)
    assert all(found.json()["error"]["details"]["resolution"] == winner for found in answers if found.status_code == 409)


@pytest.mark.django_db(transaction=True)
def test_steps_that_are_changed_at_once_all_stay_changed(server: Any, alice: Any, api: Any) -> None:
    own = api(alice)
    chat = Chat(own)
    steps = [{"id": f"s{number}", "title": "Work", "status": "pending"} for number in range(20)]
    own.put(f"/sessions/{chat.id}/agent-state", {"plan": {"steps": steps}})
    headers = {"Authorization": own.client.defaults["HTTP_AUTHORIZATION"]}

    def complete(number: int) -> int:
        address = f"{server.url}/api/v1/sessions/{chat.id}/agent-state/plan/steps/s{number}"
        return httpx.patch(address, json={"status": "completed"}, headers=headers, timeout=30).status_code

    with ThreadPoolExecutor(20) as pool:
        assert set(pool.map(complete, range(20))) == {200}
    state = own.get(f"/sessions/{chat.id}/agent-state").json()
    assert ([step["status"] for step in state["plan"]["steps"]], state["rev"]) == (["completed"] * 20, 21)


def test_resume_brings_the_plan_and_every_ai_s_state(chat: Chat, at: str) -> None:
    empty = chat.api.get(f"/resume?project={chat.project}").json()
    assert (empty["agent_state"], empty["ai_states"]) == (None, [])
    chat.api.put(at, {"plan": PLAN})
    for name in ("gemini", "claude"):
        chat.api.put(f"/sessions/{chat.id}/ai-states/{name}", {"working_notes": name})
    bundle = chat.api.get(f"/resume?project={chat.project}").json()
    assert bundle["agent_state"] == chat.api.get(at).json()
    assert bundle["ai_states"] == chat.api.get(f"/sessions/{chat.id}/ai-states").json()["items"]


def test_resume_asks_once_for_all_states_and_for_nothing_that_is_missing(
    chat: Chat, at: str, django_assert_num_queries: Any
) -> None:
    address = f"/resume?project={chat.project}&quiet=1"
    with django_assert_num_queries(3):  # The key, the session with its project, the messages.
        chat.api.get(address)
    for number in range(5):
        chat.api.put(f"/sessions/{chat.id}/ai-states/ai{number}", {"working_notes": "x"})
    with django_assert_num_queries(3):  # The window did not change meanwhile: it is the states now.
        assert len(chat.api.get(address).json()["ai_states"]) == 5
    chat.api.put(at, {"plan": PLAN})
    project = chat.api.get(f"/projects?path={chat.project}").json()["items"][0]["id"]
    assert chat.api.patch(f"/projects/{project}/handoff", {"summary": "so far"}).status_code == 200
    with django_assert_num_queries(4):
        bundle = chat.api.get(address).json()
    assert (bundle["agent_state"]["plan"], bundle["handoff"]["live"]["summary"]) == (PLAN, "so far")
    for number in range(5):
        chat.api.delete(f"/sessions/{chat.id}/ai-states/ai{number}")
    assert chat.api.get(address).json()["ai_states"] == []
    chat.api.delete(at)
    with django_assert_num_queries(3):  # Deleted states keep a row, which has no content.
        assert chat.api.get(address).json()["agent_state"] is None


def test_a_damaged_state_does_not_spoil_the_resume(chat: Chat, at: str) -> None:
    from sessions_app.models import AgentState

    chat.api.put(at, {"context": 1})
    AgentState.objects.update(content='{"context": ')
    assert chat.api.get(f"/resume?project={chat.project}").json()["agent_state"] is None


def test_a_fork_takes_the_states_along_and_a_clear_leaves_them(chat: Chat, at: str) -> None:
    chat.api.put(at, {"plan": PLAN, "pending_action": ASK})
    chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"todos": []})
    chat.clear()
    assert chat.api.get(at).json()["plan"] == PLAN
    fork = chat.api.post(f"/sessions/{chat.id}/fork", {}).json()["id"]
    assert chat.api.get(f"/sessions/{fork}/agent-state").json()["plan"] == PLAN
    assert chat.api.get(f"/sessions/{fork}/ai-states/claude").json()["todos"] == []
    there = f"/sessions/{fork}/agent-state/pending-action/a1"
    assert chat.api.post(f"{there}/resolve", {"decision": "approve"}).status_code == 200
    assert chat.api.get(f"{at}/pending-action/a1").json()["status"] == "pending"


@pytest.mark.parametrize("text", ["soon", "2026-11-21T09:30:00", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"])
def test_an_end_is_a_time_with_its_zone(chat: Chat, at: str, text: str) -> None:
    assert chat.api.put(at, {"pending_action": {**ASK, "expires_at": text}}).status_code == 422


def test_an_id_that_no_database_can_hold_is_nobody_s(chat: Chat, at: str) -> None:
    assert chat.api.get(f"{at}/pending-action/%00").status_code == 404
    assert chat.api.post(f"{at}/pending-action/%00/resolve", {"decision": "approve"}).status_code == 404


def test_a_session_in_the_trash_takes_none(chat: Chat, at: str) -> None:
    chat.api.delete(f"/sessions/{chat.id}")
    assert refusal(chat.api.put(at, {"context": 1})) == (410, "session_deleted")
    assert json.loads(chat.api.get(at).content)["error"]["code"] == "session_deleted"
