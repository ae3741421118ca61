"""The session store of the Claude Agent SDK: its own contracts, and what happens while the server or the disk fails."""

import asyncio
import itertools
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import SessionKey, get_session_messages_from_store, list_sessions_from_store
from claude_agent_sdk.testing import run_session_store_conformance

from stillhere import Client, SpoolError, StillhereError
from stillhere.claude_agent import StillhereSessionStore
from stillhere.connection import Operation, Request
from tests.clients.python.conftest import PROJECT, SOURCE
from tests.clients.python.gate import Gate
from tests.clients.python.spool.conftest import full_disk
from tests.support.live_server import LiveServer
from tests.support.suite import is_patient

KEY: SessionKey = {"project_key": "-home-ana-shop", "session_id": "5b1c9a52-9a4c-4d3f-8a6e-0d1d6b8f7c11"}
# Appends without an end, and says each number once it is on the disk.
APPENDING = """
import asyncio, itertools, sys
from stillhere.claude_agent import StillhereSessionStore
from stillhere.connection import Operation, Request
file, url, key, project = sys.argv[1:]
store = StillhereSessionStore(url, key, project, spool=file)
for number in itertools.count():
    entries = [{"type": "mode", "n": [number, part]} for part in range(3)]
    asyncio.run(store.append({"project_key": "p", "session_id": "s"}, entries))
    print(number, flush=True)
"""
type Make = Callable[..., StillhereSessionStore]


@pytest.fixture
def make(gate: Gate, secret: str, tmp_path: Path) -> Iterator[Make]:
    """Each as in another process, on one file."""
    made: list[StillhereSessionStore] = []

    def new(project: str = PROJECT) -> StillhereSessionStore:
        made.append(StillhereSessionStore(gate.url, secret, project, spool=tmp_path / "spool.db"))
        return made[-1]

    yield new
    for store in made:
        store.spool.close(0)
        store.close()


def append(store: StillhereSessionStore, *entries: dict[str, Any], key: SessionKey = KEY) -> None:
    given: Any = entries
    asyncio.run(store.append(key, list(given)))


def loaded(store: StillhereSessionStore, key: SessionKey = KEY) -> Any:
    return asyncio.run(store.load(key))


def said(number: int) -> dict[str, Any]:
    return {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": str(number)}}


def test_the_contracts_of_the_sdk(make: Make) -> None:
    numbers = itertools.count()
    asyncio.run(run_session_store_conformance(lambda: make(f"{PROJECT}-{next(numbers)}")))


def test_only_what_makes_entries_is_read(make: Make, gate: Gate) -> None:
    """Each has its text besides."""
    append(make(), said(1))
    assert loaded(make()) == [said(1)]
    assert "fields=format%2Craw" in next(each for each in gate.seen if each.startswith("GET") and "/messages" in each)


def test_unusual_entries_come_back_as_they_were(make: Make) -> None:
    image = {"type": "image", "source": {"data": '"' * (2_000_000 if is_patient() else 600_000)}}
    entries: list[dict[str, Any]] = [
        {"type": "user", "uuid": "a" * 70, "message": {"role": "user", "content": "NUL \0, 😊, \ud83d"}, "n": 10**30, "f": 1.0},
        {"type": "file-history-snapshot", "snapshot": {"trackedFileBackups": {}}},
        {"type": "file-history-snapshot", "snapshot": {"trackedFileBackups": {}}},
        {"type": "user", "uuid": "u2", "message": {"role": "user", "content": [image]}},
        {"type": "assistant", "uuid": "u3", "message": {"role": "assistant", "content": "x" * 200_000}},
        {"type": "user", "uuid": "u4", "message": "damaged"},
        {"type": "system", "cost": float("inf"), "content": "no JSON"},
    ]
    store = make()
    append(store, *entries)
    assert loaded(make()) == entries
    assert store.spool.refused() == []
    append(store, entries[3], said(5))
    assert loaded(store) == [*entries, said(5)]


def test_entries_that_are_nested_too_deeply_come_back_and_cost_no_others(make: Make) -> None:
    """The server takes 64 levels of a request's lists and objects."""
    entries = [{**said(number), "toolUseResult": nested(levels)} for number, levels in enumerate((59, 60, 500))]
    store = make()
    append(store, said(9), *entries)
    assert loaded(make()) == [said(9), *entries]
    assert store.spool.refused() == []


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"inner": value}
    return value


