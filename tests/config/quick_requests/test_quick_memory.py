"""Writes and reads of memory that do not go through Django get the answer that Django would have given; refusals are Django's."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from config.http.quick.routes import QuickRoutes
from memory_app.checkpoints.content_types import MSGPACK
from sessions_app.accounts import api_keys
from sessions_app.core.callers import caller_of_user
from sessions_app.models import ApiKey
from tests.support.live_server import LiveServer

COOKIE = {"Cookie": "a=b"}
OF_THIS_ANSWER = {"x-request-id", "date", "etag", "content-length"}
GET = {"ops": [{"op": "get", "namespace": ["users", "1"], "key": "k"}]}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each request: was it answered without Django?"""
    told: list[bool] = []
    run = QuickRoutes.run

    def watched(self: QuickRoutes, request: Any, kinds: Any) -> Any:
        answered = run(self, request, kinds)
        told.append(answered is not None)
        return answered

    monkeypatch.setattr(QuickRoutes, "run", watched)
    return told


@pytest.fixture
def client(server: LiveServer, alice: User, quick: list[bool]) -> Iterator[httpx.Client]:
    """In one of her projects, of whose memory the server has seen one request of each kind."""
    secret = api_keys.create_key(caller=caller_of_user(alice)).secret
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {secret}"}, timeout=30) as client:
        project = client.post("/api/v1/projects", json={"path": "/home/alice/shop"}).json()["id"]
        client.base_url = httpx.URL(f"{server.url}/api/v1/projects/{project}/memory/")
        assert client.put("notes/k", json=0).status_code == 201
        assert client.get("notes/k").status_code == client.post("batch", json=GET).status_code == 200
        quick.clear()
        yield client


def headers_of(answer: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name not in OF_THIS_ANSWER}


def test_answers_are_those_that_django_gives(client: httpx.Client, quick: list[bool]) -> None:
    put, by_django = client.put("notes/ü k", json={"n": 1}), client.put("notes/ü k", json={"n": 2}, headers=COOKIE)
    assert (put.status_code, by_django.status_code) == (201, 200)
    assert put.json().keys() == by_django.json().keys()
    assert headers_of(put) == headers_of(by_django)
    for quickly, slowly in (
        (client.get("notes/ü k"), client.get("notes/ü k", headers=COOKIE)),
        (client.post("batch", json=GET), client.post("batch", json=GET, headers=COOKIE)),
    ):
        assert (quickly.status_code, quickly.content) == (slowly.status_code, slowly.content)
        assert headers_of(quickly) == headers_of(slowly)
        assert quickly.headers.get("etag") == slowly.headers.get("etag")
    assert quick == [True, False] * 3


def test_conditions_and_leases_hold_and_their_refusals_are_django_s(client: httpx.Client, quick: list[bool]) -> None:
    first = client.put("notes/n", json=1).headers["etag"]
    assert client.put("notes/n", json=2, headers={"If-Match": first}).status_code == 200
    assert client.put("notes/n", json=3, headers={"If-Match": first}).status_code == 412
    assert client.put("notes/n", json=3, headers={"If-None-Match": "*"}).status_code == 412
    run = client.post(str(client.base_url).replace("/memory/", "/runs"), json={}).json()["run_id"]
    assert client.put("notes/n", json=4).status_code == 423
    assert client.put("notes/n", json=4, headers={"Stillhere-Run": run}).status_code == 200
    assert client.get("notes/n").json()["value"] == 4
    assert quick == [True, True, False, False, False, True, True]


REFUSED = (
    ("PUT", "notes/k", b"NaN", 400),
    ("PUT", f"notes/{'k' * 513}", b"1", 422),
    ("PUT", "errors/history", b"1", 409),
    ("PUT", "notes/k%00", b"1", 422),
    ("GET", "notes/none", b"", 404),
    ("GET", "notes/k?x=1", b"", 422),
    ("POST", "batch", b'{"ops": [{"op": "burn"}]}', 422),
    ("POST", "batch", b"[" * 100_000, 400),
)


