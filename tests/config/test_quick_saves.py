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
