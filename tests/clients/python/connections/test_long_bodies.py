"""Bodies that take a while, or that the server does not read to their end."""

import asyncio
import socket
import threading
import time

import httpx
import pytest

from stillhere.http.answers import Answer
from stillhere.http.wires import AsyncWires, Server
from tests.clients.python.connections.each_kind import answers, each_kind
from tests.clients.python.connections.test_wires import ANSWERS


def read_slowly(listening: socket.socket, left: int, goes_on: threading.Event) -> None:
    """One request, and then nothing."""
    with listening.accept()[0] as connection:
        while left and (received := connection.recv(500_000)):
            left -= len(received)
            time.sleep(len(received) / 15_000_000)
        connection.sendall(ANSWERS["a length"][0])
    with listening.accept()[0] as connection:
        connection.recv(1_000)
        goes_on.wait(20)


@pytest.mark.timed
@each_kind
def test_a_body_may_take_longer_than_the_timeout(kind: str) -> None:
    """As long as the server goes on reading. One that stops is given up."""
    listening, goes_on = socket.create_server(("127.0.0.1", 0)), threading.Event()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    server, body = Server(f"http://127.0.0.1:{listening.getsockname()[1]}"), b"x" * 20_000_000
    sent_bytes = len(server.request("POST", "/x", {}, body))
    threading.Thread(target=read_slowly, args=(listening, sent_bytes, goes_on), daemon=True).start()

    begun = time.monotonic()
    assert answers(server, kind, method="POST", body=body, timeout=0.8)[0].content == b"words"
    assert time.monotonic() - begun > 0.9
    with pytest.raises(httpx.ReadTimeout):
        answers(server, kind, method="POST", body=body, timeout=0.8)
    goes_on.set()
    listening.close()


@each_kind
def test_an_answer_before_the_whole_body_was_read(kind: str) -> None:
    """The connection is reset: what was not read is refused."""
    listening = socket.create_server(("127.0.0.1", 0))

    def refuse() -> None:
        for _ in range(2):
            connection, _ = listening.accept()
            connection.recv(1_000)
            connection.sendall(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\n{}")
            connection.close()

    thread = threading.Thread(target=refuse, daemon=True)
    thread.start()
    server, body = Server(f"http://127.0.0.1:{listening.getsockname()[1]}"), b"x" * 20_000_000

    assert [each.status for each in answers(server, kind, 2, method="POST", body=body)] == [413, 413]
    thread.join()
    listening.close()


def test_an_answer_that_a_coroutine_s_write_overtook() -> None:
    """The loop writes, meets the reset, and had not looked yet for what came before it."""
    listening = socket.create_server(("127.0.0.1", 0))
    answered = threading.Event()

    def refuse() -> None:
        connection, _ = listening.accept()
        connection.recv(1_000)
        connection.sendall(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\n{}")
        connection.close()
        answered.set()

    thread = threading.Thread(target=refuse, daemon=True)
    thread.start()

    async def ask() -> Answer:
        line = await AsyncWires(Server(f"http://127.0.0.1:{listening.getsockname()[1]}"), 10)._connected()
        line.transport.pause_reading()
        asked = asyncio.create_task(line.send(b"x" * 20_000_000, 10))
        await asyncio.to_thread(answered.wait)
        return await asked

    with listening:
        assert asyncio.run(ask()).status == 413
        thread.join()
