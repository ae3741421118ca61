"""What a save may do besides messages: depend on the session's rev, change its title."""

import json
import uuid
from datetime import timedelta
from typing import Any

import pytest

from sessions_app.models import ChatSession, Event, SaveReceipt
from sessions_app.models.times import now
from tests.support.chat import Chat
from tests.support.saves import Op, Writer, answer_of_ai, refusal, upsert

pytestmark = pytest.mark.django_db
SAVE_SHA256 = "da40a7572680522cb9e944c6772e83904d97dae9eee7d8d8a2a4778f0286e238"
WHOLE_SHA256 = "65b03a409374e10e18b0256d4ea999de66c9f3b1639e7f1d8ac326710b689477"
STEP: Op = {"epoch": 1, "writer_id": "w", "seq": 1}


def events(chat: Chat) -> list[tuple[str, int | None]]:
    """Of the chat's session: type and rev."""
    found = Event.objects.filter(session_id=uuid.UUID(chat.id)).order_by("event_seq")
    return [(event.type, json.loads(event.frame).get("rev")) for event in found]


# if_rev


def test_nothing_is_done_at_another_rev(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"), if_rev=0)
    refused = tab.send(upsert("m2", "two"), if_rev=0, opening_step="x", session={"title": "y"})
    assert refusal(refused) == (412, "rev_changed")
    assert refused.json()["error"]["details"] == {"rev": 1, "epoch": 1}
    assert (chat.texts(), chat.conflicts(), chat.read()["session"]["title"]) == (["one"], [], "")
    assert SaveReceipt.objects.count() == 1
    assert tab.save(upsert("m2", "two"), if_rev=1)["rev"] == 2


def test_a_retry_of_what_was_applied_is_answered_as_before(chat: Chat, tab: Writer) -> None:
    first, again = (tab.send(upsert("m1", "one"), if_rev=0, seq=1) for _ in range(2))
    assert (again.status_code, again.content, again["Idempotent-Replayed"]) == (200, first.content, "true")
    # Another condition, or none, is another request.
    assert refusal(tab.send(upsert("m1", "one"), if_rev=1, seq=1)) == (422, "seq_reused")
    assert refusal(tab.send(upsert("m1", "one"), seq=1)) == (422, "seq_reused")


def test_what_was_refused_may_be_sent_again_under_its_number(chat: Chat, tab: Writer) -> None:
    assert tab.send(upsert("m1", "one"), if_rev=5, seq=1).status_code == 412
    assert tab.save(upsert("m1", "one"), if_rev=0, seq=1)["rev"] == 1


def test_an_ended_epoch_is_another_rev(chat: Chat, tab: Writer) -> None:
    chat.clear()
    assert refusal(tab.send(upsert("m1", "one"), if_rev=0)) == (412, "rev_changed")
    assert refusal(tab.send(upsert("m1", "one"), if_rev=1)) == (409, "stale_epoch")


def test_the_whole_session_too(chat: Chat) -> None:
    def put(seq: int, if_rev: Any) -> Any:
        messages = [{"id": "m1", "role": "user", "text": "one"}]
        return chat.api.put(f"/sessions/{chat.id}/messages", {**STEP, "seq": seq, "messages": messages, "if_rev": if_rev})

    assert refusal(put(1, 1)) == (412, "rev_changed")
    first = put(1, 0)
    assert (first.status_code, put(1, 0).content, put(1, 1).status_code) == (200, first.content, 422)
    assert refusal(put(2, "1")) == (422, "invalid")


@pytest.mark.parametrize("if_rev", [-1, 10**30, True, "1", 1.5, [], {}])
def test_a_wrong_rev_is_refused(chat: Chat, tab: Writer, if_rev: Any) -> None:
    assert refusal(tab.send(upsert("m1", "one"), if_rev=if_rev)) == (422, "invalid")


# atomic


def test_with_atomic_an_invalid_op_refuses_the_others(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"))
    another = Writer(chat)
    ops = [upsert("m1", "other words"), upsert("m2", "two"), {"op": "pop", "n": 0}, {"op": "patch", "id": "m9", "text": "x"}]
    refused = another.send(*ops, atomic=True, opening_step="x", session={"title": "y"}, seq=1)
    error = refused.json()["error"]
    assert refusal(refused) == (422, "rejected")
    assert [(each["id"], each["index"], each["reason"]) for each in error["details"]["rejected"]] == [
        (None, 2, "bad_n"),
        ("m9", 3, "unknown_message"),
    ]
    assert error["message"].startswith("Nothing was saved. ")
    assert error["message"].endswith(" 1 more in the details.")
    # Nor is a copy kept of what is a conflict: its sender knows that nothing was saved.
    assert (chat.texts(), chat.conflicts(), events(chat)[1:]) == (["one"], [], [("SESSION_SAVED", 1)])
    session = chat.read()["session"]
    assert (session["rev"], session["title"], session["opening_step"], session["message_count"]) == (1, "", "", 1)
    # Its number is free.
    assert another.save(*ops[1:2], atomic=True, seq=1)["rev"] == 2


def test_with_atomic_a_head_that_is_unknown_refuses_all(chat: Chat, tab: Writer) -> None:
    branch = [upsert("m1", "one"), {**upsert("m2", "two"), "parent_id": None}]
    assert refusal(tab.send(*branch, atomic=True, session={"head": "m9"})) == (422, "rejected")
    assert (chat.texts(), chat.read()["session"]["message_count"]) == ([], 0)
    assert tab.save(*branch, atomic=True, session={"head": "m1"})["head"] == "m1"


def test_conflicts_do_not_refuse_an_atomic_save(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"))
    another = Writer(chat)
    answer = another.save(upsert("m1", "other words"), upsert("m2", "two"), atomic=True)
    assert ([each["id"] for each in answer["conflicts"]], chat.texts()) == (["m1"], ["one", "two"])


def test_an_atomic_save_creates_no_session_in_vain(new: Chat) -> None:
    body = {**STEP, "create": {"project": new.project}, "atomic": True}
    address = f"/sessions/{new.id}/changes"
    assert refusal(new.api.post(address, {**body, "ops": [upsert("m1", "one"), {"op": "pop", "n": 0}]})) == (422, "rejected")
    assert new.api.get(f"/sessions/{new.id}").status_code == 404
    assert new.api.post(address, {**body, "ops": [upsert("m1", "one")]}).json()["rev"] == 1


def test_a_whole_session_is_atomic_too(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"))
    messages = [{"id": "m2", "role": "user", "text": "two"}, {"id": "m3", "role": "nobody", "text": "three"}]
    body = {**STEP, "messages": messages, "atomic": True}
    address = f"/sessions/{chat.id}/messages?mode=replace"
    assert refusal(chat.api.put(address, body, **{"If-Match": "*"})) == (422, "rejected")
    assert chat.texts() == ["one"]


@pytest.mark.parametrize("atomic", [1, "true", None, []])
def test_a_wrong_atomic_is_refused(tab: Writer, atomic: Any) -> None:
    assert refusal(tab.send(upsert("m1", "one"), atomic=atomic)) == (422, "invalid")


def test_a_request_from_before_these_fields_is_recognised(chat: Chat) -> None:
    """Hashes of bodies without them, as the version before stored them."""
    body = {**STEP, "seq": 7, "base_rev": 3, "ops": [{"op": "delete", "id": "m1"}]}
    assert chat.api.post(f"/sessions/{chat.id}/changes", body).status_code == 200
    body = {**STEP, "seq": 8, "messages": [], "opening_step": "x"}
    address = f"/sessions/{chat.id}/messages?mode=replace"
    assert chat.api.put(address, body, **{"If-Match": "*"}).status_code == 200
    assert list(SaveReceipt.objects.order_by("seq").values_list("body_sha256", flat=True)) == [SAVE_SHA256, WHOLE_SHA256]


# session


def test_a_title_in_the_same_request(chat: Chat, tab: Writer) -> None:
    answer = tab.save(upsert("m1", "one"), session={"title": "About carts"})
    assert (answer["rev"], chat.read()["session"]["title"]) == (1, "About carts")
    assert events(chat)[1:] == [("SESSION_SAVED", 1), ("SESSION_UPDATED", 1)]
    # A title that is there changes nothing.
    assert tab.save(session={"title": "About carts"})["rev"] == 1
    assert tab.save(session={})["rev"] == 1
    assert tab.save(session={"title": ""})["rev"] == 2
    assert events(chat)[3:] == [("SESSION_UPDATED", 2)]


def test_a_title_is_part_of_the_request(chat: Chat, tab: Writer) -> None:
    first = tab.send(session={"title": "one"}, seq=1)
    assert tab.send(session={"title": "one"}, seq=1).content == first.content
    assert refusal(tab.send(session={"title": "two"}, seq=1)) == (422, "seq_reused")


def test_a_title_of_a_save_from_before_a_clear_is_not_set(chat: Chat, tab: Writer) -> None:
    chat.clear()
    assert tab.send(session={"title": "late"}).status_code == 409
    assert chat.read()["session"]["title"] == ""


@pytest.mark.parametrize("given", [{"title": "x" * 201}, {"title": 1}, {"titel": ""}, [], "x", {"archived": True}])
def test_a_wrong_field_of_the_session_is_refused(chat: Chat, tab: Writer, given: Any) -> None:
    assert refusal(tab.send(upsert("m1", "one"), session=given)) == (422, "invalid")
    assert chat.texts() == []


@pytest.fixture
def new(chat: Chat) -> Chat:
    """A session that does not exist yet."""
    return Chat(chat.api, session_id=str(uuid.uuid4()))


def test_all_together_and_once(new: Chat) -> None:
    body = {**STEP, "if_rev": 0, "create": {"project": new.project, "title": "a"}, "session": {"title": "b"}}
    ops = [answer_of_ai("m1", "one"), {"op": "patch", "id": "m1", "metadata": 1}, {"op": "pop"}]
    answers = [new.api.post(f"/sessions/{new.id}/changes", {**body, "ops": ops}) for _ in range(2)]
    assert answers[0].content == answers[1].content
    assert [message["metadata"] for message in answers[0].json()["popped"]] == [1]
    assert (new.read()["session"]["title"], new.texts()) == ("b", [])
    assert events(new) == [("SESSION_CREATED", 0), ("SESSION_SAVED", 1), ("SESSION_UPDATED", 1)]
    assert now() - ChatSession.objects.get(id=new.id).created_at < timedelta(minutes=1)
