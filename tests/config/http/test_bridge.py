"""HTTP requests and responses: waiting ones take bounded memory, and no client blocks others."""

import asyncio
import re
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.http import StreamingHttpResponse
from ninja import Router

from config.api.ninja_api import api as the_api
from config.http import bridge, request_body
from config.http.asgi import LONG
from config.http.request_body import RequestBodies
from sessions_app.accounts import api_keys
from sessions_app.core.callers import caller_of_user
from sessions_app.models import ChatSession, Message
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

MEGABYTE = 1_000_000


class Sender:
    """A client that sends so much of a body, and never its end."""

    def __init__(self, size: int) -> None:
        self.pieces = [{"type": "http.request", "body": bytes(size), "more_body": True}]
        self.told: dict[str, Any] = {}

    async def receive(self) -> Any:
        if not self.pieces:
            await asyncio.Event().wait()
        return self.pieces.pop()

    async def send(self, message: Any) -> None:
        self.told.update(message)


def test_bodies_that_never_end_do_not_fill_the_memory() -> None:
    scope = {"type": "http", "method": "POST", "path": "/api/v1/import", "headers": [], "query_string": b""}
    senders = [Sender(4 * MEGABYTE) for _ in range(40)]

    async def flood() -> None:
        house = bridge.Bridge(bridge.Handler(), threads=1, queue=100, bodies=RequestBodies(max_body_bytes=5 * MEGABYTE))
        requests = [asyncio.create_task(house(dict(scope), sender.receive, sender.send)) for sender in senders]
        await asyncio.sleep(0.2)
        for request in requests:
            request.cancel()
        await asyncio.gather(*requests, return_exceptions=True)
        house.close()

    asyncio.run(flood())
    refused = [sender for sender in senders if sender.told]
    assert {sender.told["status"] for sender in refused} <= {429, 503}
    assert 0 < (len(senders) - len(refused)) * 4 * MEGABYTE <= request_body.LARGE_BODIES_BYTES


