"""Saves under an `Idempotency-Key`: no writer, no count, and the same request again still gets the same answer."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User

from sessions_app.models import SaveReceipt
from tests.support.chat import Chat
from tests.support.live_server import LiveServer
from tests.support.saves import delete, reasons, refusal, truncate, upsert

pytestmark = pytest.mark.django_db
THREADS, SAVES = 5, 6


def post(chat: Chat, key: str, path: str = "changes", **body: Any) -> Any:
    return chat.api.post(f"/sessions/{chat.id}/{path}", body, **{"Idempotency-Key": key})


def test_a_save_needs_a_key_and_nothing_more(chat: Chat) -> None:
    first = post(chat, "k1", ops=[upsert("m1", "one")])
    assert (first.status_code, first.json()["applied"]) == (200, [{"id": "m1", "ver": 1}])
    assert "Idempotent-Replayed" not in first.headers
    again = post(chat, "k1", ops=[upsert("m1", "one")])
    assert (again.status_code, again.content, again["Idempotent-Replayed"]) == (200, first.content, "true")
    assert chat.texts() == ["one"]


@pytest.mark.parametrize("other", [{"ops": [upsert("m1", "two")]}, {"ops": [upsert("m1", "one")], "base_rev": 1}, {}])
def test_another_body_under_the_same_key_is_refused(chat: Chat, other: dict[str, Any]) -> None:
    post(chat, "k1", ops=[upsert("m1", "one")])
    assert refusal(post(chat, "k1", **other)) == (422, "idempotency_key_reused")
    assert refusal(post(chat, "k1", "clear")) == (422, "idempotency_key_reused")
    assert chat.texts() == ["one"]


def test_a_key_counts_within_its_session(chat: Chat) -> None:
    other = Chat(chat.api)
    post(chat, "k1", ops=[upsert("m1", "here")])
    assert post(other, "k1", ops=[upsert("m1", "there")]).json()["applied"]
    assert (chat.texts(), other.texts()) == (["here"], ["there"])


def test_the_epoch_is_the_present_one_or_the_one_that_is_named(chat: Chat) -> None:
    chat.clear()
    assert refusal(post(chat, "k1", epoch=1, ops=[upsert("m1", "late")])) == (409, "stale_epoch")
    assert [copy["text"] for copy in chat.conflicts()] == ["late"]
    assert post(chat, "k2", ops=[upsert("m1", "one")]).json()["epoch"] == 2
    assert post(chat, "k3", epoch=2, ops=[upsert("m2", "two")]).json()["applied"]
    assert chat.texts() == ["one", "two"]


def test_a_client_without_seq_says_what_it_has_seen(chat: Chat) -> None:
    """Each key writes as somebody else: what it has not seen becomes a conflict, and is spared."""
    post(chat, "k1", ops=[upsert("m1", "one"), upsert("m2", "two")])
    blind = post(chat, "k2", ops=[upsert("m1", "edited"), delete("m2"), truncate(None)]).json()
    assert ([entry["id"] for entry in blind["conflicts"]], blind["spared"]) == (["m1", "m2"], ["m1", "m2"])
    assert (chat.texts(), [copy["text"] for copy in chat.conflicts()]) == (["one", "two"], ["edited"])
    assert len(post(chat, "k3", ops=[upsert("m1", "edited"), delete("m2", if_ver=1)], base_rev=1).json()["applied"]) == 2
    assert chat.texts() == ["edited"]


def test_a_whole_session_and_its_replacement(chat: Chat) -> None:
    def put(key: str, query: str = "", **headers: str) -> Any:
        messages = [{"id": "m1", "role": "user", "text": "one"}]
        return chat.api.put(f"/sessions/{chat.id}/messages{query}", {"messages": messages}, **{"Idempotency-Key": key, **headers})

    first = put("k1")
    assert (first.status_code, put("k1").content) == (200, first.content)
    assert refusal(put("k1", "?mode=replace", **{"If-Match": "*"})) == (422, "idempotency_key_reused")
    etag = chat.api.get(f"/sessions/{chat.id}")["ETag"]
    assert put("k2", "?mode=replace", **{"If-Match": etag}).status_code == 200
    assert put("k2", "?mode=replace", **{"If-Match": '"another"'})["Idempotent-Replayed"] == "true"


def test_clear_and_undo_once_each(chat: Chat) -> None:
    chat.say("m1", "one")
    assert [post(chat, "k1", "clear").json()["epoch"] for _ in range(2)] == [2, 2]
    assert [post(chat, "k2", "undo-clear").json()["restored"] for _ in range(2)] == [1, 1]
    assert chat.texts() == ["one"]


def test_clear_takes_no_word_at_all(chat: Chat) -> None:
    chat.say("m1", "one")
    assert chat.api.post(f"/sessions/{chat.id}/clear", {}).json()["cleared"] == 1
    assert chat.api.post(f"/sessions/{chat.id}/clear").json()["epoch"] == 3
    assert refusal(chat.api.post(f"/sessions/{chat.id}/clear", {"epoch": 2})) == (409, "stale_epoch")
    assert chat.undo(of=1, epoch=3)["restored"] == 1


def test_a_fork_and_a_move_once_each(chat: Chat) -> None:
    chat.say("m1", "one")
    made = [post(chat, "k1", "fork") for _ in range(2)]
    assert made[0].json() == made[1].json()
    move = {"to_session": made[0].json()["id"], "mode": "move", "include": ["messages"]}
    answers = [post(chat, "k2", "transfer", **move) for _ in range(2)]
    assert [(answer.status_code, answer.json()["epoch"]) for answer in answers] == [(200, 2), (200, 2)]
    assert chat.texts() == []


@pytest.mark.parametrize("path", ["changes", "undo-clear", "transfer"])
@pytest.mark.parametrize("told", [{}, {"epoch": 1}, {"epoch": 1, "writer_id": "w"}, {"epoch": 1, "seq": 1}])
def test_what_cannot_be_told_from_another_request_is_refused(chat: Chat, path: str, told: dict[str, Any]) -> None:
    more = {"to_project": chat.project, "mode": "move"} if path == "transfer" else {}
    answer = chat.api.post(f"/sessions/{chat.id}/{path}", {**told, **more})
    missing = [name for name in ("epoch", "writer_id", "seq") if name not in told]
    assert (answer.status_code, [found["field"] for found in answer.json()["error"]["details"]["fields"]]) == (422, missing)
    assert "Idempotency-Key" in answer.json()["error"]["message"]


@pytest.mark.parametrize(("key", "code"), [("", "bad_idempotency_key"), ("k" * 256, "bad_idempotency_key")])
def test_a_key_has_its_length(chat: Chat, key: str, code: str) -> None:
    assert refusal(post(chat, key)) == (422, code)
    assert post(chat, "k" * 255).status_code == 200


def test_a_writer_that_counts_may_send_a_key_too(chat: Chat) -> None:
    """As libraries do by themselves: its own number counts."""
    step: dict[str, Any] = {"epoch": 1, "writer_id": "w", "ops": []}
    assert [post(chat, "k1", **step, seq=seq).status_code for seq in (1, 2)] == [200, 200]
    assert set(SaveReceipt.objects.values_list("writer_id", "seq")) == {("w", 1), ("w", 2)}


@pytest.mark.django_db(transaction=True)
def test_threads_that_share_a_client_lose_nothing(server: LiveServer, api: Callable[..., Any], alice: User) -> None:
    chat = Chat(api(alice))
    headers = {"Authorization": f"Bearer {chat.api.secret}"}
    with httpx.Client(base_url=f"{server.url}/api/v1", headers=headers, timeout=60) as client:

        def say(thread: int) -> list[str]:
            """Every request twice, as after an answer that got lost."""
            found = []
            for number in range(SAVES):
                name = f"{thread}-{number}"
                body = {"ops": [upsert(name, f"said {name}")]}
                for _ in range(2):
                    answer = client.post(f"/sessions/{chat.id}/changes", json=body, headers={"Idempotency-Key": f"key {name}"})
                    found += [name] if answer.json().get("applied") == [{"id": name, "ver": 1}] else [answer.text]
            return found

        with ThreadPoolExecutor(THREADS) as pool:
            answered = [name for names in pool.map(say, range(THREADS)) for name in names]
    names = [f"{thread}-{number}" for thread in range(THREADS) for number in range(SAVES)]
    assert sorted(answered) == sorted(names * 2)
    assert sorted(chat.texts()) == sorted(f"said {name}" for name in names)
    assert reasons(chat.conflicts()) == {}
