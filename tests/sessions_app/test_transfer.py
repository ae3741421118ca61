"""Work carried over from one session to another."""

import uuid
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import ChatSession, Event
from tests.chat import Chat
from tests.saves import refusal

pytestmark = pytest.mark.django_db
PLAN = {"title": "Ship", "steps": [{"id": "s1", "title": "Build", "status": "pending"}]}
ASK = {"id": "a1", "kind": "deploy", "payload": {"to": "production"}}


@pytest.fixture
def other(chat: Chat) -> Chat:
    """A session in another project."""
    return Chat(chat.api, project="/home/alice/other")


def todo(content: str, status: str = "pending", **more: Any) -> dict[str, Any]:
    return {"content": content, "status": status, **more}


def save_ai(chat: Chat, ai_id: str = "claude", **fields: Any) -> None:
    assert chat.api.put(f"/sessions/{chat.id}/ai-states/{ai_id}", fields).status_code in {200, 201}


def ai(chat: Chat, ai_id: str = "claude") -> Any:
    return chat.api.get(f"/sessions/{chat.id}/ai-states/{ai_id}").json()


def carry(source: Chat, target: Chat | None = None, **body: Any) -> Any:
    """The raw response."""
    where = {} if target is None else {"to_session": target.id}
    return source.api.post(f"/sessions/{source.id}/transfer", {**where, **body})


def carried(source: Chat, target: Chat | None = None, **body: Any) -> Any:
    answer = carry(source, target, **body)
    assert answer.status_code in {200, 201}, answer.content
    return answer.json()


def everything(*chats: Chat) -> list[bytes]:
    """All that a transfer could change of these sessions, and of how many there are."""
    addresses = ("", "/agent-state", "/ai-states", "/conflicts", "/removed")
    answers = [chat.api.get(f"/sessions/{chat.id}{address}").content for chat in chats for address in addresses]
    return [*answers, str((ChatSession.objects.count(), Event.objects.count())).encode()]


def events_of(chat: Chat) -> list[dict[str, Any]]:
    project = chat.read()["session"]["project_id"]
    items = chat.api.get(f"/projects/{project}/events?since=0&limit=500").json()["items"]
    return [event for event in items if event.get("session") == chat.id]


def test_transfer_between_sessions(chat: Chat, other: Chat) -> None:
    whole: dict[str, Any] = {"todos": [todo("Test", activeForm="Testing")], "working_notes": "Focus", "context_summary": "So far"}
    save_ai(chat, **whole)
    save_ai(chat, "gemini", working_notes="mine")
    answer = carried(chat, other, ai_ids=["claude"])
    assert (answer["to_session"], answer["replaced"]) == (other.id, [])
    assert answer["carried"] == [{"kind": "ai_state", "ai_id": "claude", "how": "added", "rev": 1}]
    there = ai(other)
    assert {name: there[name] for name in whole} == whole
    assert there["transferred_from"] == chat.id
    assert chat.read()["session"]["created_at"] <= there["transferred_at"] <= there["updated_at"]
    assert [item["ai_id"] for item in other.get("ai-states").json()["items"]] == ["claude"]
    assert ai(chat)["rev"] == 1


def test_by_default_every_ai_s_state_is_copied_and_nothing_else(chat: Chat, other: Chat) -> None:
    for name in ("lars", "claude"):
        save_ai(chat, name, working_notes=name)
    chat.say("m1", "stays here", opening_step="brainstorm")
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": PLAN})
    assert [item["ai_id"] for item in carried(chat, other)["carried"]] == ["claude", "lars"]
    read = other.read()
    assert (read["messages"], read["session"]["opening_step"], read["session"]["rev"]) == ([], "", 0)
    assert other.api.head(f"/sessions/{other.id}/agent-state").status_code == 404