def test_an_entry_that_comes_again_replaces_the_former_one(make: Make) -> None:
    """Also in the next process, which is another writer."""
    for text in ("one", "another"):
        store = make()
        append(store, {**said(0), "message": {"role": "user", "content": text}}, said(1))
        assert [entry["message"]["content"] for entry in loaded(store)] == [text, "1"]
        assert store.spool.refused() == []


def test_a_long_entry_that_is_replaced_by_a_shorter_one_is_read(make: Make) -> None:
    """Pieces of the former one stay."""
    store = make()
    for size in (2_600_000, 1_000_000, 10, 1_800_000):
        entry = {**said(0), "message": {"role": "user", "content": "x" * size}}
        append(store, entry, said(1))
        assert sorted(loaded(store), key=lambda each: each["uuid"]) == [entry, said(1)]


def test_pages_and_search_show_what_was_said(make: Make, client: Client) -> None:
    answer = [
        {"type": "thinking", "thinking": "Look first.", "signature": "s"},
        {"type": "text", "text": "I read the cart."},
        {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "cart.py"}},
    ]
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "total = 0"}]
    append(
        make(),
        {"type": "summary", "summary": "Empty cart"},
        said(1),
        {"type": "assistant", "uuid": "a1", "message": {"role": "assistant", "content": answer}},
        {"type": "user", "uuid": "r1", "message": {"role": "user", "content": result}},
        {"type": "user", "uuid": "n1", "isMeta": True, "message": {"role": "user", "content": "<command-name>/init"}},
    )
    assert loaded(make()) is not None
    (session,) = client.list_sessions(tag="claude-agent").items
    shown = client.read_messages(session.id).items
    assert [(each.role, each.text) for each in shown] == [
        ("system", "summary: Empty cart"),
        ("user", "1"),
        ("assistant", "I read the cart."),
        ("tool", ""),
        ("system", "<command-name>/init"),
    ]
    assert client.read_as(session.id, "openai.chat").items[3] == {"role": "tool", "tool_call_id": "t1", "content": "total = 0"}
    assert not session.current


def test_the_sdk_lists_and_reads_sessions(make: Make) -> None:
    async def listed() -> list[tuple[str | None, str | None]]:
        found = await list_sessions_from_store(store, directory="/home/ana/shop")
        return [(each.custom_title, each.first_prompt) for each in found]

    store, directory = make(), "/home/ana/shop"
    first = {**said(1), "parentUuid": None, "sessionId": KEY["session_id"], "timestamp": "2026-01-01T00:00:00.000Z"}
    append(store, first)
    assert asyncio.run(listed()) == [(None, "1")]
    append(store, {"type": "custom-title", "customTitle": "Checkout", "sessionId": KEY["session_id"]})
    store = make()
    assert asyncio.run(listed()) == [("Checkout", "1")]
    gate_seen = asyncio.run(get_session_messages_from_store(store, KEY["session_id"], directory=directory))
    assert [each.uuid for each in gate_seen] == ["u1"]


def test_nothing_is_lost_while_the_server_is_away(make: Make, gate: Gate) -> None:
    store = make()
    append(store, said(0))
    gate.away = True
    for number in range(1, 6):
        append(store, said(number), {"type": "mode", "n": number})
    assert store.spool.waiting
    gate.away = False
    gate.next.extend(["lost", (503, 0), "lost"])
    expected = [entry for number in range(1, 6) for entry in (said(number), {"type": "mode", "n": number})]
    assert loaded(store) == [said(0), *expected]


