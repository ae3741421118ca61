"""A whole answer leaves in one piece, and is byte for byte what uvicorn makes of its two messages."""

import json
import re
import socket
from typing import Any

import pytest

from config.server import http_protocol
from tests.support.live_server import LiveServer

OF_THIS_ANSWER = re.compile(rb"(?<=\r\n)(x-request-id|date): [^\r]*\r\n")
REQUESTS = {
    "an answer": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "its head": b"HEAD /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "a refusal": b"GET /api/v1/keys HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "the last": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
    "of an old client": b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n",
    "two at once": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 2,
}
LAST = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


def answers(http: Any) -> dict[str, bytes]:
    """All that a connection brings, which then is asked for one answer more."""
    found = {}
    with LiveServer(http=http) as server:
        for name, request in REQUESTS.items():
            with socket.create_connection(("127.0.0.1", int(server.host.rpartition(":")[2])), timeout=30) as wire:
                wire.sendall(request + LAST)
                found[name] = OF_THIS_ANSWER.sub(b"", b"".join(iter(lambda: wire.recv(65_536), b"")))
    return found


def test_answers_are_uvicorn_s(transactional_db: None) -> None:
    expected = answers("auto")
    assert answers(http_protocol.IdleTimeoutProtocol) == expected


def test_only_what_needs_uvicorn_leaves_in_two_pieces(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    whole: list[bytes] = []
    send = http_protocol._Cycle._send_whole

    def watched(self: Any, head: bytes, body: bytes) -> None:
        whole.append(head)
        send(self, head, body)

    monkeypatch.setattr(http_protocol._Cycle, "_send_whole", watched)
    # A connection's last answer says so, and a head has no body.
    pieces = {name: found.count(b"HTTP/1.1 ") for name, found in answers(http_protocol.IdleTimeoutProtocol).items()}
    assert pieces == {"an answer": 2, "its head": 2, "a refusal": 2, "the last": 1, "of an old client": 1, "two at once": 3}
    assert [head.split(b" ")[1] for head in whole] == [b"200", b"401", b"200", b"200"]


@pytest.mark.parametrize("sent", [b"nonsense\r\n\r\n", b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"])
def test_what_is_no_http_is_refused_as_everything_is(transactional_db: None, sent: bytes) -> None:
    with LiveServer(http=http_protocol.IdleTimeoutProtocol) as server:
        wire = socket.create_connection(("127.0.0.1", int(server.host.rpartition(":")[2])), timeout=30)
        wire.sendall(sent)
        head, _, body = b"".join(iter(lambda: wire.recv(65_536), b"")).partition(b"\r\n\r\n")
        wire.close()
    status, *lines = head.split(b"\r\n")
    headers = dict(line.split(b": ", 1) for line in lines)
    assert status.startswith(b"HTTP/1.1 400 ")
    assert headers[b"content-type"] == b"application/json; charset=utf-8"
    assert (headers[b"connection"], headers[b"cache-control"]) == (b"close", b"no-store")
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert int(headers[b"content-length"]) == len(body)
    assert json.loads(body)["error"]["code"] == "unreadable"
