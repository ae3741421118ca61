"""The way in and out over HTTP: what waits there takes bounded memory, and no client holds what others need."""

import asyncio
import re
import socket
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.http import StreamingHttpResponse
from ninja import Router

from config import bridge
from config.api import api as the_api
from config.asgi import LONG
from sessions_app.auth import caller_of_user
from sessions_app.models import ChatSession, Message
from sessions_app.services import keys
from tests.chat import Chat
from tests.live_server import LiveServer

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
        house = bridge.Bridge(threads=1, queue=100, max_body_bytes=5 * MEGABYTE)
        requests = [asyncio.create_task(house(dict(scope), sender.receive, sender.send)) for sender in senders]
        await asyncio.sleep(0.2)
        for request in requests:
            request.cancel()
        await asyncio.gather(*requests, return_exceptions=True)
        house.close()

    asyncio.run(flood())
    refused = [sender for sender in senders if sender.told]
    assert {sender.told["status"] for sender in refused} == {503}
    assert 0 < (len(senders) - len(refused)) * 4 * MEGABYTE <= bridge.BODIES_IN_MEMORY


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
    streams = ["/chat/answer", *_streams()]
    assert len(streams) > 3
    assert [path for path in streams if not LONG.fullmatch(path)] == []


@pytest.mark.parametrize("key", ["export", "export.md", "memory-export"])
def test_an_entry_s_name_does_not_put_it_among_the_streams(key: str) -> None:
    assert LONG.fullmatch(f"/api/v1/projects/x/memory/notes/{key}") is None


def test_a_client_that_stops_reading_gives_its_thread_back(
    settings: Any, monkeypatch: pytest.MonkeyPatch, transactional_db: None, alice: User, api: Callable[..., Any]
) -> None:
    settings.CHAT_STREAMS = 1
    monkeypatch.setattr(bridge, "STALLED_SECONDS", 2)
    secret = keys.create_key(caller=caller_of_user(alice)).secret
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
