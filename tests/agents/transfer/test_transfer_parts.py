"""Each part of a transfer by itself: what becomes of it on both sides, in which words the answer and the events tell of it."""

from typing import Any

import pytest

from sessions_app.models import ConflictCopy
from tests.support.chat import Chat
from tests.support.saves import refusal
from tests.support.transfers import ASK, PLAN, ai, carried, carry, events_of, save_ai, todo

pytestmark = pytest.mark.django_db


@pytest.fixture
def other(chat: Chat) -> Chat:
    """A session in another project."""
    return Chat(chat.api, project="/home/alice/other")


def moved(source: Chat, target: Chat, **body: Any) -> Any:
    return carried(source, target, **body, mode="move", epoch=1, writer_id="mover", seq=1)


def step_of(chat: Chat) -> str:
    return str(chat.read()["session"]["opening_step"])


def rev_of(chat: Chat) -> int:
    return int(chat.read()["session"]["rev"])


def etag_of(chat: Chat) -> str:
    return str(chat.api.get(f"/sessions/{chat.id}").headers["ETag"])


def told(chat: Chat, act: Any) -> list[dict[str, Any]]:
    """The session's events while `act` runs."""
    before = len(events_of(chat))
    act()
    return events_of(chat)[before:]


@pytest.mark.parametrize(
    ("there", "on_conflict", "how", "left", "arrived"),
    [
        ("", "refuse", "added", "", "brainstorm"),
        ("plan", "overwrite", "replaced", "", "brainstorm"),
        ("brainstorm", "refuse", "same", "", "brainstorm"),
        # What stays where it is, because the target keeps its own, does not leave the source either.
        ("plan", "merge", "kept", "brainstorm", "plan"),
    ],
)
def test_an_opening_step_moves(chat: Chat, other: Chat, there: str, on_conflict: str, how: str, left: str, arrived: str) -> None:
    chat.ops(opening_step="brainstorm")
    if there:
        other.ops(opening_step=there)
    sides = (chat, other)
    before = [(step_of(side), rev_of(side), etag_of(side)) for side in sides]
    answer = moved(chat, other, include=["opening_step"], on_conflict=on_conflict)
    assert answer["carried"] == [{"kind": "opening_step", "how": how}]
    assert (step_of(chat), step_of(other)) == (left, arrived)
    for side, (step, rev, etag) in zip(sides, before, strict=True):
        changed = step_of(side) != step
        assert rev_of(side) == rev + changed
        assert (etag_of(side) != etag) is changed
        assert ("SESSION_UPDATED" in [event["type"] for event in events_of(side)]) is changed


def test_a_copied_opening_step_stays_where_it_was_too(chat: Chat, other: Chat) -> None:
    chat.ops(opening_step="brainstorm")
    rev = rev_of(chat)
    carried(chat, other, include=["opening_step"])
    assert (step_of(chat), rev_of(chat), step_of(other)) == ("brainstorm", rev, "brainstorm")


def test_without_an_opening_step_there_is_none_to_carry(chat: Chat, other: Chat) -> None:
    other.ops(opening_step="plan")
    answer = moved(chat, other, include=["opening_step", "messages", "agent_state", "ai_states"], on_conflict="overwrite")
    assert (answer["carried"], answer["replaced"], step_of(other)) == ([], [], "plan")
    assert events_of(chat)[-1]["type"] != "AI_STATE_TRANSFERRED"


@pytest.mark.parametrize("mode", ["copy", "move"])
def test_both_sides_are_told_how_and_what(chat: Chat, other: Chat, mode: str) -> None:
    for name in ("lars", "claude"):
        save_ai(chat, name, working_notes=name)
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": PLAN})
    step = {"mode": mode, "epoch": 1, "writer_id": "mover", "seq": 1}
    heard = told(other, lambda: carried(chat, other, include=["agent_state", "ai_states"], **step))
    data = {"from": chat.id, "to": other.id, "mode": mode, "kinds": ["agent_state", "ai_state"], "ai_ids": ["claude", "lars"]}
    for side, events in ((other, heard), (chat, events_of(chat))):
        session = side.read()["session"]
        assert events[-1]["data"] == data
        assert (events[-1]["type"], events[-1]["by"]["writer_id"]) == ("AI_STATE_TRANSFERRED", "mover")
        assert (events[-1]["epoch"], events[-1]["rev"]) == (session["epoch"], session["rev"])


def test_without_an_ai_s_state_none_is_named(chat: Chat, other: Chat) -> None:
    chat.say("m1", "hello")
    heard = told(other, lambda: carried(chat, other, include=["messages"]))
    assert (heard[-1]["data"]["kinds"], heard[-1]["data"]["ai_ids"]) == (["messages"], [])


