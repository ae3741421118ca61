"""What a save does before and after its ops: who may, repeated requests, epochs, numbers."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import SaveReceipt
from tests.support.chat import Chat
from tests.support.saves import Writer, refusal, truncate, upsert

pytestmark = pytest.mark.django_db
UNKNOWN = "00000000-0000-4000-8000-000000000000"


def test_a_save_never_creates_a_session(chat: Chat, tab: Writer) -> None:
    lost = Writer(Chat(chat.api, session_id=UNKNOWN))
    assert refusal(lost.send(upsert("m1", "one"))) == (404, "not_found")
    assert refusal(chat.api.get(f"/sessions/{UNKNOWN}")) == (404, "not_found")


def test_anothers_session_answers_like_an_unknown_one(chat: Chat, api: Any, bob: Any) -> None:
    foreign, unknown = (Writer(Chat(api(bob), session_id=found)) for found in (chat.id, UNKNOWN))
    assert foreign.send(upsert("m1", "one")).content == unknown.send(upsert("m1", "one")).content
    assert chat.texts() == []


def test_a_deleted_session_refuses_even_what_it_answered_before(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"), seq=1)
    chat.api.delete(f"/sessions/{chat.id}")
    assert refusal(tab.send(upsert("m1", "one"), seq=1)) == (410, "session_deleted")


def test_an_archived_session_takes_saves(chat: Chat, tab: Writer) -> None:
    chat.api.patch(f"/sessions/{chat.id}", {"archived": True})
    tab.save(upsert("m1", "one"))
    assert chat.texts() == ["one"]


@pytest.mark.parametrize("missing", ["epoch", "writer_id", "seq"])
def test_epoch_writer_and_seq_are_required(chat: Chat, missing: str) -> None:
    body = {"epoch": 1, "writer_id": "page", "seq": 1, "ops": []}
    del body[missing]
    answer = chat.api.post(f"/sessions/{chat.id}/changes", body)
    assert refusal(answer) == (422, "invalid")
    assert answer.json()["error"]["details"]["fields"][0]["field"].endswith(missing)


@pytest.mark.parametrize(
    "wrong",
    [{"epoch": 0}, {"epoch": "1"}, {"epoch": 1.5}, {"seq": 0}, {"seq": -1}, {"seq": True}, {"seq": 2**53}, {"writer_id": ""},
     {"writer_id": "x" * 65}, {"writer_id": 7}, {"base_rev": -1}, {"base_rev": "3"}, {"base_rev": 2**63}, {"ops": {}},
     {"ops": None}, {"opening_step": "x" * 65}, {"opening_step": 4}],
    ids=str,
)  # fmt: skip
def test_wrong_types_are_named_and_nothing_is_saved(chat: Chat, wrong: dict[str, Any]) -> None:
    body = {"epoch": 1, "writer_id": "page", "seq": 1, "ops": [upsert("m1", "one")], **wrong}
    assert refusal(chat.api.post(f"/sessions/{chat.id}/changes", body)) == (422, "invalid")
    assert chat.texts() == []


def test_the_answer_holds_every_list(chat: Chat, tab: Writer) -> None:
    response = tab.send()
    lists = {name: list[Any]() for name in ("applied", "ignored", "conflicts", "rejected", "spared", "dropped", "normalized")}
    answer = response.json()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", answer.pop("saved_at"))
    assert answer == {"session": chat.id, "epoch": 1, "prev_rev": 0, "rev": 0, "redacted": {}, **lists}


def test_an_empty_save_is_fine_and_changes_nothing(chat: Chat, tab: Writer) -> None:
    before = chat.read()
    assert tab.save()["rev"] == 0
    assert chat.read() == before


def test_rev_counts_changes_and_not_requests(chat: Chat, tab: Writer) -> None:
    seen = [tab.save(upsert("m1", text)) for text in ("one", "one", "two")]
    assert [(answer["prev_rev"], answer["rev"]) for answer in seen] == [(0, 1), (1, 1), (1, 2)]
    assert chat.read()["session"]["rev"] == 2


def test_many_ops_are_one_rev(tab: Writer) -> None:
    assert tab.save(*(upsert(f"m{number}", "text") for number in range(20)))["rev"] == 1


def test_the_etag_is_the_sessions(chat: Chat, tab: Writer) -> None:
    etag = tab.send(upsert("m1", "one")).headers["ETag"]
    assert re.fullmatch(r'"\d+\.1\.1"', etag)
    read = chat.api.get(f"/sessions/{chat.id}")
    assert read.headers["ETag"] == etag
    assert chat.api.get(f"/sessions/{chat.id}", **{"If-None-Match": etag}).status_code == 304
    tab.save(upsert("m2", "two"))
    assert chat.api.get(f"/sessions/{chat.id}", **{"If-None-Match": etag}).status_code == 200


def test_the_opening_step_is_saved_with_the_messages(chat: Chat, tab: Writer) -> None:
    assert tab.save(opening_step="brainstorm")["rev"] == 1
    assert tab.save(opening_step="brainstorm")["rev"] == 1
    tab.save(upsert("m1", "one"))
    assert chat.read()["session"]["opening_step"] == "brainstorm"
    tab.save(opening_step="")
    assert chat.read()["session"]["opening_step"] == ""


def test_the_same_request_again_gets_the_same_answer(chat: Chat, tab: Writer) -> None:
    first = tab.send(upsert("m1", "one"), seq=1)
    tab.save(upsert("m1", "two"), seq=2)
    again = tab.send(upsert("m1", "one"), seq=1)
    assert (again.status_code, again.content, again.headers["ETag"]) == (200, first.content, first.headers["ETag"])
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers
    assert chat.texts() == ["two"]


def test_a_body_is_compared_as_json_and_not_as_bytes(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one", metadata={"a": 1, "b": 2}), seq=1)
    body = {"ops": [dict(reversed(upsert("m1", "one", metadata={"b": 2.0, "a": 1}).items()))]}
    again = chat.api.post(f"/sessions/{chat.id}/changes", {**body, "seq": 1, "writer_id": tab.id, "epoch": 1})
    assert again.headers["Idempotent-Replayed"] == "true"


@pytest.mark.parametrize("change", [{"base_rev": 1}, {"opening_step": "x"}, {"epoch": 2}], ids=str)
def test_another_body_under_a_used_seq_is_refused(chat: Chat, tab: Writer, change: dict[str, Any]) -> None:
    tab.save(upsert("m1", "one"), seq=1)
    assert refusal(tab.send(upsert("m1", "one"), **{"seq": 1, **change})) == (422, "seq_reused")
    assert refusal(tab.send(upsert("m1", "two"), seq=1)) == (422, "seq_reused")
    assert chat.texts() == ["one"]


def test_seq_belongs_to_a_writer_and_a_session(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"), seq=1)
    Writer(chat).save(upsert("m2", "two"), seq=1)
    elsewhere = Writer(Chat(chat.api))
    elsewhere.id = tab.id
    elsewhere.save(upsert("m1", "elsewhere"), seq=1)
    assert chat.texts() == ["one", "two"]


@pytest.mark.parametrize("path", ["clear", "undo-clear", "fork"])
def test_one_space_of_seq_for_all_that_a_writer_asks(chat: Chat, tab: Writer, path: str) -> None:
    tab.save(upsert("m1", "one"), seq=1)
    assert refusal(tab.step(path, seq=1)) == (422, "seq_reused")
    put = {"epoch": 1, "writer_id": tab.id, "seq": 1, "messages": [{"id": "m1", "role": "user", "text": "one"}]}
    assert refusal(chat.api.put(f"/sessions/{chat.id}/messages", put)) == (422, "seq_reused")
    assert (chat.texts(), SaveReceipt.objects.count()) == (["one"], 1)


def test_a_clears_seq_is_used_up(chat: Chat, tab: Writer) -> None:
    tab.step("clear", seq=1)
    assert refusal(tab.send(epoch=2, seq=1)) == (422, "seq_reused")


def test_gaps_and_reordering_of_seq_are_fine(chat: Chat, tab: Writer) -> None:
    for seq in (40, 7, 9_007_199_254_740_991, 1):
        tab.save(upsert(f"m{seq}", str(seq)), seq=seq)
    assert len(chat.texts()) == 4


def test_another_epoch_is_refused_and_its_words_are_kept(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"))
    tab.step("clear")
    odd = [upsert("m3", "", role="system"), {"op": ["append"], "id": "m4"}]
    late = tab.send(upsert("m1", "one, edited"), upsert("m2", "two"), *odd, base_rev=1)
    assert refusal(late) == (409, "stale_epoch")
    assert late.json()["error"]["details"]["epoch"] == 2
    assert {copy["text"]: copy["reason"] for copy in chat.conflicts()} == dict.fromkeys(["one, edited", "two"], "stale_epoch")
    session = chat.read()
    assert (session["messages"], session["session"]["rev"]) == ([], 2)


def test_an_epoch_of_the_future_is_no_better(chat: Chat, tab: Writer) -> None:
    """A client of a store that was restored from a backup."""
    assert refusal(tab.send(upsert("m1", "one"), epoch=5)) == (409, "stale_epoch")
    assert [copy["text"] for copy in chat.conflicts()] == ["one"]


def test_a_refused_epoch_is_named_whichever_side_of_the_present_one_it_is_on(chat: Chat, tab: Writer) -> None:
    never = tab.send(upsert("m1", "one"), epoch=99).json()["error"]
    assert "never had an epoch 99: it is in epoch 1." in never["message"]
    assert "its text is kept" in never["message"]
    tab.step("clear")
    over = tab.send(upsert("m2", "two")).json()["error"]
    assert "Epoch 1 is over" in over["message"]
    assert "It is in epoch 2 now." in over["message"]
    assert (over["details"]["epoch"], over["details"]["kept_copies"]) == (2, 1)
    wordless = tab.step("clear", epoch=1).json()["error"]
    assert "kept" not in wordless["message"]


def test_a_late_save_sent_again_makes_no_second_copy(chat: Chat, tab: Writer) -> None:
    tab.step("clear")
    first = tab.send(upsert("m1", "one"), seq=9)
    again = tab.send(upsert("m1", "one"), seq=9)
    assert (again.status_code, again.content, again.headers["Idempotent-Replayed"]) == (409, first.content, "true")
    tab.send(upsert("m1", "one"), seq=10)
    assert len(chat.conflicts()) == 1


def test_a_stale_clear_clears_nothing(chat: Chat, tab: Writer) -> None:
    tab.step("clear")
    tab.save(upsert("m1", "one"), epoch=2)
    assert refusal(tab.step("clear", epoch=1)) == (409, "stale_epoch")
    assert refusal(tab.step("undo-clear", epoch=1)) == (409, "stale_epoch")
    assert chat.texts() == ["one"]


def test_a_key_that_may_only_read_saves_nothing(chat: Chat, api: Any, alice: Any) -> None:
    reader = Writer(Chat(api(alice, scopes=("read",)), session_id=chat.id))
    assert refusal(reader.send(upsert("m1", "one"))) == (403, "missing_scope")
    assert chat.texts() == []


def test_truncates_of_one_request_read_and_name_what_they_spare_once(chat: Chat, tab: Writer) -> None:
    tab.save(*(upsert(f"m{number}", "x") for number in range(20)))
    with CaptureQueriesContext(connection) as queries:
        answer = Writer(chat).save(*[truncate(None)] * 30)
    assert answer["spared"] == [f"m{number}" for number in range(20)]
    assert len([query for query in queries if "position >" in query["sql"]]) == 1