def test_what_is_refused_is_left_to_django(client: httpx.Client, subtests: pytest.Subtests) -> None:
    for method, address, body, status in REFUSED:
        with subtests.test(method=method, address=address, body=body[:40]):
            answer = client.request(method, address, content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code == status
            assert answer.json()["error"]["message"]


def test_keys_do_here_what_they_do_there(client: httpx.Client, alice: User, bob: User, quick: list[bool]) -> None:
    def with_key(user: User, **key: Any) -> dict[str, str]:
        return {"Authorization": f"Bearer {api_keys.create_key(caller=caller_of_user(user), **key).secret}"}

    for headers, statuses in (
        (with_key(alice, scopes=["read"]), (403, 200, 403)),
        (with_key(alice, scopes=["write"]), (200, 403, 200)),
        (with_key(bob), (404, 404, 404)),
        (with_key(alice, project_path="another"), (404, 404, 404)),
    ):
        answers = (
            client.put("notes/k", json=1, headers=headers),
            client.get("notes/k", headers=headers),
            client.post("batch", json=GET, headers=headers),
        )
        assert tuple(answer.status_code for answer in answers) == statuses
    ApiKey.objects.update(revoked_at=timezone.now())
    assert client.get("notes/k").status_code == 401


def test_writes_of_many_clients_are_all_stored(client: httpx.Client) -> None:
    def write(number: int) -> int:
        return client.put(f"notes/of-{number}", json=number).status_code

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(write, range(64))) == {201}
    found = client.get("notes", params={"limit": 500}).json()["items"]
    assert len(found) == 65


def test_checkpoints_are_answered_as_django_does(client: httpx.Client, quick: list[bool]) -> None:
    thread = str(client.base_url).replace("/memory/", "/threads/a~1%20ü/checkpoints")
    typed = {"type": "json", "base64": "e30="}
    body = {"checkpoint": typed, "versions": {"a": "1"}, "values": {"a": typed}}
    writes = {"writes": [{"idx": 0, "channel": "a", **typed}]}
    calls: list[tuple[str, str, Any]] = [
        ("PUT", "/~/c1", body), ("PUT", "/~/c1/writes/t", writes), ("GET", "/~/c1", None), ("GET", "", None),
        ("GET", "?ns=&limit=1&filter=%7B%7D", None),
    ]  # fmt: skip
    for method, rest, sent in calls:  # Django answers the first of each kind.
        assert client.request(method, thread + rest, json=sent).is_success
    quick.clear()
    for accepts in ("*/*", MSGPACK, f"{MSGPACK};q=0"):
        for method, rest, sent in calls:
            quickly = client.request(method, thread + rest, json=sent, headers={"Accept": accepts})
            slowly = client.request(method, thread + rest, json=sent, headers={"Accept": accepts, **COOKIE})
            assert (quickly.status_code, quickly.content) == (slowly.status_code, slowly.content)
            assert headers_of(quickly) == headers_of(slowly)
    assert quick == [True, False] * len(calls) * 3
    quick.clear()
    for rest in ("?limit=101", "?limit=x", "?more=1", "?ns=a&ns=b", "?before=%00", "?cursor=x", "?filter=x"):
        assert client.get(thread + rest).status_code == client.get(thread + rest, headers=COOKIE).status_code, rest
    assert client.put(f"{thread}/~/c2", json={**body, "versions": {"a": "1", "b": "2"}}).status_code == 409
    assert True not in quick


def test_a_context_is_answered_as_django_does_also_when_it_is_unchanged(client: httpx.Client, quick: list[bool]) -> None:
    context = str(client.base_url).replace("/memory/", "/context")
    etag = client.get(context).headers["etag"]
    quick.clear()
    for asked in ({}, {"If-None-Match": etag}, {"If-None-Match": f'"other", W/{etag}'}, {"If-None-Match": '"other"'}):
        for query in ("", "?budget=100"):
            quickly, slowly = client.get(context + query, headers=asked), client.get(context + query, headers=asked | COOKIE)
            assert (quickly.status_code, quickly.content) == (slowly.status_code, slowly.content), asked
            assert quickly.status_code == (304 if etag in asked.get("If-None-Match", "") else 200)
            assert quickly.headers["etag"] == slowly.headers["etag"] == etag
            assert quickly.headers.get("content-length") == slowly.headers.get("content-length")
            assert headers_of(quickly) == headers_of(slowly)
    assert quick == [True, False] * 8
    quick.clear()
    for query in ("?budget=99", "?budget=1000001", "?budget=x", "?budget=", "?more=1", "?budget=100&budget=200"):
        assert client.get(context + query).status_code == client.get(context + query, headers=COOKIE).status_code, query
    assert True not in quick
    assert client.put("notes/k", json=1).status_code == 200
    assert client.get(context, headers={"If-None-Match": etag}).status_code == 200
