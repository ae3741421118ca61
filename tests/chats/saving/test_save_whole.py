"""Whole-session saves: the same rules message by message, and `?mode=replace`."""

from typing import Any

import pytest

from tests.support.chat import Chat
from tests.support.saves import Writer, refusal, upsert

pytestmark = pytest.mark.django_db


def message(message_id: str, text: str, **more: Any) -> dict[str, Any]:
    return {"id": message_id, "role": "user", "text": text, **more}


class Whole(Writer):
    """A client that sends all its messages each time."""

    def put(self, *messages: Any, if_match: str | None = None, mode: str = "", seq: int | None = None, **body: Any) -> Any:
        step = {"epoch": 1, "writer_id": self.id, "seq": next(self._seq) if seq is None else seq}
        headers = {} if if_match is None else {"If-Match": if_match}
        query = f"?mode={mode}" if mode else ""
        return self.chat.api.put(
            f"/sessions/{self.chat.id}/messages{query}", {**step, "messages": list(messages), **body}, **headers
        )

    def replace(self, *messages: Any, **how: Any) -> Any:
        return self.put(*messages, mode="replace", **how)


@pytest.fixture
def tab(chat: Chat) -> Whole:
    return Whole(chat)


@pytest.fixture
def other(chat: Chat) -> Whole:
    return Whole(chat)


def etag_of(chat: Chat) -> str:
    return str(chat.api.get(f"/sessions/{chat.id}").headers["ETag"])


def test_what_is_left_out_stays(chat: Chat, tab: Whole) -> None:
    tab.put(message("m1", "one"), message("m2", "two"))
    answer = tab.put(message("m2", "two, edited"), message("m3", "three")).json()
    assert [entry["id"] for entry in answer["applied"]] == ["m2", "m3"]
    assert chat.texts() == ["one", "two, edited", "three"]


def test_unchanged_messages_cost_no_rev(tab: Whole) -> None:
    tab.put(message("m1", "one"))
    assert tab.put(message("m1", "one")).json()["rev"] == 1


def test_bad_messages_and_conflicts_are_told_like_those_of_ops(chat: Chat, tab: Whole, other: Whole) -> None:
    tab.put(message("m1", "one"))
    answer = other.put(message("m1", "mine"), message("m2", "x", role="system"), "no object", message("m3", "three")).json()
    assert [entry["id"] for entry in answer["conflicts"]] == ["m1"]
    assert [(entry["index"], entry["reason"]) for entry in answer["rejected"]] == [(1, "bad_role"), (2, "not_an_object")]
    assert chat.texts() == ["one", "three"]


def test_a_message_cannot_smuggle_in_another_op(chat: Chat, tab: Whole) -> None:
    tab.put(message("m1", "one"))
    tab.put(message("m1", "one", op="delete"), {"op": "truncate", "after": None})
    assert chat.texts() == ["one"]


def test_replace_takes_out_what_is_left_out(chat: Chat, tab: Whole) -> None:
    tab.put(message("m1", "one"), message("m2", "two"), message("m3", "three"))
    answer = tab.replace(message("m1", "one"), message("m4", "four"), if_match=etag_of(chat)).json()
    assert chat.texts() == ["one", "four"]
    assert {entry["id"]: entry.get("removed") for entry in answer["applied"]} == {"m4": None, "m2": "replaced", "m3": "replaced"}
    assert {item["id"]: item["reason"] for item in chat.removed()} == {"m2": "replaced", "m3": "replaced"}
    late = Writer(chat).save(upsert("m2", "two"))
    assert late["ignored"][0]["reason"] == "removed"


def test_replace_by_nothing_empties_the_window(chat: Chat, tab: Whole) -> None:
    tab.put(message("m1", "one"))
    tab.replace(if_match=etag_of(chat))
    session = chat.read()
    assert (session["messages"], session["session"]["message_count"]) == ([], 0)


