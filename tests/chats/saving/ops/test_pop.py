"""A pop takes the newest messages, regardless of their writer, and its answer returns them."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx
import pytest
from django.test import Client

from sessions_app.chats.lifecycle.pruning import prune_in_batches
from sessions_app.models import SaveReceipt
from tests.support.chat import Chat
from tests.support.live_server import LiveServer
from tests.support.saves import Writer, answer_of_ai, delete, pop, truncate, upsert

pytestmark = pytest.mark.django_db


def ids(popped: list[Any]) -> list[str]:
    return [message["id"] for message in popped]


def test_it_returns_what_it_removed_as_it_was_read(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"), upsert("m2", "two"), answer_of_ai("m3", "three", parts=[{"type": "x"}], raw=2**70, format="f"))
    read = chat.read()["messages"]
    answer = Writer(chat).save(pop(2))
    assert answer["popped"] == read[1:]
    assert answer["applied"] == [
        {"id": "m2", "ver": 2, "removed": "deleted"},
        {"id": "m3", "ver": 2, "removed": "deleted"},
    ]
    assert (answer["rev"], chat.texts(), chat.read()["session"]["message_count"]) == (2, ["one"], 1)
    assert ids(chat.removed()) in (["m2", "m3"], ["m3", "m2"])
    assert chat.get("messages?since_rev=1").json()["removed"] == ["m2", "m3"]


def test_what_fills_an_answer_exactly_is_taken(chat: Chat, tab: Writer, settings: Any) -> None:
    tab.save(upsert("m1", "one"), upsert("m2", "twenty"), upsert("m3", "three"))
    settings.WINDOW_BYTES = len("twenty" + "three")
    assert ids(tab.save(pop(3))["popped"]) == ["m2", "m3"]


def test_of_an_empty_session_it_takes_nothing(chat: Chat, tab: Writer) -> None:
    answer = tab.save(pop(500))
    assert (answer["popped"], answer["applied"], answer["rev"]) == ([], [], 0)
    assert "popped" not in tab.save(upsert("m1", "one"))


def test_without_a_number_it_takes_one(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"), upsert("m2", "two"))
    assert ids(tab.save({"op": "pop"})["popped"]) == ["m2"]


def test_it_takes_what_the_ops_before_it_left(chat: Chat, tab: Writer) -> None:
    tab.save(*(upsert(f"m{number}", str(number)) for number in range(6)))
    ops = [delete("m5"), upsert("new", "new"), pop(2), upsert("m3", "edited"), pop(), truncate("m0"), upsert("m1", "back"), pop()]
    assert [(m["id"], m["text"]) for m in tab.save(*ops)["popped"]] == [
        ("m4", "4"),
        ("new", "new"),
        ("m3", "edited"),
        ("m1", "back"),
    ]
    assert chat.texts() == ["0"]


def test_a_popped_message_stays_removed(chat: Chat, tab: Writer) -> None:
    tab.save(answer_of_ai("m1", "one", status="streaming"))
    assert ids(Writer(chat).save(pop())["popped"]) == ["m1"]
    assert [entry["reason"] for entry in tab.save(answer_of_ai("m1", "one and more"))["ignored"]] == ["removed"]
    assert [entry["reason"] for entry in tab.save(pop(), upsert("m1", "else"))["ignored"]] == ["removed"]
    assert (chat.texts(), [copy["text"] for copy in chat.conflicts()]) == ([], ["else"])


@pytest.mark.parametrize("count", [0, -1, 501, 10**30, True, "1", 1.0, None, [], {}])
def test_another_number_is_rejected_and_takes_nothing(chat: Chat, tab: Writer, count: Any) -> None:
    tab.save(upsert("m1", "one"))
    answer = tab.save(pop(count), {**pop(), "if_ver": 1}, upsert("m2", "two"))
    assert [(entry["index"], entry["reason"]) for entry in answer["rejected"]] == [(0, "bad_n"), (1, "unknown_field")]
    assert ("popped" in answer, chat.texts()) == (False, ["one", "two"])


def test_a_retry_takes_nothing_more(chat: Chat, tab: Writer) -> None:
    tab.save(*(upsert(f"m{number}", str(number)) for number in range(5)))
    first = tab.send(pop(2), seq=7)
    tab.save(upsert("later", "later"))
    again = tab.send(pop(2), seq=7)
    assert (again.content, again["Idempotent-Replayed"]) == (first.content, "true")
    assert tab.send(pop(3), seq=7).status_code == 422
    assert chat.texts() == ["0", "1", "2", "later"]


def test_one_request_takes_no_more_than_a_window_has_bytes(chat: Chat, tab: Writer, settings: Any) -> None:
    settings.WINDOW_BYTES = 1000
    for number in range(6):
        tab.save(upsert(f"m{number}", "x" * 400))
    assert ids(tab.save(pop(500))["popped"]) == ["m4", "m5"]
    assert ids(tab.save(pop(), pop(), pop())["popped"]) == ["m3", "m2"]
    tab.save(upsert("m1", "x" * 5000))
    assert ids(tab.save(pop(2), pop(2))["popped"]) == ["m1"]
    assert ids(tab.save(pop(2))["popped"]) == ["m0"]


def test_one_request_takes_no_more_than_500(chat: Chat, tab: Writer) -> None:
    for start in (0, 300):
        tab.save(*(upsert(f"m{number}", "x") for number in range(start, start + 300)))
    answer = tab.save(pop(300), pop(300))
    assert (len(answer["popped"]), len(set(ids(answer["popped"]))), len(chat.texts())) == (500, 500, 100)


def test_a_beacon_takes_nothing_and_saves_the_rest(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"))
    token = chat.post("flush-tokens").json()["flush_token"]
    body = {"epoch": 1, "writer_id": "w", "seq": 1, "ops": [pop(), upsert("m2", "two")], "flush_token": token}
    sent = Client().generic("POST", f"/api/v1/sessions/{chat.id}/flush", json.dumps(body), content_type="text/plain")
    assert (sent.status_code, chat.texts()) == (204, ["one", "two"])
    repeated = chat.api.post(f"/sessions/{chat.id}/changes", body).json()
    assert [entry["reason"] for entry in repeated["rejected"]] == ["pop_in_beacon"]


def test_receipts_with_messages_are_pruned_by_their_bytes(chat: Chat, tab: Writer) -> None:
    for number in range(3):
        tab.save(upsert(f"m{number}", "x" * 90_000, metadata="y" * 900_000))
        tab.save(pop())
    for receipt in SaveReceipt.objects.all():
        SaveReceipt.objects.filter(id=receipt.id).update(created_at=receipt.created_at - timedelta(hours=25))
    kinds = [kind for kind, _ in prune_in_batches()]
    assert kinds.count("receipts") > 1
    assert not SaveReceipt.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_pops_at_once_take_different_messages_beside_a_stream(server: LiveServer, api: Any, alice: Any) -> None:
    """Six poppers and a stream: every message is taken once, by one of them."""
    chat = Chat(api(alice))
    for start in range(3):
        chat.ops(*(upsert(f"m{start}-{number}", "x") for number in range(8)))
    headers = {"Authorization": f"Bearer {chat.api.secret}"}
    address = f"{server.url}/api/v1/sessions/{chat.id}/changes"

    def take(writer: int) -> list[str]:
        found = list[str]()
        with httpx.Client(headers=headers, timeout=60) as client:
            for seq in range(1, 5):
                body = {"epoch": 1, "writer_id": f"w{writer}", "seq": seq, "ops": [pop()]}
                answers = [client.post(address, json=body) for _ in range(2)]
                assert answers[0].content == answers[1].content, answers
                found += ids(answers[0].json()["popped"])
        return found

    def stream(_: int) -> list[str]:
        with httpx.Client(headers=headers, timeout=60) as client:
            for seq in range(1, 13):
                ops = [answer_of_ai("s", "word " * seq, status="streaming")]
                answer = client.post(address, json={"epoch": 1, "writer_id": "stream", "seq": seq, "ops": ops})
                assert answer.status_code == 200, answer.content
        return []

    with ThreadPoolExecutor(7) as pool:
        streaming = pool.submit(stream, 0)
        taken = [message_id for found in pool.map(take, range(6)) for message_id in found]
        streaming.result()
    left = [message["id"] for message in chat.read()["messages"]]
    assert len(taken) == len(set(taken)) == 24
    assert sorted([*taken, *left]) == sorted([*(f"m{start}-{number}" for start in range(3) for number in range(8)), "s"])
    held = [item["text"] for item in (*chat.removed(), *chat.read()["messages"]) if item["id"] == "s"]
    assert held == ["word " * 12]


def test_one_is_taken_where_the_save_has_removed_the_newest(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"), upsert("m2", "two"), upsert("m3", "three"))
    assert ids(tab.save(delete("m3"), pop())["popped"]) == ["m2"]


def test_one_is_taken_where_others_were_read_but_not_changed(chat: Chat, tab: Writer) -> None:
    seen = tab.save(upsert("m1", "one"), upsert("m2", "two"))["rev"]
    tab.save(upsert("m1", "one, edited"), base_rev=seen)
    answer = Writer(chat).save(upsert("m1", "one, edited by another"), pop(), base_rev=seen)
    assert [conflict["id"] for conflict in answer["conflicts"]] == ["m1"]
    assert ids(answer["popped"]) == ["m2"]


def test_one_is_taken_where_a_removed_one_was_newer(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m1", "one"), upsert("m2", "two"))
    tab.save(delete("m2"))
    assert ids(tab.save(delete("m2"), pop())["popped"]) == ["m1"]