def test_a_process_that_is_killed_loses_nothing(server: LiveServer, secret: str, tmp_path: Path) -> None:
    file = str(tmp_path / "spool.db")
    command = [sys.executable, "-c", APPENDING, file, server.url, secret, PROJECT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": str(SOURCE)}) as process:
        assert process.stdout is not None
        numbers = [int(next(process.stdout)) for _ in range(20)]
        process.send_signal(signal.SIGKILL)
        numbers += [int(line) for line in process.stdout]
    with StillhereSessionStore(server.url, secret, PROJECT, spool=file) as store:
        found = [entry["n"] for entry in loaded(store, {"project_key": "p", "session_id": "s"})]
    whole = [[number, part] for number in [*numbers, len(numbers)] for part in range(3)]
    # One more may be on the disk than was said, and no part of one.
    assert found in (whole[:-3], whole)


def test_a_full_disk(make: Make, gate: Gate) -> None:
    """The server takes the entries at once. Without it the SDK is told, and sends them again: none is stored twice."""
    store = make()
    append(store, said(0))
    assert loaded(store) == [said(0)]
    batch = [{"type": "mode", "text": "x" * 50_000, "n": number} for number in range(150)]
    with full_disk(store.spool):
        gate.away = True
        with pytest.raises(SpoolError):
            append(store, *batch)
        gate.away = False
        gate.next.extend(["passed", "lost"])  # It is two requests.
        with pytest.raises(SpoolError):
            append(store, *batch)
        append(store, *batch)
        assert loaded(store) == [said(0), *batch]


def test_a_session_in_the_trash_is_named_in_the_log(make: Make, client: Client, caplog: pytest.LogCaptureFixture) -> None:
    store = make()
    append(store, said(0))
    assert loaded(store) == [said(0)]
    (session,) = client.list_sessions(tag="claude-agent").items
    client.delete_session(session.id)
    for number in (1, 2):
        append(store, said(number))
        assert loaded(store) is None
    messages = [record.getMessage() for record in caplog.records if record.name == "stillhere"]
    assert all(KEY["session_id"] in message for message in messages)
    assert sum("is in the trash. Restore it on its page" in message for message in messages) == 2
    refused = "spool.refused(): This session is in the trash"
    assert sum(refused in message for message in messages) == len(store.spool.refused()) == 2
    other = make()
    append(other, said(3))
    assert sum(refused in record.getMessage() for record in caplog.records) == 4


def test_a_delete_erases_what_is_in_the_trash_too(make: Make, client: Client) -> None:
    store = make()
    append(store, said(0))
    assert loaded(store) == [said(0)]
    append(store, said(0), key={**KEY, "subpath": "subagents/agent-1"})
    assert store.spool.flush()
    sessions = [each.id for tag in ("claude-agent", "claude-subagent") for each in client.list_sessions(tag=tag).items]
    for session in sessions:
        client.delete_session(session)
    asyncio.run(store.delete(KEY))
    for session in sessions:
        with pytest.raises(StillhereError, match="404"):
            client.get_session(session)
    asyncio.run(store.delete(KEY))
    append(store, said(1))
    assert loaded(store) == [said(1)]


def test_an_erased_session_begins_anew(make: Make) -> None:
    store, other = make(), make()
    append(store, said(0))
    assert loaded(store) == [said(0)]
    asyncio.run(other.delete(KEY))
    append(store, said(1))
    assert loaded(store) == [said(1)]


def test_an_erased_project_begins_anew(make: Make, client: Client) -> None:
    store = make()
    append(store, said(0))
    assert loaded(store) == [said(0)]
    client.connection.run(erased(client.get_project().id))
    append(store, said(1))
    assert loaded(store) == [said(1)]
    assert store.spool.refused() == []


def test_an_erased_session_may_be_met_by_two_loads_at_once(make: Make) -> None:
    store = make()
    store._session_ids["name"] = "gone"
    loads = [store._load("name") for _ in range(2)]
    for load in loads:
        next(load)
    for load in loads:
        assert "by-external" in load.throw(StillhereError(404, "not_found", "", {})).path


def erased(project: str) -> Operation[Any]:
    return (yield Request("DELETE", f"/projects/{project}", query={"purge": "1"}))