def test_what_stands_in_the_way_is_named_and_nothing_is_done(chat: Chat, other: Chat) -> None:
    for each in (chat, other):
        save_ai(each, working_notes=each.project)
        each.api.put(f"/sessions/{each.id}/agent-state", {"context": each.project})
        each.ops(opening_step=each.project[-5:])
    save_ai(chat, "free", working_notes="could go")
    before = everything(chat, other)
    answer = carry(chat, other, include=["ai_states", "agent_state", "opening_step", "messages"])
    assert refusal(answer) == (409, "target_has_state")
    assert answer.json()["error"]["details"]["in_the_way"] == [
        {"kind": "ai_state", "ai_id": "claude", "rev": 1},
        {"kind": "agent_state", "rev": 1},
        {"kind": "opening_step", "value": "other"},
    ]
    assert everything(chat, other) == before


def test_overwrite_and_what_stood_there_stays_in_history(chat: Chat, other: Chat) -> None:
    save_ai(chat, working_notes="new")
    save_ai(other, working_notes="old", todos=[todo("gone")])
    answer = carried(chat, other, on_conflict="overwrite")
    assert answer["replaced"] == [{"kind": "ai_state", "ai_id": "claude", "rev": 1}]
    assert (ai(other)["working_notes"], "todos" in ai(other)) == ("new", False)
    restored = other.api.post(f"/sessions/{other.id}/ai-states/claude/history/1/restore").json()
    assert (restored["working_notes"], restored["todos"]) == ("old", [todo("gone")])


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


def test_merge_unites_todos_appends_notes_and_takes_the_newer_summary(chat: Chat, other: Chat) -> None:
    chat.api.patch(f"/sessions/{chat.id}", {"title": "First try"})
    save_ai(chat, todos=[todo("Write  Tests", "completed"), todo("Sell")], working_notes="from there", context_summary="older")
    save_ai(other, todos=[todo("Build"), todo("write tests")], working_notes="from here", context_summary="newer")
    assert carried(chat, other, on_conflict="merge")["carried"][0]["how"] == "merged"
    merged = ai(other)
    assert [item["content"] for item in merged["todos"]] == ["Build", "write tests", "Sell"]
    assert merged["context_summary"] == "newer"
    here, heading, there = merged["working_notes"].split("\n\n")
    assert (here, there) == ("from here", "from there")
    assert heading.startswith(f"## From session “First try” ({chat.id}), 2")
    save_ai(chat, todos=[todo("write tests", "completed")], context_summary="newest")
    carried(chat, other, on_conflict="merge")
    assert ai(other)["context_summary"] == "newest"
    assert {item["content"]: item["status"] for item in ai(other)["todos"]}["write tests"] == "completed"


def test_a_merge_again_adds_nothing(chat: Chat, other: Chat) -> None:
    save_ai(chat, todos=[todo("a")], working_notes="from there", context_summary="there")
    save_ai(other, todos=[todo("b")], working_notes="from here")
    carried(chat, other, on_conflict="merge")
    first = ai(other)
    assert carried(chat, other, on_conflict="merge")["carried"] == [
        {"kind": "ai_state", "ai_id": "claude", "how": "same", "rev": 2}
    ]
    assert ai(other) == first


def test_a_merge_that_would_be_too_long_is_refused(chat: Chat, other: Chat) -> None:
    for each in (chat, other):
        save_ai(each, working_notes=each.id * 2_000)
    before = everything(chat, other)
    answer = carry(chat, other, on_conflict="merge")
    assert refusal(answer) == (422, "too_much_together")
    assert answer.json()["error"]["details"]["field"] == "working_notes"
    assert everything(chat, other) == before


def test_provenance_is_kept_through_a_chain(chat: Chat, other: Chat) -> None:
    third = Chat(chat.api, project="/home/alice/third")
    save_ai(chat, working_notes="words")
    carried(chat, other)
    second_at = ai(other)["transferred_at"]
    carried(other, third)
    found = ai(third)
    assert found["transferred_from"] == other.id
    assert found["transferred_through"] == [{"from": chat.id, "at": second_at}]
    save_ai(third, working_notes="new words")
    assert ai(third)["transferred_through"] == [{"from": chat.id, "at": second_at}]


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


