"""Bodies above the limit: refused before they are read, while the server's memory stays small and others get responses."""

import json
import socket
import time
from pathlib import Path

import pytest

from tests.support.machine_speed import allowed
from tests.support.server_process import ServerProcess
from tests.support.stores import Store

pytestmark = pytest.mark.scale
GIBIBYTE = 1024**3
ROOM_BYTES = 64 * 1024**2


def memory_bytes(server: ServerProcess) -> int:
    """Resident memory, from the kernel."""
    for line in Path(f"/proc/{server.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no such process")


def flood(server: ServerProcess, head: str, chunk: bytes, total: int) -> bytes:
    """Send as much as the server takes; what it answers."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
        connection.sendall(head.encode())
        sent = 0
        try:
            while sent < total:
                connection.sendall(chunk)
                sent += len(chunk)
        except OSError:
            pass  # It does not listen any more, which is what is hoped for.
        try:
            return connection.recv(65_536)
        except OSError:
            return b""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory from /proc")
def test_a_gibibyte_of_zeros_is_refused_and_leaves_nothing(store: Store) -> None:
    with ServerProcess(store) as server:
        key = server.key("ana")
        api = server.api(key)
        _, session = api.session("/flood")
        before = memory_bytes(server)
        common = f"POST /api/v1/sessions/{session}/changes HTTP/1.1\r\nHost: {server.host}\r\nAuthorization: Bearer {key}\r\n"
        zeros = bytes(65_536)
        declared = flood(server, f"{common}Content-Length: {GIBIBYTE}\r\n\r\n", zeros, GIBIBYTE)
        piece = f"{len(zeros):x}\r\n".encode() + zeros + b"\r\n"
        endless = flood(server, f"{common}Transfer-Encoding: chunked\r\n\r\n", piece, GIBIBYTE)
        for answer in (declared, endless):
            assert answer.startswith(b"HTTP/1.1 413")
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "body_too_large"
        api.save(session, "m1")
        api.close()
        assert memory_bytes(server) - before <= ROOM_BYTES


@pytest.mark.timed
def test_slow_uploads_do_not_hold_up_a_save(store: Store) -> None:
    with ServerProcess(store) as server:
        api = server.api(server.key("ana"))
        _, session = api.session("/slow")
        slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
        for number, connection in enumerate(slow):
            connection.sendall(
                f"POST /api/v1/x{number} HTTP/1.1\r\nHost: {server.host}\r\nContent-Length: 100\r\n\r\n{{".encode()
            )
        took = []
        for number in range(30):
            began = time.monotonic()
            api.save(session, f"m{number}", writer="w", seq=number + 1)
            took.append(time.monotonic() - began)
        for connection in slow:
            connection.close()
        api.close()
        assert max(took) <= allowed(1)
