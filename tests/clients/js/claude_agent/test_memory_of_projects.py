"""What the store in JavaScript keeps in a project's memory, and what it erases of a transcript."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from stillhere import Client, StillhereError
from stillhere.connection import Operation, Request
from tests.clients.js.claude_agent.conftest import Script
from tests.clients.js.conftest import MODULES, NODE
from tests.support.live_server import LiveServer

pytestmark = pytest.mark.skipif(
    NODE is None or not (MODULES / "@anthropic-ai/claude-agent-sdk").exists(), reason="Node or the SDK is missing."
)
PROJECT = "/home/alice/agents"
SUMMARIES = """
const store = open();
await store.append(KEY, [said(7)]);
say((await store.listSessionSummaries(KEY.projectKey)).map(({ data }) => data.firstPrompt ?? data.first_prompt));
await store.close();
"""
BEGIN = """
const store = open();
await store.append(KEY, [said(0)]);
for (const number of [1, 2]) await store.append({ ...KEY, subpath: `subagents/agent-${number}` }, [said(number)]);
await store.close();
"""
LISTS = """
const store = open();
const ids = (await store.listSessions(KEY.projectKey)).map(({ sessionId }) => sessionId === KEY.sessionId);
say([ids, (await store.listSubkeys(KEY)).sort()]);
await store.close();
"""
DELETE = """
const store = open();
await store.delete(KEY);
await store.close();
"""


@pytest.fixture
def client(server: LiveServer, secret: str) -> Iterator[Client]:
    with Client(server.url, secret, PROJECT) as client:
        yield client


def test_a_full_memory_keeps_nobody_from_the_list(script: Script, client: Client, settings: Any) -> None:
    settings.PROJECT_BYTES = 20_000
    for number, size in enumerate(2**power for power in range(14, 3, -1)):
        with suppress(StillhereError):  # There is no room for it any more.
            client.put_value("other", str(number), "x" * size)
    assert script(SUMMARIES) == ["7"]


def test_what_people_set_stays(script: Script, client: Client) -> None:
    client.set_memory_settings("claude-agent", quota_bytes=10_000)
    assert script(SUMMARIES) == ["7"]
    client.put_value(["claude-agent", "own"], "k", "x" * 5_000)
    with pytest.raises(StillhereError, match="507 over_namespace_quota"):
        client.put_value(["claude-agent", "own"], "l", "x" * 5_000)


def test_a_delete_erases_subagents_in_the_trash_too(script: Script, client: Client) -> None:
    script(BEGIN)
    sessions = [each.id for tag in ("claude-agent", "claude-subagent") for each in client.list_sessions(tag=tag).items]
    assert len(sessions) == 3
    client.delete_session(sessions[1])
    script(DELETE)
    for session in sessions:
        with pytest.raises(StillhereError, match="404"):
            client.get_session(session)


def test_a_copy_of_a_transcript_is_no_transcript(script: Script, client: Client) -> None:
    def fork(session: str) -> Operation[Any]:
        return (yield Request("POST", f"/sessions/{session}/fork", {}, repeatable=False))

    script(BEGIN)
    for session in client.list_sessions().items:
        client.connection.run(fork(session.id))
    assert script(LISTS) == [[True], ["subagents/agent-1", "subagents/agent-2"]]
    script(DELETE)
    assert script(LISTS) == [[], []]
    assert [each.external_id for each in client.list_sessions().items] == [None] * 3
