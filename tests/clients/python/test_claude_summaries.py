"""Which sessions the store of the Claude Agent SDK lists, with what it keeps of them."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

from stillhere import Client, StillhereError
from stillhere.claude_agent import StillhereSessionStore
from stillhere.connection import Operation, Request
from tests.clients.python.conftest import PROJECT
from tests.support.live_server import LiveServer

KEY: Any = {"project_key": "p", "session_id": "s"}
ENTRY: Any = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Hello"}}


def test_a_full_memory_keeps_nobody_from_the_list(
    client: Client, server: LiveServer, secret: str, tmp_path: Path, settings: Any
) -> None:
    settings.PROJECT_BYTES = 20_000
    for number, size in enumerate(2**power for power in range(14, 3, -1)):
        with suppress(StillhereError):  # There is no room for it any more.
            client.put_value("other", str(number), "x" * size)
    with StillhereSessionStore(server.url, secret, PROJECT, spool=tmp_path / "spool.db") as store:
        asyncio.run(store.append(KEY, [ENTRY]))
        for _ in range(2):
            (summary,) = asyncio.run(store.list_session_summaries("p"))
            assert (summary["session_id"], summary["data"]["first_prompt"]) == ("s", "Hello")


def fork(session: str) -> Operation[Any]:
    return (yield Request("POST", f"/sessions/{session}/fork", {}, repeatable=False))


def test_a_copy_of_a_transcript_is_no_transcript(client: Client, server: LiveServer, secret: str, tmp_path: Path) -> None:
    async def run(store: StillhereSessionStore) -> None:
        subagent: Any = {**KEY, "subpath": "subagents/agent-1"}
        for key in (KEY, subagent):
            await store.append(key, [ENTRY])
        assert store.spool.flush()
        for session in client.list_sessions().items:
            client.connection.run(fork(session.id))
        listed = await store.list_sessions("p")
        assert [each["session_id"] for each in listed] == ["s"]
        assert await store.list_subkeys(KEY) == ["subagents/agent-1"]
        await store.delete(KEY)
        assert [await store.list_sessions("p"), await store.list_subkeys(KEY)] == [[], []]
        assert [each.external_id for each in client.list_sessions().items] == [None, None]

    with StillhereSessionStore(server.url, secret, PROJECT, spool=tmp_path / "spool.db") as store:
        asyncio.run(run(store))


def test_a_summary_that_somebody_changed_is_made_again(client: Client, server: LiveServer, secret: str, tmp_path: Path) -> None:
    with StillhereSessionStore(server.url, secret, PROJECT, spool=tmp_path / "spool.db") as store:
        asyncio.run(store.append(KEY, [ENTRY]))
        expected = asyncio.run(store.list_session_summaries("p"))
        (place,) = client.list_namespaces(prefix="claude-agent").items
        values: list[Any] = ["text", 7, None, [], {}]
        for value in values:
            client.put_value(place["labels"], "s", value)
            assert asyncio.run(store.list_session_summaries("p")) == expected
