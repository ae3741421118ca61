"""Saves that do not go through Django get the answer that Django would have given, and every refusal is Django's."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User

from config.http.quick.saves import QuickSaves
from sessions_app.accounts import api_keys
from sessions_app.core.callers import caller_of_user
from sessions_app.models import ApiKey
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

OF_THIS_ANSWER = {"x-request-id", "date"}
COOKIE = {"Cookie": "a=b"}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each save: was it answered without Django?"""
    told: list[bool] = []
    run = QuickSaves.run

    def watched(self: QuickSaves, requests: Any) -> Any:
        outcomes = run(self, requests)
        told.extend(isinstance(outcome, tuple) for outcome in outcomes)
        return outcomes

    monkeypatch.setattr(QuickSaves, "run", watched)
    return told


@pytest.fixture
def client(server: LiveServer, alice: User) -> Iterator[httpx.Client]:
    secret = api_keys.create_key(caller=caller_of_user(alice)).secret
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {secret}"}, timeout=30) as client:
        yield client


def save(client: httpx.Client, session: str, seq: int, **more: Any) -> httpx.Response:
    ops = [{"op": "upsert", "id": f"m{seq}", "role": "user", "text": "words"}]
    body = {"epoch": 1, "writer_id": "w", "seq": seq, "ops": ops, **more.pop("body", {})}
    return client.post(f"/api/v1/sessions/{session}/changes", json=body, **more)


def headers_of(answer: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name not in OF_THIS_ANSWER}


def test_the_answer_is_the_one_that_django_gives(
    client: httpx.Client, api: Callable[..., Any], alice: User, quick: list[bool]
) -> None:
    chat = Chat(api(alice))
    assert save(client, chat.id, 1).status_code == 200
    second = save(client, chat.id, 2)
    repeated = save(client, chat.id, 2)
    # A cookie makes it Django's.
    by_django = save(client, chat.id, 2, headers=COOKIE)
    late, late_by_django = (save(client, chat.id, 3, body={"epoch": 9}, headers=more) for more in ({}, COOKIE))
    assert quick == [False, True, True, False, True, False]
    assert repeated.content == by_django.content == second.content
    assert headers_of(repeated) == headers_of(by_django)
    assert headers_of(repeated) == {**headers_of(second), "idempotent-replayed": "true"}
    assert (late.status_code, late.content) == (409, late_by_django.content)
    assert headers_of(late) | {"idempotent-replayed": "true"} == headers_of(late_by_django)
    assert len(chat.texts()) == 2


OPS: list[dict[str, Any]] = [
    {"op": "upsert", "id": "a", "role": "assistant", "text": "one", "status": "streaming"},
    {"op": "upsert", "id": "b", "role": "user", "text": "two", "metadata": {"a": 1}},
    {"op": "upsert", "id": "c", "role": "user", "text": "three"},
]
BODIES: list[dict[str, Any]] = [
    {"ops": OPS},
    {"ops": [{"op": "patch", "id": "a", "text": "one, grown"}, {"op": "patch", "id": "b", "metadata": None, "raw": 1.5}]},
    {"ops": [{"op": "patch", "id": "a", "status": "complete"}], "writer_id": "other"},
    {"ops": [{"op": "patch", "id": "a", "text": "else"}], "writer_id": "other", "base_rev": 1},
    {"ops": [{"op": "patch", "id": "z", "text": "x"}, {"op": "pop", "n": 0}, {"op": "pop", "n": True}]},
    {
        "ops": [
            {"op": "pop"},
            {"op": "patch", "id": "c", "text": "late"},
            {"op": "upsert", "id": "d", "role": "user", "text": "4"},
        ]
    },
    {"ops": [{"op": "pop", "n": 2}], "writer_id": "other"},
    {"ops": [{"op": "pop", "n": 2}], "if_rev": 3},
    {"ops": [{"op": "pop", "n": 2}], "if_rev": 4},
    {"ops": [*OPS, {"op": "pop", "n": 0}], "atomic": True},
    {"session": {"title": "About carts"}},
    {"session": {"title": "About carts"}, "opening_step": "x"},
    {"session": {"title": 7}},
    {"create": {"project": "/home/alice/shop", "title": "ignored"}, "ops": OPS},
    {"create": {"project": "/nowhere"}, "ops": OPS},
]
VARYING = {"session", "saved_at", "copy_id", "created_at", "updated_at"}


