"""What the session store of the Claude Agent SDK keeps of its sessions, so that a list need not read them."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

from stillhere import Client, StillhereError
from stillhere.claude_agent import StillhereSessionStore
from tests.clients.python.conftest import PROJECT
from tests.support.live_server import LiveServer

ENTRY: Any = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Hello"}}


def test_a_full_memory_keeps_nobody_from_the_list(client: Client, server: LiveServer, secret: str, tmp_path: Path) -> None:
    for number, size in enumerate([950_000] * 10 + [2**power for power in range(19, 3, -1)]):
        with suppress(StillhereError):  # There is no room for it any more.
            client.put_value("other", str(number), "x" * size)
    with StillhereSessionStore(server.url, secret, PROJECT, spool=tmp_path / "spool.db") as store:
        asyncio.run(store.append({"project_key": "p", "session_id": "s"}, [ENTRY]))
        for _ in range(2):
            (summary,) = asyncio.run(store.list_session_summaries("p"))
            assert (summary["session_id"], summary["data"]["first_prompt"]) == ("s", "Hello")
