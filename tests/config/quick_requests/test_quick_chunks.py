"""Chunks that are appended without Django get the answer that Django would have given, and every refusal is Django's."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.contrib.auth.models import User

from config.http.quick.chunks import QuickChunks
from generation_app.streams.chunk_batches import Append, append_together
from generation_app.streams.queries import chunks_from, stream_uuid
from sessions_app.accounts import api_keys
from sessions_app.core.callers import caller_of_user
from sessions_app.models import ApiKey
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

OF_THIS_ANSWER = {"x-request-id", "date", "content-length"}
COOKIE = {"Cookie": "a=b"}
PRODUCERS, REQUESTS = 6, 15


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each request: was it answered without Django?"""
    told: list[bool] = []
    run = QuickChunks.run

    def watched(self: QuickChunks, requests: Any) -> Any:
        outcomes = run(self, requests)
        told.extend(outcome is not None for outcome in outcomes)
        return outcomes

    monkeypatch.setattr(QuickChunks, "run", watched)
    return told


@pytest.fixture
def client(server: LiveServer, alice: User) -> Iterator[httpx.Client]:
    secret = api_keys.create_key(caller=caller_of_user(alice)).secret
    with httpx.Client(base_url=f"{server.url}/api/v1/", headers={"Authorization": f"Bearer {secret}"}, timeout=60) as client:
        yield client


@pytest.fixture
def stream(client: httpx.Client, api: Callable[..., Any], alice: User, quick: list[bool]) -> str:
    """One with a chunk: the server has seen a request of this kind."""
    made = begin(client, Chat(api(alice)))
    assert append(client, made, 0, "first").status_code == 200
    quick.clear()
    return made


def begin(client: httpx.Client, chat: Chat, message: str = "m1") -> str:
    answer = client.post(f"sessions/{chat.id}/streams", json={"message": message})
    assert answer.status_code == 201
    return str(answer.json()["stream"])


def append(client: httpx.Client, stream: str, offset: int, *chunks: Any, **more: Any) -> httpx.Response:
    return client.post(f"streams/{stream}/chunks", json={"offset": offset, "chunks": list(chunks)}, **more)


def headers_of(answer: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name not in OF_THIS_ANSWER}


def stored(stream: str) -> list[str]:
    return chunks_from(stream_uuid(stream), 0)


def test_the_answer_is_the_one_that_django_gives(client: httpx.Client, stream: str, quick: list[bool]) -> None:
    quickly = append(client, stream, 1, "é\n", {"type": "data-x", "n": 1})
    by_django = append(client, stream, 3, "z", headers=COOKIE)
    assert quick == [True, False]
    assert quickly.json() == {"stream": stream, "offset": 3}
    assert by_django.json() == {"stream": stream, "offset": 4}
    assert headers_of(quickly) == headers_of(by_django)
    assert stored(stream) == ['"first"', '"é\\n"', '{"type":"data-x","n":1}', '"z"']


def test_what_is_not_simply_new_gets_django_s_answer(client: httpx.Client, stream: str, quick: list[bool]) -> None:
    assert append(client, stream, 0, "first").json()["offset"] == 1
    assert append(client, stream, 0, "first", "second").json()["offset"] == 2
    assert append(client, stream, 0, "other").json()["error"]["code"] == "offset_conflict"
    assert append(client, stream, 7, "x").json()["error"]["details"] == {"offset": 2}
    assert append(client, stream, 2).json()["offset"] == 2
    assert append(client, stream, 2, "x" * 70_000).status_code == 413
    assert append(client, stream, 2, 7).status_code == 422
    assert client.post(f"streams/{stream}/chunks", content=b"{").status_code == 400
    assert client.post(f"streams/{stream}/end", json={}).status_code == 200
    assert append(client, stream, 2, "late").json()["error"]["code"] == "stream_ended"
    assert append(client, "no-id", 0, "x").status_code == 404
    assert not any(quick)
    assert stored(stream) == ['"first"', '"second"']


def test_a_stream_has_at_most_its_bytes(client: httpx.Client, stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "STREAM_BYTES", 18)
    assert append(client, stream, 1, "1234567890").status_code == 413
    assert append(client, stream, 1, "12345678").status_code == 200
    assert stored(stream) == ['"first"', '"12345678"']


def test_only_its_user_s_keys_append(client: httpx.Client, stream: str, alice: User, bob: User, quick: list[bool]) -> None:
    keys = {
        "bob": (api_keys.create_key(caller=caller_of_user(bob)).secret, 404),
        "limited": (api_keys.create_key(caller=caller_of_user(alice), project_path="/home/alice/other").secret, 404),
        "reader": (api_keys.create_key(caller=caller_of_user(alice), scopes=("read",)).secret, 403),
    }
    for secret, status in keys.values():
        answer = append(client, stream, 1, "x", headers={"Authorization": f"Bearer {secret}"})
        assert answer.status_code == status
    ApiKey.objects.filter(user=alice).update(revoked_at=ApiKey.objects.first().created_at)  # type: ignore[union-attr]
    assert append(client, stream, 1, "x").status_code == 401
    assert not any(quick)
    assert stored(stream) == ['"first"']


def test_one_batch_takes_one_request_of_a_stream(client: httpx.Client, stream: str, alice: User, api: Callable[..., Any]) -> None:
    other = begin(client, Chat(api(alice)), "m2")
    caller = caller_of_user(alice)
    asked = [
        Append(caller, stream_uuid(name), offset, [f'"{text}"'])
        for name, offset, text in ((stream, 1, "a"), (other, 0, "b"), (stream, 2, "c"), (other, 5, "gap"))
    ]
    assert append_together(asked) == [2, 1, None, None]
    assert (stored(stream), stored(other)) == (['"first"', '"a"'], ['"b"'])
    assert append_together([]) == []


def test_chunks_of_many_producers_are_all_stored_in_order(
    client: httpx.Client, stream: str, api: Callable[..., Any], alice: User, quick: list[bool]
) -> None:
    chat = Chat(api(alice))
    streams = [begin(client, chat, f"m{number}") for number in range(PRODUCERS)]

    def produce(name: str) -> None:
        for number in range(REQUESTS):
            assert append(client, name, 2 * number, f"{number}", {"n": number}).json()["offset"] == 2 * number + 2

    with ThreadPoolExecutor(PRODUCERS) as producers:
        list(producers.map(produce, streams))
    assert all(quick)
    for name in streams:
        assert stored(name) == [text for number in range(REQUESTS) for text in (f'"{number}"', f'{{"n":{number}}}')]
