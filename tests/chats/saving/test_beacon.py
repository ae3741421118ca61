"""Last words of a closing page: the beacon."""

import json
from typing import Any

import pytest
from django.test import Client

from sessions_app.chats.beacon.api import BEACON_BYTES
from tests.support.chat import Chat

pytestmark = pytest.mark.django_db


def beacon(client: Client, chat: Chat, *, origin: str | None = None, **body: Any) -> Any:
    step = {"epoch": 1, "writer_id": "page", "seq": 1, "ops": [{"op": "upsert", "id": "m9", "role": "user", "text": "bye"}]}
    headers = {} if origin is None else {"Origin": origin}
    content = json.dumps({**step, **body})
    return client.post(f"/api/v1/sessions/{chat.id}/flush", content, content_type="text/plain", headers=headers)


@pytest.fixture
def token(chat: Chat) -> str:
    made = chat.post("flush-tokens")
    assert made.status_code == 201
    return str(made.json()["flush_token"])


def test_a_token_writes_and_reads_nothing(chat: Chat, token: str) -> None:
    answer = beacon(Client(), chat, flush_token=token)
    assert (answer.status_code, answer.content) == (204, b"")
    assert chat.texts() == ["bye"]


def test_the_same_beacon_again_is_the_same_save(chat: Chat, token: str) -> None:
    beacon(Client(), chat, flush_token=token)
    step = {"writer_id": "page", "seq": 1, "ops": [{"op": "upsert", "id": "m9", "role": "user", "text": "bye"}]}
    assert chat.post("changes", **step).headers["Idempotent-Replayed"] == "true"


def test_a_late_beacon_keeps_its_words_as_copies(chat: Chat, token: str) -> None:
    chat.clear()
    assert beacon(Client(), chat, flush_token=token).status_code == 204
    assert chat.texts() == []
    assert [copy["text"] for copy in chat.conflicts()] == ["bye"]


def test_a_token_is_for_one_session(chat: Chat, token: str) -> None:
    other = Chat(chat.api)
    assert beacon(Client(), other, flush_token=token).status_code == 401
    assert beacon(Client(), chat, flush_token="made up").status_code == 401
    assert beacon(Client(), chat).status_code == 401


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://testserver:81"])
def test_foreign_origins_are_refused(chat: Chat, token: str, origin: str) -> None:
    assert beacon(Client(), chat, origin=origin, flush_token=token).status_code == 403
    assert chat.texts() == []


def test_without_a_token_it_says_where_one_belongs(chat: Chat) -> None:
    answer = beacon(Client(), chat)
    assert answer.status_code == 401
    assert "`flush_token`" in answer.json()["error"]["message"]


def test_own_origin_is_taken(chat: Chat, token: str) -> None:
    assert beacon(Client(), chat, origin="http://testserver", flush_token=token).status_code == 204


def test_the_cookie_needs_its_csrf_token_in_the_body(chat: Chat, alice: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    assert beacon(client, chat, origin="http://testserver").status_code == 403
    client.cookies["csrftoken"] = "a" * 32
    assert beacon(client, chat, origin="http://testserver", csrf="b" * 32).status_code == 403
    assert beacon(client, chat, origin="https://evil.example", csrf="a" * 32).status_code == 403
    assert beacon(client, chat, origin="http://testserver", csrf="a" * 32).status_code == 204
    assert chat.texts() == ["bye"]


def test_a_beacon_is_small(chat: Chat, token: str) -> None:
    answer = beacon(Client(), chat, flush_token=token, padding="x" * BEACON_BYTES)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


def test_tokens_end_with_their_key(chat: Chat, token: str) -> None:
    from sessions_app.models import ApiKey

    ApiKey.objects.update(revoked_at="2026-01-01T00:00:00Z")
    assert beacon(Client(), chat, flush_token=token).status_code == 401
