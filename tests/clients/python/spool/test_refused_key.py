"""A key that is wrong or was revoked: a caller that waits for the server is told at once, not after a timeout."""

import asyncio
import json
import logging
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from stillhere import Client, Spool, SpoolError, StillhereError
from stillhere.claude_agent import StillhereSessionStore
from stillhere.spool.spool import UNSENT
from tests.clients.python.cli.conftest import RUN
from tests.clients.python.conftest import PROJECT, SOURCE
from tests.clients.python.gate import Gate
from tests.support.live_server import LiveServer

WRONG = "sh_wrong"


def test_a_spool_says_so_once_and_sends_everything_with_another_key(
    server: LiveServer, secret: str, client: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Spool(tmp_path / "spool.db", server.url, WRONG, PROJECT) as spool:
        for text in ("one", "two"):
            spool.save([{"role": "user", "text": text}], external_id="t")
            begun = time.monotonic()
            assert not spool.flush(30)
            assert time.monotonic() - begun < 10
        assert isinstance(spool.error, StillhereError)
        assert (spool.error.status, spool.waiting) == (401, 2)
    warnings = [each for each in caplog.records if each.name.startswith("stillhere") and each.levelno == logging.WARNING]
    warned = [each.getMessage() for each in warnings if each.msg != UNSENT]
    assert len(warned) == 1
    assert "refuses the key: 401" in warned[0]
    assert str(tmp_path / "spool.db") in warned[0]
    with Spool(tmp_path / "spool.db", server.url, secret, PROJECT) as spool:
        assert spool.flush()
        assert spool.error is None


def test_a_flush_goes_on_while_the_server_is_only_away(gate: Gate, secret: str, tmp_path: Path) -> None:
    gate.away = True
    with Spool(tmp_path / "spool.db", gate.url, secret, PROJECT) as spool:
        spool.save([{"role": "user", "text": "one"}], external_id="t")
        assert not spool.flush(0.5)
        assert isinstance(spool.error, StillhereError)
        gate.away = False
        assert spool.flush()


def test_a_read_of_claudes_store_has_the_cause(server: LiveServer, tmp_path: Path) -> None:
    store = StillhereSessionStore(server.url, WRONG, PROJECT, spool=tmp_path / "spool.db")
    key: Any = {"project_key": "p", "session_id": "s"}
    entry: Any = {"type": "user", "uuid": "u", "message": {"role": "user", "content": "x"}}
    asyncio.run(store.append(key, [entry]))
    begun = time.monotonic()
    with pytest.raises(SpoolError, match="401") as raised:
        asyncio.run(store.load(key))
    assert time.monotonic() - begun < 10
    assert isinstance(raised.value.__cause__, StillhereError)
    store.close()


def test_an_agent_is_told_that_the_key_is_wrong(server: LiveServer) -> None:
    settings = {"STILLHERE_URL": server.url, "STILLHERE_KEY": WRONG, "STILLHERE_PROJECT": PROJECT, "PYTHONPATH": str(SOURCE)}
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    command = [sys.executable, "-c", RUN, "mcp"]
    environment = {**settings, "PATH": os.environ["PATH"]}
    done = subprocess.run(command, input=call + "\n", env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert "refuses the key" in json.loads(done.stdout)["error"]["message"]