def test_a_save_is_read_while_large_bodies_that_stopped_take_all_memory() -> None:
    scope = {"type": "http", "method": "POST", "path": "/api/v1/import", "headers": [], "query_string": b""}
    save = [{"type": "http.request", "body": bytes(70_000), "more_body": more} for more in (True, False)]

    async def arrive() -> int:
        bodies = RequestBodies(max_body_bytes=5 * MEGABYTE)
        senders = [Sender(4 * MEGABYTE) for _ in range(request_body.LARGE_BODIES_BYTES // (4 * MEGABYTE))]
        reading = [asyncio.create_task(bodies.read(request_body.Upload(scope), scope, sender.receive)) for sender in senders]
        await asyncio.sleep(0.01)
        source = iter(save)

        async def receive() -> Any:
            return next(source)

        size = len(await bodies.read(request_body.Upload(scope), scope, receive))
        for one in reading:
            one.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
        return size

    assert asyncio.run(arrive()) == 140_000


def _streams() -> list[str]:
    """The addresses of all operations that answer as a stream."""
    found = []
    for prefix, router in the_api._routers:
        assert isinstance(router, Router)
        for path, view in router.path_operations.items():
            if any(operation.view_func.__annotations__["return"] is StreamingHttpResponse for operation in view.operations):
                found.append("/api/v1" + re.sub(r"\{[^}]*\}", "x", f"{prefix}{path}"))
    return found


def test_what_streams_takes_no_thread_from_saves() -> None:
    streams = _streams()
    assert len(streams) > 2
    assert [path for path in streams if not LONG.fullmatch(path)] == []


@pytest.mark.parametrize("key", ["export", "export.md", "memory-export"])
def test_an_entry_s_name_does_not_put_it_among_the_streams(key: str) -> None:
    assert LONG.fullmatch(f"/api/v1/projects/x/memory/notes/{key}") is None


def test_a_client_that_stops_reading_gives_its_thread_back(
    settings: Any, monkeypatch: pytest.MonkeyPatch, transactional_db: None, alice: User, api: Callable[..., Any]
) -> None:
    settings.CHAT_STREAMS = 1
    monkeypatch.setattr(bridge, "STALLED_SECONDS", 2)
    secret = api_keys.create_key(caller=caller_of_user(alice)).secret
    session = ChatSession.objects.get(id=Chat(api(alice)).id)
    Message.objects.bulk_create(
        Message(session=session, epoch=1, message_id=str(number), role="user", text="x" * 100_000, position=number, rev=1)
        for number in range(1, 150)
    )
    with LiveServer() as server, socket.create_connection(("127.0.0.1", int(server.host.rpartition(":")[2]))) as stalled:
        head = f"Host: {server.host}\r\nAuthorization: Bearer {secret}"
        stalled.sendall(f"GET /api/v1/export HTTP/1.1\r\n{head}\r\n\r\n".encode())
        assert stalled.recv(1_000).startswith(b"HTTP/1.1 200")
        with httpx.Client(headers={"Authorization": f"Bearer {secret}"}) as client:
            another = f"{server.url}/api/v1/sessions/{session.id}/export.md"
            assert client.get(another).status_code == 503
            deadline = time.monotonic() + 10
            while (answer := client.get(another)).status_code == 503 and time.monotonic() < deadline:
                time.sleep(0.1)
            assert answer.status_code == 200


class Telling(bridge.Handler):
    """Every answer is a stream."""

    def respond(self, environ: Any) -> Any:
        return StreamingHttpResponse(iter([b"x"] * 10))


def test_a_server_that_ends_does_not_wait_for_a_client_that_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It took a minute more than the time that it gives to all, so it was killed, and what it does at its end was not done."""
    monkeypatch.setattr(bridge, "STALLED_SECONDS", 8)
    scope = {"type": "http", "method": "GET", "path": "/api/v1/export", "headers": [], "query_string": b"", "http_version": "1.1"}

    async def end() -> float:
        house = bridge.Bridge(Telling(), threads=1, queue=1, bodies=RequestBodies(max_body_bytes=MEGABYTE))
        begun, sender = asyncio.Event(), Sender(0)
        sender.pieces[0]["more_body"] = False

        async def send(message: Any) -> None:
            begun.set()
            await asyncio.Event().wait()

        request = asyncio.create_task(house(dict(scope), sender.receive, send))
        await begun.wait()
        request.cancel()  # As uvicorn does.
        began = time.monotonic()
        await asyncio.to_thread(house.close)
        await asyncio.gather(request, return_exceptions=True)
        return time.monotonic() - began

    assert asyncio.run(end()) < 4


def test_more_requests_than_the_queue_holds_are_told_to_come_back_and_probes_are_not(
    settings: Any, monkeypatch: pytest.MonkeyPatch, transactional_db: None
) -> None:
    settings.QUEUE = 2
    respond, go_on = bridge.Handler.respond, threading.Event()
    began = threading.Semaphore(0)

    def respond_late(self: bridge.Handler, environ: dict[str, Any]) -> Any:
        if environ["PATH_INFO"] == "/robots.txt":
            began.release()
            go_on.wait(60)
        return respond(self, environ)

    monkeypatch.setattr(bridge.Handler, "respond", respond_late)
    with LiveServer() as server, ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(httpx.get, f"{server.url}/robots.txt") for _ in range(2)]
        assert all(began.acquire(timeout=60) for _ in waiting)
        refused = httpx.get(f"{server.url}/api/v1/projects")
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "busy")
        assert int(refused.headers["Retry-After"]) >= 1
        assert [httpx.get(f"{server.url}/{probe}").status_code for probe in ("healthz", "readyz")] == [200, 200]
        go_on.set()
        assert {one.result().status_code for one in waiting} == {404}


def test_a_body_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch, transactional_db: None) -> None:
    monkeypatch.setattr(request_body, "UPLOAD_SECONDS", 0.2)
    with LiveServer() as server, socket.create_connection(("127.0.0.1", int(server.host.rpartition(":")[2]))) as slow:
        slow.sendall(f"POST /login/ HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 9\r\n\r\n".encode())
        slow.settimeout(60)
        assert slow.recv(1_000).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(("own", "others", "expected"), [(3, 0, [0]), (2, 1, []), (2, 2, [0])])
def test_the_slowest_body_makes_room(monkeypatch: pytest.MonkeyPatch, own: int, others: int, expected: list[int]) -> None:
    """At most two of one network and three in all; those that are displaced belong to the network with the most."""
    monkeypatch.setattr(request_body, "MOST_FROM_ONE_NETWORK", 2)
    monkeypatch.setattr(request_body, "MOST_ARRIVING", 3)
    networks = ["10.0.0.1"] * own + [f"10.0.1.{number}" for number in range(others)]

    async def arrive() -> list[int]:
        bodies = RequestBodies(max_body_bytes=MEGABYTE)
        scopes = [{"headers": [], "path": "/", "client": (network, 1)} for network in networks]
        uploads = [request_body.Upload(scope) for scope in scopes]
        for number, upload in enumerate(uploads):  # The first one has been at it for the longest.
            upload.began -= 10 - number
        reading = [
            asyncio.create_task(bodies.read(upload, scope, Sender(1).receive))
            for upload, scope in zip(uploads, scopes, strict=True)
        ]
        ended, waiting = await asyncio.wait(reading, timeout=0.1)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
        assert all(isinstance(task.exception(), request_body.TooManyUploads) for task in ended)
        return [number for number, task in enumerate(reading) if task in ended]

    assert asyncio.run(arrive()) == expected
