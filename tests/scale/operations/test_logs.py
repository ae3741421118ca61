"""The log of the real server: a line a request, under the id that its answer carries, without anything that users wrote."""

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.support.server_process import ServerProcess
from tests.support.stores import Store

pytestmark = pytest.mark.scale
SECRET = "planted-words"
PATIENCE_SECONDS = 30


@pytest.fixture
def server(store: Store) -> Iterator[ServerProcess]:
    with ServerProcess(store, MAX_BODY_BYTES="20000", QUEUE="3") as process:
        yield process


def lines(server: ServerProcess) -> dict[str, dict[str, Any]]:
    """By request id; a line that is no JSON fails here."""
    told = [json.loads(line) for line in server.whole_log().splitlines()]
    return {line["request_id"]: line for line in told if line["message"] == "request"}


# Method, route and status of the requests that `ask_everything` sends. None: see the response.
EXPECTED = [
    ("POST", "api/v1/sessions/<session_id>/changes", 200),
    ("GET", "api/v1/search", 200),
    ("GET", "^(?:api|v1)/", 404),
    ("GET", "welcome/<str:token>/", None),
    ("POST", "api/v1/sessions/<session_id>/changes", 413),
    ("GET", "/static/", 200),
    ("GET", "unknown", 404),
    ("GET", "login/", 400),
]


def ask_everything(server: ServerProcess, session: str, headers: dict[str, str]) -> list[httpx.Response]:
    """One request of every kind, with the secret wherever a client could put one."""
    address = f"{server.url}/api/v1/sessions/{session}/changes"
    ops = [{"op": "upsert", "id": "m1", "role": "user", "text": SECRET}]
    body = {"epoch": 1, "writer_id": "w", "seq": 1, "ops": ops}
    return [
        httpx.post(address, json=body, headers=headers),
        httpx.get(f"{server.url}/api/v1/search?q={SECRET}", headers=headers),
        httpx.get(f"{server.url}/api/v1/{SECRET}", headers={**headers, "X-Request-Id": "mine"}),
        httpx.get(f"{server.url}/welcome/{SECRET}/"),
        httpx.post(address, content=b"x" * 30_000, headers=headers),
        httpx.get(f"{server.url}/static/css/base.css"),
        httpx.get(f"{server.url}/{SECRET}/of/nobody"),
        httpx.get(f"{server.url}/login/", headers={"Host": f"{SECRET}.example"}),
    ]


def test_every_request_has_its_line(server: ServerProcess) -> None:
    key = server.key("ana")
    api = server.api(key)
    _, session = api.session(f"/{SECRET}")
    asked = ask_everything(server, session, {"Authorization": f"Bearer {key}"})
    full = too_many(server)
    server.stop()
    found = lines(server)
    told = [found[answer.headers["X-Request-Id"]] for answer in [*asked, full]]
    expected = [(method, route, status or asked[3].status_code) for method, route, status in EXPECTED]
    assert [(line["method"], line["route"], line["status"]) for line in told] == [*expected, ("GET", "api/v1/projects", 503)]
    save = told[0]
    assert save["bytes_in"] == len(asked[0].request.content)
    assert save["bytes_out"] == len(asked[0].content)
    assert 0 < save["ms"] < 5_000
    assert isinstance(save["user"], int)
    assert told[3]["user"] is None
    assert SECRET not in server.whole_log()
    assert key not in server.whole_log()
    assert session not in server.whole_log()
    api.close()


def too_many(server: ServerProcess) -> httpx.Response:
    """One request more than may wait or run at once."""
    with ThreadPoolExecutor(40) as crowd:
        for _ in range(20):
            answers = list(crowd.map(lambda _: httpx.get(f"{server.url}/api/v1/projects"), range(40)))
            if full := [answer for answer in answers if answer.status_code == 503]:
                return full[0]
    raise AssertionError("the server took all of them")


def test_an_upload_is_one_line_however_it_ends(store: Store) -> None:
    """It is asked for by a read before its body is taken: that one is not told."""
    with ServerProcess(store, MAX_IMPORT_BYTES="1000") as server:
        headers, address = {"Authorization": f"Bearer {server.key('ana')}"}, f"{server.url}/api/v1/imports"
        answers = [
            httpx.post(address, content=b"x", headers={"Authorization": "Bearer sh_unknown"}),
            httpx.post(address, content=b"x" * 1_001, headers=headers),
            httpx.post(address, content=b"{}", headers=headers),
        ]
        break_off(server, headers)
        told = wait_for_the_broken_off(server)
    found = {line["request_id"]: line for line in told}
    wanted = [found.pop(answer.headers["X-Request-Id"]) for answer in answers] + list(found.values())
    assert [line["status"] for line in wanted] == [401, 413, 202, 499]
    assert len(told) == 4
    assert [line["status"] for line in wanted[:3]] == [answer.status_code for answer in answers]
    assert [(line["method"], line["user"] is None) for line in wanted] == [("POST", index == 0) for index in range(4)]
    assert wanted[2]["bytes_in"] == 2


def wait_for_the_broken_off(server: ServerProcess) -> list[dict[str, Any]]:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        told = of_uploads(server)
        if any(line["status"] == 499 for line in told):
            return told
        time.sleep(0.05)
    raise AssertionError("it has no line")


def of_uploads(server: ServerProcess) -> list[dict[str, Any]]:
    """In the log's order; the last line may be incomplete."""
    told = [json.loads(line) for line in server.whole_log().splitlines(keepends=True) if line.endswith("\n")]
    return [line for line in told if line.get("route") == "api/v1/imports"]


def break_off(server: ServerProcess, headers: dict[str, str]) -> None:
    address = httpx.URL(server.url)
    head = f"POST /api/v1/imports HTTP/1.1\r\nHost: {address.netloc.decode()}\r\nContent-Length: 100\r\n"
    with socket.create_connection((address.host, address.port or 80)) as connection:
        connection.sendall((head + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n123").encode())
