"""Rules for every response, address and file, whatever the request."""

import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from config.server import http_protocol
from config.sqlite.base import make_private
from sessions_app.core.redaction import redact_text
from tests.api.test_headers import ALWAYS, assert_guarded
from tests.support.example_objects import whole_pages, world_of
from tests.support.live_server import LiveServer
from tests.support.server_process import ROOT

METHODS = ("get", "post", "put", "patch", "delete", "head")


def test_no_page_of_an_account_is_kept_by_others_or_served_from_a_store(
    client: Client, alice: User, api: Callable[..., Any]
) -> None:
    world = world_of(api, alice)
    client.force_login(alice)
    for name, address in whole_pages(world).items():
        said = client.get(address)["Cache-Control"]
        assert "private" in said, name
        assert "no-store" in said or "no-cache" in said, name
    for address in ("/", "/search/?q=x", "/chat/"):  # These are shown again at once when one goes back to them.
        assert "no-store" not in client.get(address)["Cache-Control"]


def test_the_bridges_own_refusals_are_guarded_too(settings: Any, transactional_db: None) -> None:
    with LiveServer() as server:
        refused = httpx.post(f"{server.url}/api/v1/projects", content=bytes(settings.MAX_BODY_BYTES + 1))
        assert unquote(refused.headers["Stillhere-Message"]) == refused.json()["error"]["message"], "for scripts of pages"
    assert refused.status_code == 413
    assert {name: refused.headers.get(name) for name in ALWAYS} == ALWAYS
    assert "camera=()" in refused.headers["Permissions-Policy"]
    assert "default-src 'none'" in refused.headers["Content-Security-Policy"]


@pytest.mark.parametrize("address", ["nowhere", "projects/1/memory/a%2Fb/k", "../api/v2/projects"])
def test_an_unknown_address_of_the_api_is_not_found_by_any_method(db: None, address: str) -> None:
    anybody = Client(enforce_csrf_checks=True)
    for method in METHODS:
        answer = getattr(anybody, method)(f"/api/v1/{address}")
        assert answer.status_code == 404, method
        assert_guarded(answer, address)
        if method != "head":
            assert answer.json()["error"]["code"] == "not_found"


@pytest.mark.parametrize("begun", ["", "GET /heal"])
def test_a_connection_that_asks_nothing_is_closed(monkeypatch: pytest.MonkeyPatch, transactional_db: None, begun: str) -> None:
    assert http_protocol.HEAD_SECONDS <= 30
    monkeypatch.setattr(http_protocol, "HEAD_SECONDS", 0.3)
    with LiveServer(http=http_protocol.IdleTimeoutProtocol) as server:
        port = int(server.host.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as silent, httpx.Client(base_url=server.url) as patient:
            assert patient.get("/healthz").status_code == 200
            silent.sendall(begun.encode())
            silent.settimeout(30)
            assert silent.recv(100) == b""
            # Kept alive, for it has asked.
            assert patient.get("/healthz").status_code == 200


def test_a_text_of_keys_alone_is_looked_through_in_no_time() -> None:
    unit = "-----BEGIN PRIVATE KEY-----"
    unended = unit * (4_000_000 // len(unit))
    for text, kind in (unended, "unfinished_private_key"), (f"{unit}a-----END PRIVATE KEY-----" * 70_000, "private_key"):
        began = time.thread_time()
        cleaned, found = redact_text(f"before {text}")
        assert time.thread_time() - began < 0.5
        assert (cleaned, found) == (f"before [REDACTED:{kind}]", {kind: 1})


def test_the_files_of_a_database_are_their_owners_alone(tmp_path: Path) -> None:
    name = str(tmp_path / "store.sqlite3")
    for suffix in ("", "-wal"):
        Path(name + suffix).touch(0o644)
    make_private(name)
    assert {stat.S_IMODE(os.stat(name + suffix).st_mode) for suffix in ("", "-wal")} == {0o600}


@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite's files")
def test_the_database_in_use_is_its_owners_alone(transactional_db: None, alice: User) -> None:
    name = str(connection.settings_dict["NAME"])
    for suffix in ("", "-wal", "-shm"):
        if Path(name + suffix).exists():
            assert stat.S_IMODE(os.stat(name + suffix).st_mode) == 0o600, suffix


@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite's files")
def test_a_further_connection_ends_no_lock_of_the_others(db: None, tmp_path: Path) -> None:
    file = str(tmp_path / "store.sqlite3")
    first, second = (connection.copy(alias=alias) for alias in ("first", "second"))
    for one in (first, second):
        one.settings_dict["NAME"] = file
        one.cursor().execute("SELECT count(*) FROM sqlite_master")
    # The bytes of the file that SQLite locks. A program that gets this lock takes itself for the only one, and removes the log.
    code = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+b'), fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 2**30 + 2)"
    other = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, check=False)
    first.close()
    second.close()
    assert "BlockingIOError" in other.stderr


@pytest.mark.once
def test_cookies_are_bound_to_the_host_where_there_is_tls(tmp_path: Path) -> None:
    code = "from django.conf import settings; print(settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME)"
    environment = {**os.environ, "STILLHERE_PUBLIC_URL": "https://stillhere.example", "STILLHERE_DATA_DIR": str(tmp_path)}
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", code]
    said = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    assert said.split() == ["__Host-sessionid", "__Host-csrftoken"]
