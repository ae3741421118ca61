"""Transfer of messages, opening step, agent state and questions: moved, as a dry run, with events."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.core.limits import quotas
from tests.support.chat import Chat
from tests.support.saves import refusal
from tests.support.transfers import ASK, PLAN, ai, carried, carry, events_of, everything, save_ai, todo

pytestmark = pytest.mark.django_db


@pytest.fixture
def other(chat: Chat) -> Chat:
    """A session in another project."""
    return Chat(chat.api, project="/home/alice/other")


def test_an_overwritten_agent_state_stays_in_history_too(chat: Chat, other: Chat) -> None:
    at = f"/sessions/{other.id}/agent-state"
    other.api.put(at, {"plan": PLAN, "pending_action": ASK})
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"context": "new"})
    answer = carried(chat, other, include=["agent_state"], on_conflict="overwrite")
    assert answer["replaced"] == [{"kind": "agent_state", "rev": 1}]
    assert "plan" not in other.api.get(at).json()
    assert [item["plan"] for item in other.api.get(f"{at}/history").json()["items"]] == [PLAN]
    assert other.api.post(f"{at}/history/1/restore").json()["plan"] == PLAN
    assert [item["rev"] for item in other.api.get(f"{at}/history").json()["items"]] == [2, 1]
    assert other.api.post(f"{at}/history/7/restore").status_code == 404


def test_into_a_new_session_of_a_project(chat: Chat, other: Chat) -> None:
    chat.api.patch(f"/sessions/{chat.id}", {"title": "Named"})
    chat.say("m1", "hello", opening_step="brainstorm")
    save_ai(chat, working_notes="words")
    answer = carry(chat, to_project=other.project, include=["ai_states", "messages", "opening_step"])
    assert answer.status_code == 201
    made = Chat(chat.api, project=other.project, session_id=answer.json()["to_session"])
    session = made.read()["session"]
    assert (session["title"], session["current"], session["opening_step"]) == ("Named", True, "brainstorm")
    assert made.texts() == ["hello"]
    assert ai(made)["transferred_from"] == chat.id
    assert other.read()["session"]["archived_at"]


def test_into_a_new_session_of_its_own_project(chat: Chat) -> None:
    chat.say("m1", "hello")
    before = chat.read()["session"]
    answer = carried(chat, to_project=chat.project, include=["messages"], mode="move", epoch=1, writer_id="w", seq=1)
    assert Chat(chat.api, session_id=answer["to_session"]).texts() == ["hello"]
    after = chat.read()["session"]
    assert (after["epoch"], after["rev"], after["current"]) == (2, before["rev"] + 2, False)
    assert (answer["epoch"], answer["prev_rev"], answer["rev"]) == (2, before["rev"], after["rev"])


def test_messages_keep_their_ids_where_free_and_are_conflict_copies_else(chat: Chat, other: Chat) -> None:
    for each in (chat, other):
        each.say("m1", f"first of {each.project}")
        each.say("m2", "the same in both")
    other.say("m3", "taken out")
    other.ops({"op": "delete", "id": "m3"})
    rich = {"parts": [{"type": "x"}], "metadata": {"a": 1}, "format": "f", "raw": [1], "parent_id": "m2", "status": "streaming"}
    chat.ops(*({"op": "upsert", "id": name, "role": "assistant", "text": name, **rich} for name in ("m3", "m4")))
    source = {message["id"]: message for message in chat.read()["messages"]}
    done = carried(chat, other, include=["messages"])["carried"]
    assert done == [{"kind": "messages", "how": "added", "added": 1, "same": 1, "conflicts": 2, "dropped": 0}]
    assert other.texts() == [f"first of {other.project}", "the same in both", "m4"]
    assert {copy["id"]: copy["text"] for copy in other.conflicts()} == {"m1": f"first of {chat.project}", "m3": "m3"}
    moved, session = other.read()["messages"][-1], other.read()["session"]
    kept = ("id", "role", "text", "parts", "metadata", "format", "raw", "parent_id", "created_at")
    assert {name: moved[name] for name in kept} == {name: source["m4"][name] for name in kept}
    assert (moved["status"], moved["rev"], session["message_count"]) == ("interrupted", session["rev"], 3)
    assert carried(chat, other, include=["messages"])["carried"][0]["added"] == 0
    assert len(other.conflicts()) == 2


def test_another_project_s_rule_for_secrets_is_followed_there(chat: Chat, other: Chat) -> None:
    secret = "AKIAIOSFODNN7EXAMPLE"
    for each, mode in ((chat, "off"), (other, "redact")):
        each.api.patch(f"/projects/{each.read()['session']['project_id']}", {"settings": {"redaction": mode}})
    chat.say("free", f"the key is {secret}")
    chat.say("taken", f"and once more {secret}")
    other.say("taken", "something else")
    assert carried(chat, other, include=["messages"])["carried"][0]["conflicts"] == 1
    fork = chat.api.post(f"/sessions/{chat.id}/fork", {"project": other.project}).json()
    there = Chat(chat.api, project=other.project, session_id=fork["id"])
    for each in (other, there):
        assert secret not in str(each.read()) + str(each.conflicts())
        assert "the key is [REDACTED:aws_key]" in each.texts()
    size = sum(len(text.encode()) for text in other.texts())
    assert other.read()["session"]["size_bytes"] == size
    flagged = {message["id"]: message.get("flagged") for message in there.read()["messages"]}
    assert flagged == {"free": {"aws_key": 1}, "taken": {"aws_key": 1}}
    copied = carried(there, to_project=other.project, include=["messages"])["to_session"]
    again = chat.api.get(f"/sessions/{copied}").json()["messages"]
    assert {message["id"]: message.get("flagged") for message in again} == flagged
    assert f"the key is {secret}" in chat.texts()


def test_a_long_session_is_carried_in_as_few_statements_as_a_short_one(chat: Chat) -> None:
    target, short = (Chat(chat.api, project=chat.project) for _ in range(2))

    def counted(session: Chat, number: int) -> int:
        with CaptureQueriesContext(connection) as seen:
            assert carried(session, target, include=["messages"])["carried"][0]["added"] == number
        return len(seen)

    target.say("there already", "words")
    chat.ops(*({"op": "upsert", "id": f"long{number}", "role": "user", "text": "words"} for number in range(500)))
    chat.say("one more than fits into one request", "words")
    for number in range(2):
        short.say(f"short{number}", "words")
    assert counted(chat, 501) == counted(short, 2)


def test_a_move_leaves_nothing_behind_that_could_not_come_back(chat: Chat, other: Chat) -> None:
    chat.say("m1", "hello", opening_step="brainstorm")
    save_ai(chat, working_notes="words")
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": PLAN, "pending_action": ASK})
    step = {"mode": "move", "epoch": 1, "writer_id": chat.writer, "seq": 1}
    carried(chat, other, include=["ai_states", "agent_state", "messages", "opening_step"], **step)
    assert (other.texts(), other.read()["session"]["opening_step"]) == (["hello"], "brainstorm")
    assert other.get("agent-state").json()["plan"] == PLAN
    assert (chat.texts(), chat.read()["session"]["opening_step"]) == ([], "")
    assert chat.get("agent-state").status_code == chat.get("ai-states/claude").status_code == 404
    assert chat.undo(of=1, epoch=2)["restored"] == 1
    assert chat.api.post(f"/sessions/{chat.id}/ai-states/claude/history/1/restore").json()["working_notes"] == "words"
    assert chat.api.post(f"/sessions/{chat.id}/agent-state/history/1/restore").json()["plan"] == PLAN


def test_an_open_question_moves_and_is_answered_in_one_place(chat: Chat, other: Chat) -> None:
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"pending_action": ASK})
    step = {"mode": "move", "epoch": 1, "writer_id": chat.writer, "seq": 1}
    carried(chat, other, include=["agent_state"], **step)
    old, new = (f"/sessions/{each.id}/agent-state/pending-action/a1" for each in (chat, other))
    gone = chat.api.get(old).json()
    assert (gone["status"], gone["moved_to"]) == ("expired", other.id)
    assert refusal(chat.api.post(f"{old}/resolve", {"decision": "approve"})) == (410, "action_expired")
    assert chat.api.post(f"{new}/resolve", {"decision": "approve"}).status_code == 200


def test_an_answer_comes_along_and_is_not_asked_again(chat: Chat, other: Chat) -> None:
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"pending_action": ASK})
    chat.api.post(f"/sessions/{chat.id}/agent-state/pending-action/a1/resolve", {"decision": "reject"})
    carried(chat, other, include=["agent_state"])
    there = f"/sessions/{other.id}/agent-state/pending-action/a1"
    assert chat.api.get(there).json()["resolution"]["decision"] == "reject"
    assert refusal(chat.api.post(f"{there}/resolve", {"decision": "approve"})) == (409, "already_resolved")


def test_agent_states_merge_field_by_field_and_the_open_question_stays(chat: Chat, other: Chat) -> None:
    other.api.put(f"/sessions/{other.id}/agent-state", {"context": "old", "pr_data": 1, "pending_action": ASK})
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"context": "new", "plan": PLAN, "pending_action": {**ASK, "id": "a2"}})
    chat.api.post(f"/sessions/{chat.id}/agent-state/pending-action/a2/resolve", {"decision": "approve"})
    carried(chat, other, include=["agent_state"], on_conflict="merge")
    merged = other.get("agent-state").json()
    assert (merged["context"], merged["pr_data"], merged["plan"]) == ("new", 1, PLAN)
    assert merged["pending_action"] == ASK


def test_a_merge_leaves_the_target_its_opening_step(chat: Chat, other: Chat) -> None:
    chat.ops(opening_step="brainstorm")
    other.ops(opening_step="plan")
    assert carried(chat, other, include=["opening_step"], on_conflict="merge")["carried"][0]["how"] == "kept"
    assert other.read()["session"]["opening_step"] == "plan"
    answer = carried(chat, other, include=["opening_step"], on_conflict="overwrite")
    assert answer["replaced"] == [{"kind": "opening_step", "value": "plan"}]
    assert other.read()["session"]["opening_step"] == "brainstorm"


@pytest.mark.parametrize("place", ["session", "project"])
@pytest.mark.parametrize("on_conflict", ["overwrite", "merge"])
def test_a_dry_run_tells_what_would_happen_and_does_nothing(chat: Chat, other: Chat, place: str, on_conflict: str) -> None:
    for each in (chat, other):
        save_ai(each, working_notes=each.project, todos=[todo(each.project)])
        each.api.put(f"/sessions/{each.id}/agent-state", {"context": each.project, "last_error": 10**30})
        each.say(each.project, "words", opening_step=each.project[-5:])
    where = {"to_session": other.id} if place == "session" else {"to_project": other.project}
    asked = {
        **where,
        "include": ["ai_states", "agent_state", "messages", "opening_step"],
        "on_conflict": on_conflict,
        "mode": "move",
    }
    before = everything(chat, other)
    plan = carried(chat, None, **asked, dry_run=True)
    assert everything(chat, other) == before
    assert (plan["dry_run"], plan["to_session"]) == (True, other.id if place == "session" else None)
    done = carried(chat, None, **asked, epoch=1, writer_id="w", seq=1)
    assert [{**item, "now": 0, "then": 0} for item in plan["carried"]] == [
        {**item, "now": 0, "then": 0} for item in done["carried"]
    ]
    assert plan["replaced"] == done["replaced"]
    target = Chat(chat.api, session_id=done["to_session"])
    by_kind = {item["kind"]: item for item in plan["carried"]}
    assert by_kind["messages"]["then"]["message_count"] == target.read()["session"]["message_count"]
    assert by_kind["opening_step"]["then"] == target.read()["session"]["opening_step"]
    assert by_kind["ai_state"]["then"]["todos"] == ai(target)["todos"]
    assert by_kind["agent_state"]["then"].items() <= target.get("agent-state").json().items()
    assert (by_kind["ai_state"]["now"] is None) == (place == "project")


def test_both_sides_hear_of_it_without_its_words(chat: Chat, other: Chat) -> None:
    chat.say("m1", "private words")
    save_ai(chat, working_notes="private words")
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": PLAN})
    seen = [len(events_of(each)) for each in (chat, other)]
    step = {"mode": "move", "epoch": 1, "writer_id": chat.writer, "seq": 1}
    carried(chat, other, include=["ai_states", "agent_state", "messages"], **step)
    told, heard = events_of(chat)[seen[0] :], events_of(other)[seen[1] :]
    assert [event["type"] for event in told] == ["AGENT_STATE_SAVED", "SESSION_CLEARED", "AI_STATE_TRANSFERRED"]
    assert [event["type"] for event in heard] == ["AGENT_STATE_SAVED", "SESSION_SAVED", "AI_STATE_TRANSFERRED"]
    assert told[-1]["data"] == heard[-1]["data"] == {
        "from": chat.id, "to": other.id, "mode": "move", "kinds": ["agent_state", "ai_state", "messages"], "ai_ids": ["claude"],
    }  # fmt: skip
    assert heard[1]["rev"] == other.read()["session"]["rev"]
    assert "private words" not in str(told + heard)


def test_a_full_account_is_refused_what_it_lacks_room_for_but_may_look(chat: Chat, other: Chat, settings: Any) -> None:
    chat.say("m1", "x" * 2_000)
    settings.ACCOUNT_BYTES = 3_000
    quotas.forget()
    before = everything(chat, other)
    assert carry(chat, other, include=["messages"], dry_run=True).status_code == 200
    refused = carry(chat, other, include=["messages"])
    assert refusal(refused) == (507, "quota_exceeded")
    assert refused.json()["error"]["details"]["needed"] >= 2_000
    assert everything(chat, other) == before
    settings.ACCOUNT_BYTES = 10_000
    quotas.forget()
    carried(chat, other, include=["messages"])
    assert other.texts() == ["x" * 2_000]