def test_an_agent_state_that_moves_is_told_on_both_sides(chat: Chat, other: Chat) -> None:
    at = f"/sessions/{other.id}/agent-state"
    other.api.put(at, {"context": "old"})
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"context": "new"})
    seen = len(events_of(chat))
    heard = told(other, lambda: moved(chat, other, include=["agent_state"], on_conflict="overwrite"))
    assert [(event["type"], event["data"]) for event in heard[:1]] == [("AGENT_STATE_SAVED", {"state_rev": 2, "deleted": False})]
    assert [(event["type"], event["data"]) for event in events_of(chat)[seen : seen + 1]] == [
        ("AGENT_STATE_SAVED", {"state_rev": 2, "deleted": True})
    ]
    assert other.api.get(at).json()["context"] == "new"
    assert chat.api.get(f"/sessions/{chat.id}/agent-state").status_code == 404


@pytest.mark.parametrize("on_conflict", ["refuse", "overwrite", "merge"])
def test_an_agent_state_that_stands_there_already_changes_nothing(chat: Chat, other: Chat, on_conflict: str) -> None:
    for side in (chat, other):
        side.api.put(f"/sessions/{side.id}/agent-state", {"context": "the same", "plan": PLAN})
    heard = told(other, lambda: carried(chat, other, include=["agent_state"], on_conflict=on_conflict))
    assert [event["type"] for event in heard] == ["AI_STATE_TRANSFERRED"]
    history = other.api.get(f"/sessions/{other.id}/agent-state/history").json()["items"]
    assert (history, other.get("agent-state").json()["rev"]) == ([], 1)


def test_a_merged_agent_state_that_adds_nothing_is_the_same(chat: Chat, other: Chat) -> None:
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"context": "one"})
    other.api.put(f"/sessions/{other.id}/agent-state", {"context": "two", "plan": PLAN})
    assert carried(chat, other, include=["agent_state"], on_conflict="merge")["carried"] == [
        {"kind": "agent_state", "how": "same", "rev": 1}
    ]
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"context": "three"})
    assert carried(chat, other, include=["agent_state"], on_conflict="merge")["carried"] == [
        {"kind": "agent_state", "how": "merged", "rev": 2}
    ]
    assert (other.get("agent-state").json()["context"], other.get("agent-state").json()["plan"]) == ("three", PLAN)


def test_a_copied_question_is_open_on_both_sides(chat: Chat, other: Chat) -> None:
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"pending_action": ASK})
    carried(chat, other, include=["agent_state"])
    for side in (chat, other):
        answer = side.api.post(f"/sessions/{side.id}/agent-state/pending-action/a1/resolve", {"decision": "approve"})
        assert answer.status_code == 200


def test_a_question_that_was_answered_at_the_target_before_stays_answered(chat: Chat, other: Chat) -> None:
    other.api.put(f"/sessions/{other.id}/agent-state", {"pending_action": ASK})
    other.api.post(f"/sessions/{other.id}/agent-state/pending-action/a1/resolve", {"decision": "reject"})
    other.api.delete(f"/sessions/{other.id}/agent-state")
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"pending_action": ASK})
    carried(chat, other, include=["agent_state"])
    assert other.get("agent-state").json()["pending_action"]["resolution"]["decision"] == "reject"


@pytest.mark.parametrize("on_conflict", ["overwrite", "merge"])
def test_an_ai_state_that_says_the_same_is_left_as_it_is(chat: Chat, other: Chat, on_conflict: str) -> None:
    """Where it came from is no difference."""
    save_ai(chat, working_notes="words", todos=[todo("a")])
    carried(chat, other)
    before = ai(other)
    answer = carried(chat, other, on_conflict=on_conflict)
    assert answer == {**answer, "carried": [{"kind": "ai_state", "ai_id": "claude", "how": "same", "rev": 1}], "replaced": []}
    assert ai(other) == before


def test_a_moved_ai_state_leaves_though_the_target_had_it_already(chat: Chat, other: Chat) -> None:
    for side in (chat, other):
        save_ai(side, working_notes="words")
    assert moved(chat, other)["carried"][0]["how"] == "same"
    assert chat.get("ai-states/claude").status_code == 404
    assert ai(other)["working_notes"] == "words"


def test_a_merged_state_came_through_the_stations_of_both(chat: Chat, other: Chat) -> None:
    third = Chat(chat.api, project="/home/alice/third")
    save_ai(third, working_notes="third")
    carried(third, other)
    save_ai(chat, working_notes="first")
    at = ai(other)["transferred_at"]
    carried(chat, other, on_conflict="merge")
    merged = ai(other)
    assert merged["transferred_from"] == chat.id
    assert merged["transferred_through"] == [{"from": third.id, "at": at}]


