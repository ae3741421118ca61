"""Connections of the client: answers in any pieces, connections that are used again, and servers that do not speak HTTP."""

import asyncio
import json
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from stillhere import Client, Spool, StillhereError
from stillhere.http.answers import Answer, query_of, value_of
from stillhere.http.proxied import is_proxied
from stillhere.http.shared_wires import SharedWires
from stillhere.http.wires import Server
from tests.clients.python.connections.each_kind import answers, each_kind
from tests.clients.python.gate import Gate
from tests.support.suite import first_of

OK = b"HTTP/1.1 200 OK\r\n"
LONG = b"x" * 700_000
ANSWERS = {
    "a length": (OK + b"Content-Length: 5\r\n\r\nwords", b"words", True),
    "long": (OK + b"content-length: 700000\r\n\r\n" + LONG, LONG, True),
    "chunks": (OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nwor\r\n2;a=b\r\nds\r\n0\r\n\r\n", b"words", True),
    "trailers": (OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nwords\r\n0\r\nA: b\r\n\r\n", b"words", True),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
    "an answer before": (b"HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\nok", b"ok", True),
    "until the end": (OK + b"\r\nwords", b"words", False),
    "closing": (OK + b"Connection: close\r\nContent-Length: 5\r\n\r\nwords", b"words", False),
    "old": (b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nwords", b"words", False),
    "too much": (OK + b"Content-Length: 5\r\n\r\nwords and more", b"words", False),
}
BROKEN = {
    "nothing": b"",
    "half a head": b"HTTP/1.1 200 OK\r\nContent-Le",
    "half a content": OK + b"Content-Length: 9\r\n\r\nwords",
    "half a chunk": OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\nwords",
    "another protocol": b"SSH-2.0-x\r\n\r\n",
    "a negative length": OK + b"Content-Length: -1\r\n\r\n",
    "a chunk without a size": OK + b"Transfer-Encoding: chunked\r\n\r\nx\r\n\r\n",
    "no end of the head": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 50_000,
}

# Of something between the client and the server, such as the sign-in page of a network.
FOREIGN = [b"<!doctype html>", b"", b"null", b"[1]"]


class Peer:
    """Answers each request with these bytes in pieces. `closes`: it then closes the connection."""

    def __init__(self) -> None:
        self.answer, self.piece, self.closes = b"", 1_000_000, False
        self.connections = 0
        self.open: list[socket.socket] = []
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}/below"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            self.connections += 1
            self.open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while connection.recv(65_536):
                for at in range(0, len(self.answer), self.piece):
                    connection.sendall(self.answer[at : at + self.piece])
                if self.closes:
                    break
        except OSError:
            """The client has closed it."""
        connection.close()


@pytest.fixture
def peer() -> Iterator[Peer]:
    peer = Peer()
    yield peer
    peer.listening.close()


def asked(peer: Peer, kind: str, times: int = 1, *, timeout: float = 10, pause: float = 0) -> list[Answer]:
    return answers(Server(peer.url), kind, times, timeout=timeout, pause=pause)


@each_kind
@pytest.mark.parametrize("piece", first_of([1, 1_000_000, 7], 2))
@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_in_pieces(peer: Peer, kind: str, name: str, piece: int) -> None:
    peer.answer, content, reusable = ANSWERS[name]
    # Where more comes later, nobody can tell whose answer it is.
    in_pieces = name not in {"long", "too much"}
    peer.piece, peer.closes = piece if in_pieces else max(piece, 100_000), not reusable
    found = asked(peer, kind, 3)
    assert [each.content for each in found] == [content] * 3
    assert peer.connections == (1 if reusable else 3)


@each_kind
@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_answer(peer: Peer, kind: str, name: str) -> None:
    peer.answer, peer.closes = BROKEN[name], True
    with pytest.raises((httpx.RemoteProtocolError, httpx.ReadError)):
        asked(peer, kind)


@pytest.mark.parametrize("content", first_of(FOREIGN, 2))
def test_what_is_no_answer_of_the_api(client: Client, gate: Gate, secret: str, content: bytes) -> None:
    gate.next.append(content)
    with Client(gate.url, secret, client.get_project().id) as gated:
        with pytest.raises(StillhereError) as raised:
            gated.list_sessions()
        assert (raised.value.status, raised.value.code) == (200, "unreadable")
        assert gated.list_sessions().items == []


@pytest.mark.parametrize("content", first_of([b'{"status": "ok"}', *FOREIGN], 2))
def test_a_spool_outlives_what_is_no_answer_of_the_api(
    client: Client, gate: Gate, secret: str, tmp_path: Path, content: bytes
) -> None:
    session = client.create_session().id
    with Spool(tmp_path / "spool.db", gate.url, secret, client.get_project().id) as spool:
        gate.next.extend([content] * 2)
        spool.save([{"role": "user", "text": "kept"}], session=session)
        spool.flush(0.2)
        assert spool.flush()
    assert [each.text for each in client.read_messages(session).items] == ["kept"]


def test_a_server_that_moved(peer: Peer) -> None:
    peer.answer = b"HTTP/1.1 301 Moved\r\nLocation: https://elsewhere.example/\r\nContent-Length: 0\r\n\r\n"
    with (
        Client(peer.url, "sh_x", str(uuid.uuid4())) as client,
        pytest.raises(StillhereError, match=r"https://elsewhere\.example/"),
    ):
        client.list_sessions()


@each_kind
def test_a_connection_that_the_server_closed_meanwhile_is_not_used(peer: Peer, kind: str) -> None:
    peer.answer, peer.closes = ANSWERS["a length"][0], True
    assert [each.content for each in asked(peer, kind, 5, pause=0.05)] == [b"words"] * 5
    assert peer.connections == 5


@each_kind
def test_a_server_that_says_nothing(peer: Peer, kind: str) -> None:
    with pytest.raises(httpx.ReadTimeout):
        asked(peer, kind, timeout=0.1)
    with socket.create_server(("127.0.0.1", 0)) as unused:
        peer.url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    with pytest.raises(httpx.ConnectError):
        asked(peer, kind)


def test_threads_and_loops_use_one_connection_in_turn(peer: Peer) -> None:
    peer.answer, content, _ = ANSWERS["a length"]
    with closing(SharedWires(Server(peer.url), 0.3)) as wires:
        found = [asyncio.run(wires.asend("GET", "/x", {}, None)), wires.send("GET", "/x", {}, None)]
        assert [each.content for each in found] == [content] * 2
        assert peer.connections == 1
        peer.answer = b""
        with pytest.raises(httpx.ReadTimeout):  # A thread waits for its answer all the same.
            wires.send("GET", "/x", {}, None)


def test_a_connection_whose_request_was_cancelled_is_not_used_again(peer: Peer) -> None:
    """Its answer would be taken for the next one's."""
    with closing(SharedWires(Server(peer.url), 10)) as wires:

        async def cancelled() -> None:
            await asyncio.wait_for(wires.asend("GET", "/x", {}, None), 0.1)

        with pytest.raises(TimeoutError):
            asyncio.run(cancelled())
        peer.answer, content, _ = ANSWERS["a length"]
        assert asyncio.run(wires.asend("GET", "/x", {}, None)).content == content
        assert peer.connections == 2


@each_kind
def test_pieces_may_take_longer_than_the_timeout_together(peer: Peer, kind: str) -> None:
    class Slow(bytes):
        def __getitem__(self, at: Any) -> Any:
            time.sleep(0.06)
            return bytes(self)[at]

    peer.answer, peer.piece = Slow(ANSWERS["a length"][0]), 8
    assert asked(peer, kind, timeout=0.3)[0].content == b"words"


def test_requests() -> None:
    server = Server("http://[::1]:8080/below/")
    sent = server.request("POST", "/x", {"A": "b"}, b"{}")
    assert sent == b"POST /below/x HTTP/1.1\r\nHost: [::1]:8080\r\nA: b\r\nContent-Length: 2\r\n\r\n{}"
    for headers, target in (({"A": "b\r\nC: d"}, "/x"), ({}, "/x\r\ny"), ({"A": "ü"}, "/x")):
        with pytest.raises(ValueError, match=r"line breaks|ascii"):
            server.request("GET", target, headers, None)
    assert query_of({"tag": ["a", "b c"], "limit": 1, "q": "ü&"}) == "?tag=a&tag=b+c&limit=1&q=%C3%BC%26"
    assert query_of({"pinned": True, "agent": False}) == "?pinned=true&agent=false"
    assert query_of({}) == query_of(None) == ""


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://localhost", "/path", "http://[::1", "http://x:port", "http://x/?a=b"])
def test_an_address_that_is_none_of_http(url: str) -> None:
    with pytest.raises(ValueError, match="http"):
        Client(url, "sh_x", "/p")


def test_a_proxy_is_used_where_the_environment_names_one(peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert not is_proxied("http://stillhere.example")
    monkeypatch.setenv("http_proxy", peer.url)
    monkeypatch.setenv("no_proxy", "near.example")
    assert [is_proxied(f"http://{name}.example") for name in ("stillhere", "near")] == [True, False]
    peer.answer = OK + b"Content-Length: 30\r\n\r\n" + b'{"items": [{"id": "1"}]}'.ljust(30)
    with Client("http://stillhere.example", "sh_x", "/p") as client, pytest.raises(StillhereError, match="no Project"):
        client.find_project("/p")  # The answer came, and has not all fields.


EXACT = ["1", "18446744073709551616", "-9223372036854775809", "[1.5, 1e22]", '{"a": [{"b": 1e300}]}', '"\\ud800"', "0.1"]
# Few values in many bytes, and many in many.
AMONG_TEXTS = [f'["{"x" * 5_000}", {EXACT[1]}]', f'["{"x" * 5_000}", 1]', f'["{"x" * 5_000}", {"1, " * 50}{EXACT[1]}]']


@pytest.mark.parametrize("text", [*EXACT, *AMONG_TEXTS])
def test_numbers_and_texts_of_answers_are_read_exactly(text: str) -> None:
    value = value_of(text.encode())
    assert (value, repr(value)) == (json.loads(text), repr(json.loads(text)))


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(ValueError, match="Expecting value"):
        value_of(b"<html>")