def test_a_rejected_message_is_not_left_out(chat: Chat, tab: Whole) -> None:
    tab.put(message("m1", "one"))
    tab.replace(message("m1", "x", role="system"), if_match=etag_of(chat))
    assert chat.texts() == ["one"]


def test_replace_needs_if_match(chat: Chat, tab: Whole) -> None:
    tab.put(message("m1", "one"))
    assert refusal(tab.replace()) == (428, "precondition_required")
    assert chat.texts() == ["one"]


@pytest.mark.parametrize("if_match", ['"1.1.0"', '"9.1.1"', '"1.2.1"', "1", 'W/"1.1.0"'])
def test_another_version_is_answered_with_what_stands(chat: Chat, tab: Whole, if_match: str) -> None:
    tab.put(message("m1", "one"))
    refused = tab.replace(if_match=if_match)
    assert refusal(refused) == (412, "window_changed")
    details = refused.json()["error"]["details"]
    assert (details["etag"], [found["text"] for found in details["messages"]]) == (etag_of(chat), ["one"])
    assert chat.texts() == ["one"]


@pytest.mark.parametrize("if_match", ["*", '"0.0.0", {}', "{}", "W/{}"])
def test_the_right_version_among_several_is_enough(chat: Chat, tab: Whole, if_match: str) -> None:
    tab.put(message("m1", "one"))
    assert tab.replace(message("m2", "two"), if_match=if_match.replace("{}", etag_of(chat))).status_code == 200
    assert chat.texts() == ["two"]


def test_the_version_of_a_window_that_streams_is_taken(chat: Chat, tab: Whole) -> None:
    tab.put(message("m1", "half", role="assistant", status="streaming"))
    assert tab.replace(if_match=etag_of(chat)).status_code == 200


def test_a_writer_that_names_the_version_has_seen_it(chat: Chat, tab: Whole, other: Whole) -> None:
    """No `base_rev` is needed beside If-Match: what others wrote in that version may be changed and left out."""
    tab.put(message("m1", "one"), message("m2", "two"))
    answer = other.replace(message("m1", "one, edited"), if_match=etag_of(chat)).json()
    assert (answer["conflicts"], answer["spared"]) == ([], [])
    assert chat.texts() == ["one, edited"]


def test_a_star_has_seen_nothing(chat: Chat, tab: Whole, other: Whole) -> None:
    tab.put(message("m1", "one"))
    assert other.replace(if_match="*").json()["spared"] == ["m1"]
    assert chat.texts() == ["one"]


def test_a_repeated_replace_is_answered_before_its_version_is_checked(chat: Chat, tab: Whole) -> None:
    tab.put(message("m1", "one"))
    etag = etag_of(chat)
    first = tab.replace(message("m2", "two"), if_match=etag, seq=9)
    again = tab.replace(message("m2", "two"), if_match=etag, seq=9)
    assert (again.status_code, again.content, again.headers["Idempotent-Replayed"]) == (200, first.content, "true")


def test_a_refused_replace_may_be_tried_again_under_its_seq(chat: Chat, tab: Whole) -> None:
    tab.put(message("m1", "one"))
    assert refusal(tab.replace(message("m2", "two"), if_match='"0.0.0"', seq=9))[0] == 412
    assert tab.replace(message("m2", "two"), if_match=etag_of(chat), seq=9).status_code == 200


def test_merge_and_replace_of_one_body_are_two_requests(chat: Chat, tab: Whole) -> None:
    tab.put(message("m1", "one"), seq=1)
    assert refusal(tab.replace(message("m1", "one"), if_match="*", seq=1)) == (422, "seq_reused")


def test_an_unknown_mode_is_named(tab: Whole) -> None:
    assert refusal(tab.put(mode="erase")) == (422, "invalid")


def test_more_than_500_messages_are_too_many(chat: Chat, tab: Whole) -> None:
    many = [message(f"m{number}", "x") for number in range(501)]
    assert refusal(tab.put(*many)) == (413, "too_large")
    assert tab.put(*many[:500]).status_code == 200
    assert chat.read()["session"]["message_count"] == 500