def test_a_long_session_is_carried_in_as_few_statements_as_a_short_one(chat: Chat, other: Chat) -> None:
    def counted(session: Chat, number: int) -> int:
        with CaptureQueriesContext(connection) as seen:
            assert carried(session, other, include=["messages"])["carried"][0]["added"] == number
        return len(seen)

    other.say("there already", "words")
    short = Chat(chat.api, project="/home/alice/short")
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


def test_the_same_transfer_again_gets_the_same_answer(chat: Chat, other: Chat) -> None:
    save_ai(chat, working_notes="words")
    step = {"mode": "move", "epoch": 1, "writer_id": chat.writer, "seq": 1}
    first = carry(chat, other, **step)
    chat.api.delete(f"/sessions/{other.id}?purge=1")
    again = carry(chat, other, **step)
    assert (again.status_code, again.content, again["Idempotent-Replayed"]) == (200, first.content, "true")
    assert refusal(carry(chat, other, **step, on_conflict="merge")) == (422, "seq_reused")


def test_a_copy_with_a_number_makes_one_session(chat: Chat) -> None:
    answers = [carry(chat, to_project=chat.project, writer_id="w", seq=1).json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert ChatSession.objects.count() == 2


def test_a_move_of_an_epoch_that_is_over_moves_nothing(chat: Chat, other: Chat) -> None:
    save_ai(chat, working_notes="words")
    chat.clear()
    assert refusal(carry(chat, other, mode="move", epoch=1, writer_id="w", seq=1)) == (409, "stale_epoch")
    assert other.get("ai-states").json()["items"] == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"to_session": "SELF"}, 422),
        ({"to_session": "OTHER", "to_project": "/home/alice/other"}, 422),
        ({"to_session": "OTHER", "mode": "move"}, 422),
        ({"to_session": "OTHER", "include": []}, 422),
        ({"to_session": "OTHER", "include": ["memory"]}, 422),
        ({"to_session": "OTHER", "ai_ids": ["nobody"]}, 422),
        ({"to_session": "OTHER", "ai_ids": ["No Name"]}, 422),
        ({"to_session": "OTHER", "on_conflict": "ask"}, 422),
        ({"to_session": "no id"}, 404),
        ({"to_session": str(uuid.uuid4())}, 404),
        ({"to_project": "/home/alice/unknown"}, 404),
    ],
)
def test_what_cannot_be_carried_is_refused(chat: Chat, other: Chat, body: Any, status: int) -> None:
    save_ai(chat, working_notes="words")
    named = {"SELF": chat.id, "OTHER": other.id}
    asked = {name: named.get(value, value) if isinstance(value, str) else value for name, value in body.items()}
    before = everything(chat, other)
    assert carry(chat, None, **asked).status_code == status
    assert everything(chat, other) == before


def test_nothing_goes_to_what_is_somebody_else_s(chat: Chat, api: Any, bob: Any, alice: Any) -> None:
    his = Chat(api(bob), project="/home/bob/shop")
    save_ai(chat, working_notes="words")
    foreign, unknown = (carry(chat, to_session=place) for place in (his.id, str(uuid.uuid4())))
    assert (foreign.status_code, foreign.content) == (404, unknown.content)
    assert carry(chat, to_project=his.project).status_code == 404
    limited = api(alice, project_path=chat.project)
    other = Chat(chat.api, project="/home/alice/other")
    for place in ({"to_session": other.id}, {"to_project": other.project}):
        assert limited.post(f"/sessions/{chat.id}/transfer", place).status_code == 404


def test_a_target_in_the_trash_takes_nothing(chat: Chat, other: Chat) -> None:
    save_ai(chat, working_notes="words")
    chat.api.delete(f"/sessions/{other.id}")
    assert refusal(carry(chat, other)) == (410, "session_deleted")
    assert chat.api.delete(f"/sessions/{chat.id}").status_code == 204
    assert carry(chat, other).status_code == 410