def plain(value: Any) -> Any:
    """Without what differs from one session, or moment, to the next."""
    if isinstance(value, dict):
        return {name: plain(child) for name, child in value.items() if name not in VARYING}
    return [plain(child) for child in value] if isinstance(value, list) else value


def test_every_operation_has_the_result_that_it_has_in_django(
    client: httpx.Client, api: Callable[..., Any], alice: User, quick: list[bool]
) -> None:
    results = []
    warmed = Chat(api(alice))
    assert save(client, warmed.id, 1).status_code == 200
    for headers in ({}, COOKIE):
        chat = Chat(api(alice))
        told = []
        for seq, body in enumerate(BODIES, start=1):
            more: dict[str, Any] = {"ops": [], **body}
            answer, again = (save(client, chat.id, seq, body=more, headers=headers) for _ in range(2))
            told.append((answer.status_code, plain(answer.json())))
            assert (again.content == answer.content) or answer.status_code in {404, 412, 422}
        read = chat.read()
        results.append((told, plain(read["messages"]), read["session"]["title"], plain(chat.conflicts()), len(chat.removed())))
    assert results[0] == results[1]
    assert [status for status, _ in results[0][0]] == [200, 200, 200, 200, 200, 200, 200, 412, 200, 422, 200, 200, 422, 200, 404]
    by_us = quick[1 : 1 + 2 * len(BODIES)]
    # What is refused is Django's, each time; all else is not.
    refused = [status not in {200, 409} for status, _ in results[0][0] for _ in range(2)]
    assert by_us == [not found for found in refused]
    assert not any(quick[1 + 2 * len(BODIES) :])


def test_a_session_is_created_by_django(client: httpx.Client, api: Callable[..., Any], alice: User, quick: list[bool]) -> None:
    chat = Chat(api(alice))
    assert save(client, chat.id, 1).status_code == 200
    quick.clear()
    own_id, create = str(uuid.uuid4()), {"create": {"project": chat.project}}
    made = save(client, own_id, 1, body=create)
    again = save(client, own_id, 1, body=create)
    more = save(client, own_id, 2, body=create)
    assert [made.status_code, again.status_code, more.status_code] == [200, 200, 200]
    assert (again.content, again.headers["Idempotent-Replayed"]) == (made.content, "true")
    # Tried once, also on PostgreSQL, and quick as soon as it is there.
    assert quick == [False, True, True]
    assert Chat(chat.api, session_id=own_id).texts() == ["words", "words"]


def test_refusals_are_django_s(client: httpx.Client, api: Callable[..., Any], alice: User, bob: User) -> None:
    chat, foreign = Chat(api(alice)), Chat(api(bob), project="/home/bob")
    assert [save(client, chat.id, seq).status_code for seq in (1, 2)] == [200, 200]
    assert save(client, foreign.id, 3).json() == save(client, str(uuid.uuid4()), 3).json()
    assert save(client, foreign.id, 3).status_code == 404
    assert save(client, chat.id, 2, body={"ops": []}).json()["error"]["code"] == "seq_reused"
    assert save(client, chat.id, 3, body={"epoch": "no"}).status_code == 422
    assert client.post(f"/api/v1/sessions/{chat.id}/changes", content=b"{").status_code == 400
    reader = api_keys.create_key(caller=caller_of_user(alice), scopes=("read",)).secret
    assert save(client, chat.id, 3, headers={"Authorization": f"Bearer {reader}"}).status_code == 403
    ApiKey.objects.filter(user=alice).update(revoked_at=ApiKey.objects.first().created_at)  # type: ignore[union-attr]
    assert save(client, chat.id, 3).status_code == 401