def test_an_overwritten_state_s_stations_are_gone_with_it(chat: Chat, other: Chat) -> None:
    third = Chat(chat.api, project="/home/alice/third")
    save_ai(third, working_notes="third")
    carried(third, other)
    save_ai(chat, working_notes="first")
    carried(chat, other, on_conflict="overwrite")
    assert (ai(other)["transferred_from"], "transferred_through" in ai(other)) == (chat.id, False)


@pytest.mark.parametrize(("title", "named"), [("", ""), ("Two  words\n", "“Two words” ")])
def test_merged_notes_stand_under_a_heading_that_names_their_session(chat: Chat, other: Chat, title: str, named: str) -> None:
    chat.api.patch(f"/sessions/{chat.id}", {"title": title})
    save_ai(chat, working_notes="there")
    save_ai(other, working_notes="here")
    carried(chat, other, on_conflict="merge")
    merged = ai(other)
    at = merged["transferred_at"]
    assert merged["working_notes"] == f"here\n\n## From session {named}({chat.id}), {at}\n\nthere"


def test_ai_ids_that_are_not_there_are_named_in_order(chat: Chat, other: Chat) -> None:
    save_ai(chat, working_notes="words")
    answer = carry(chat, other, ai_ids=["zoe", "claude", "bob"])
    assert refusal(answer) == (422, "unknown_ai")
    assert answer.json()["error"]["details"] == {"ai_ids": ["bob", "zoe"]}


def test_an_ai_state_that_was_deleted_is_not_carried(chat: Chat, other: Chat) -> None:
    save_ai(chat, working_notes="words")
    chat.api.delete(f"/sessions/{chat.id}/ai-states/claude")
    assert carried(chat, other)["carried"] == []
    assert refusal(carry(chat, other, ai_ids=["claude"])) == (422, "unknown_ai")


def test_messages_that_are_all_there_are_the_same_and_nobody_hears_of_a_save(chat: Chat, other: Chat) -> None:
    for side in (chat, other):
        side.say("m1", "hello")
    heard = told(other, lambda: carried(chat, other, include=["messages"]))
    assert [event["type"] for event in heard] == ["AI_STATE_TRANSFERRED"]
    numbers = {"added": 0, "same": 1, "conflicts": 0, "dropped": 0}
    assert carried(chat, other, include=["messages"])["carried"] == [{"kind": "messages", "how": "same", **numbers}]
    assert rev_of(other) == 1


def test_messages_that_are_all_in_conflict_are_added_as_copies(chat: Chat, other: Chat) -> None:
    chat.say("m1", "there")
    other.say("m1", "here")
    numbers = {"added": 0, "same": 0, "conflicts": 1, "dropped": 0}
    step = {"writer_id": "copier", "seq": 1}
    assert carried(chat, other, include=["messages"], **step)["carried"] == [{"kind": "messages", "how": "added", **numbers}]
    copy = ConflictCopy.objects.get()
    assert (copy.text, copy.writer_id) == ("there", "copier")
    assert other.texts() == ["here"]


def test_moved_messages_clear_their_session(chat: Chat, other: Chat) -> None:
    chat.say("m1", "hello")
    heard = told(chat, lambda: moved(chat, other, include=["messages"]))
    assert [(event["type"], event["data"]) for event in heard[:1]] == [("SESSION_CLEARED", {"of": 1})]
    session = chat.read()["session"]
    assert (session["epoch"], session["message_count"], heard[0]["epoch"]) == (2, 0, 2)
    assert other.texts() == ["hello"]


@pytest.mark.parametrize("filled", [True, False])
def test_a_dry_run_shows_what_the_target_has_and_would_have(chat: Chat, other: Chat, filled: bool) -> None:
    for side in (chat, other) if filled else (chat,):
        save_ai(side, working_notes=side.project)
        side.api.put(f"/sessions/{side.id}/agent-state", {"context": side.project})
        side.say(side.project, "words", opening_step=side.project[-5:])
    included = ["ai_states", "agent_state", "messages", "opening_step"]
    plan = carried(chat, other, include=included, on_conflict="overwrite", dry_run=True)["carried"]
    now, then = ({item["kind"]: item[side] for item in plan} for side in ("now", "then"))
    if filled:
        assert now["ai_state"] == {"working_notes": other.project}
        assert now["agent_state"]["context"] == other.project
    else:
        assert (now["ai_state"], now["agent_state"]) == (None, None)
    assert now["opening_step"] == ("other" if filled else None)
    assert now["messages"] == {"message_count": int(filled)}
    assert then["ai_state"]["working_notes"] == then["agent_state"]["context"] == chat.project
    assert (then["opening_step"], then["messages"]) == ("/shop", {"message_count": int(filled) + 1})
