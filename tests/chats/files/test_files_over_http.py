"""Files through the real server: streamed to disk, bounded, and nothing left of what breaks off; saves go on meanwhile."""

import hashlib
import os
import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.browser.driving import wait_for
from tests.scale.failures.test_store_refuses import disk_full
from tests.support.files import stored
from tests.support.sockets import House

LIMIT = 25_000_000


@pytest.fixture(scope="module")
def session(house: House) -> str:
    return str(house.api.session("/files")[1])


@pytest.fixture
def folder(house: House) -> Path:
    return Path(house.server.environment["STILLHERE_DATA_DIR"]) / "files"


def send(house: House, session: str, content: Any, **headers: str) -> Any:
    return house.api.http.post(f"/sessions/{session}/files?name=x.bin", content=content, headers=headers)


def memory_kb(house: House) -> int:
    status = Path(f"/proc/{house.server.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def uploads(house: House) -> int:
    """How many the server is taking: each has a file without a name until it is whole."""
    begun = 0
    for link in Path(f"/proc/{house.server.pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            name = os.readlink(link)
            begun += name.startswith(house.server.environment["STILLHERE_DATA_DIR"]) and name.endswith("(deleted)")
    return begun


def test_the_largest_file_passes_and_one_byte_more_does_not(house: House, session: str, folder: Path) -> None:
    content = bytes(range(250)) * (LIMIT // 250)
    answer = send(house, session, content)
    assert (answer.status_code, answer.json()["size_bytes"]) == (201, LIMIT)
    reference = answer.json()["file"]
    assert reference == f"sha256:{hashlib.sha256(content).hexdigest()}"
    back = house.api.http.get(f"/files/{reference}")
    assert hashlib.sha256(back.content).hexdigest() == reference[7:]
    assert house.api.http.get(f"/files/{reference}", headers={"Range": "bytes=250-259"}).content == bytes(range(10))
    assert house.api.http.head(f"/files/{reference}").headers["content-length"] == str(LIMIT)
    before = len(stored(folder))
    # Another key, for the rate of bytes.
    other = house.server.api(house.foreign_key)
    own = other.session("/files-of-ben")[1]
    refused = other.http.post(f"/sessions/{own}/files", content=content + b"x")
    other.close()
    assert (refused.status_code, refused.json()["error"]["details"]) == (413, {"limit": LIMIT})
    assert len(stored(folder)) == before


@pytest.mark.slow
def test_ten_files_take_no_memory_of_their_size(house: House, session: str) -> None:
    """A first one, so that everything is loaded."""
    send(house, session, b"0" * LIMIT)
    before = memory_kb(house)
    for number in range(1, 6):
        assert send(house, session, str(number).encode() * LIMIT).status_code == 201
    assert memory_kb(house) - before < LIMIT // 1000


def test_a_form_arrives_in_pieces(house: House, session: str) -> None:
    answer = house.api.http.post(f"/sessions/{session}/files", files={"file": ("a b.txt", b"words" * 1_000_000, "text/plain")})
    assert (answer.status_code, answer.json()["name"], answer.json()["size_bytes"]) == (201, "a b.txt", 5_000_000)


def whole(opened: socket.socket) -> bytes:
    """An answer in pieces."""
    found = opened.recv(10_000)
    while b"\r\n\r\n" not in found or not found.endswith(b"}"):
        found += opened.recv(10_000)
    return found


def begin(house: House, session: str, *, length: int, content: bytes, key: str = "") -> socket.socket:
    """A request that announces `length` bytes, and has sent these."""
    host, port = house.server.host.split(":")
    opened = socket.create_connection((host, int(port)), timeout=20)
    credential = f"Bearer {key or house.key}"
    head = f"POST /api/v1/sessions/{session}/files HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: {credential}\r\n"
    opened.sendall(f"{head}Content-Length: {length}\r\n\r\n".encode() + content)
    return opened


def files_of(house: House, session: str) -> int:
    return len(house.api.call("GET", f"/sessions/{session}/files", limit="500")["items"])


def test_an_upload_that_breaks_off_leaves_nothing(house: House, folder: Path) -> None:
    session = str(house.api.session("/broken")[1])
    before = stored(folder)
    with begin(house, session, length=1_000_000, content=b"x" * 500_000):
        # Meanwhile saves and other uploads go on.
        house.api.save(session, "m1")
        assert send(house, session, b"another").status_code == 201
    with begin(house, session, length=10, content=b"x" * 10) as honest:
        assert b"201" in honest.recv(1_000)
    assert files_of(house, session) == 2
    assert len(stored(folder)) == len(before) + 2


def test_a_length_that_lies_is_refused_or_ends_the_body(house: House, session: str) -> None:
    with begin(house, session, length=LIMIT * 2, content=b"") as greedy:
        assert b"413" in greedy.recv(1_000)
    with begin(house, session, length=3, content=b"abcdef") as short:
        # What follows the announced bytes is no request: the connection ends with that, before or after the answer.
        assert short.recv(10_000).startswith((b"HTTP/1.1 201", b"HTTP/1.1 400"))


def test_nobody_else_uploads_anything(house: House, session: str, folder: Path) -> None:
    before = len(stored(folder))
    refused = send(house, session, b"x", Authorization="Bearer sh_wrong")
    other = send(house, session, b"y", Authorization=f"Bearer {house.server.key('ben')}")
    assert (refused.status_code, other.status_code) == (401, 404)
    wait_for(lambda: len(stored(folder)) == before)


def test_a_key_that_only_reads_need_not_send_its_file(house: House, session: str) -> None:
    reader, writer = house.server.shell(
        "from django.core.management import call_command\n"
        "for scope in ('read', 'write'): call_command('create_key', user='ana', scopes=scope)"
    ).split()
    with begin(house, session, length=1_000_000, content=b"", key=reader) as refused:
        assert b"missing_scope" in whole(refused)
    assert send(house, session, b"by a writer", Authorization=f"Bearer {writer}").status_code == 201


def test_an_account_takes_half_of_the_places(house: House, session: str) -> None:
    own = house.server.api(house.foreign_key)
    theirs = str(own.session("/files-of-ben")[1])

    before = uploads(house)
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(begin(house, session, length=1_000, content=b"x"))
        wait_for(lambda: uploads(house) == before + 8)
        refused = send(house, session, b"y")
        assert refused.json()["error"]["code"] == "too_many_uploads"
        assert own.http.post(f"/sessions/{theirs}/files", content=b"y").status_code == 201
    own.close()
    wait_for(lambda: send(house, session, b"y").status_code == 201)


def test_a_full_disk_is_told_as_one_and_leaves_nothing(house: House, session: str, folder: Path) -> None:
    """The disk of the file that a body is written to as it arrives, before it is stored."""
    before = len(stored(folder))
    with disk_full(house.server):
        refused = send(house, session, b"z" * 1_000_000)
    assert (refused.status_code, refused.json()["error"]["code"]) == (507, "storage_full")
    assert len(stored(folder)) == before
    assert send(house, session, b"z" * 1_000_000).status_code == 201
