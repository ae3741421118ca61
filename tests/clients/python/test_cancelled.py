"""A call that is cancelled while the server is away ends at once: a loop that ends waits for its threads. One that fails halfway
leaves nothing."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from stillhere import Client, StillhereError
from stillhere.claude_agent import StillhereSessionStore
from stillhere.openai_agents import StillhereSession
from stillhere.pydantic_ai import StillhereConversationStore
from tests.clients.python.conftest import PROJECT, SOURCE
from tests.clients.python.gate import Gate

# Messages, what becomes of their removal, and of the request that adds them.
FAULTS: list[Any] = [
    (600, "fails", "lost"),
    (600, "works", (502, 0)),
    (1, "fails", (502, 0)),
    *(
        pytest.param(count, removal, fault, marks=pytest.mark.slow)
        for count, removal, fault in [
            (600, "works", "lost"), (600, "fails", (502, 0)), (1, "works", "lost"), (1, "fails", "lost"), (1, "works", (502, 0))
        ]
    ),
]  # fmt: skip
KEY: Any = {"project_key": "p", "session_id": "s"}
ENTRY: Any = {"type": "mode"}
SAYS = """
import asyncio, sys
from stillhere import Client, StillhereError
from stillhere.openai_agents import StillhereSession
print("begun", flush=True)
asyncio.run(StillhereSession("t", client=Client(*sys.argv[1:])).get_items())
"""


async def read_transcript(gate: Gate, secret: str, folder: Path) -> None:
    store = StillhereSessionStore(gate.url, secret, PROJECT, spool=folder / "spool.db")
    await store.append(KEY, [ENTRY])
    await store.load(KEY)


async def read_items(gate: Gate, secret: str, folder: Path) -> None:
    await StillhereSession("t", client=Client(gate.url, secret, PROJECT)).get_items()


async def read_conversation(gate: Gate, secret: str, folder: Path) -> None:
    await StillhereConversationStore(gate.url, secret, PROJECT).read_record("c")


@pytest.mark.parametrize("read", [read_items, read_conversation, read_transcript])
def test_a_timeout_of_the_caller_ends_it(
    gate: Gate, secret: str, tmp_path: Path, read: Callable[[Gate, str, Path], Awaitable[None]]
) -> None:
    gate.away = True

    async def limited() -> None:
        await asyncio.wait_for(read(gate, secret, tmp_path), 0.3)

    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(limited())
    assert time.monotonic() - begun < 15


def test_a_timeout_of_the_caller_ends_it_while_the_server_is_silent(gate: Gate, client: Client, secret: str) -> None:
    """Its thread is free for others then, and the client goes on."""
    project = client.get_project().id
    with Client(gate.url, secret, project) as through_gate:
        session = StillhereSession("t", client=through_gate)
        gate.silent = True
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            asyncio.run(asyncio.wait_for(session.get_items(), 0.3))
        assert time.monotonic() - begun < 15
        gate.silent = False
        item: Any = {"role": "user", "content": "words"}
        asyncio.run(session.add_items([item]))
        assert asyncio.run(session.get_items()) == [item]


def _items(count: int) -> list[Any]:
    return [{"role": "user", "content": str(number)} for number in range(count)]


async def _add_and_be_cancelled(session: StillhereSession, gate: Gate, items: list[Any]) -> None:
    """Some of the requests are done by then."""
    adding = asyncio.create_task(session.add_items(items))
    known = len(gate.seen)
    while sum(seen.endswith("/changes") for seen in gate.seen[known:]) < 2:
        await asyncio.sleep(0.01)
    adding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await adding


async def _call(session: StillhereSession, what: str, items: list[Any]) -> Any:
    match what:
        case "add":
            return await session.add_items(items)
        case "pop":
            return await session.pop_item()
        case "clear":
            return await session.clear_session()
        case _:
            return await session.get_items()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside other work a request of 500 items may take longer than it is waited for once nobody does: then all is taken back."""
    for module in ("stillhere.http.given_up", "stillhere.connection"):
        monkeypatch.setattr(f"{module}.SECONDS", 30)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("what", ["add", "pop", "clear", "get"])
def test_an_addition_of_many_items_is_completed_before_anything_else_is_done(
    gate: Gate, client: Client, secret: str, what: str
) -> None:
    items = _items(2_100)
    gate.own_refusal = lambda body: time.sleep(0.1)
    with Client(gate.url, secret, client.get_project().id) as through_gate:
        session = StillhereSession("t", client=through_gate)

        async def next_call() -> Any:
            await _add_and_be_cancelled(session, gate, items)
            return await _call(session, what, _items(1))

        found = asyncio.run(next_call())
    time.sleep(0.5)  # For what would come late.
    left = asyncio.run(StillhereSession("t", client=client).get_items())
    expected = {"add": (None, items + _items(1)), "pop": (items[-1], items[:-1]), "clear": (None, []), "get": (items, items)}
    assert (found, left) == expected[what]


@pytest.mark.parametrize("what", ["add", "pop", "clear", "get"])
def test_an_addition_of_one_request_is_completed_before_anything_else_is_done(
    gate: Gate, client: Client, secret: str, what: str
) -> None:
    """Though the server gets it later than what follows."""
    before, late, following = _items(3)
    is_first = [True]

    def hold_up(body: bytes) -> None:
        if b'"1"' in body and is_first:
            is_first.clear()
            time.sleep(1.5)

    with Client(gate.url, secret, client.get_project().id) as through_gate:
        session = StillhereSession("t", client=through_gate)

        async def next_call() -> Any:
            await session.add_items([before])
            gate.own_refusal = hold_up
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(session.add_items([late]), 0.3)
            return await _call(session, what, [following])

        found = asyncio.run(next_call())
    time.sleep(1.5)
    left = asyncio.run(StillhereSession("t", client=client).get_items())
    both = [before, late]
    expected = {"add": (None, [*both, following]), "pop": (late, [before]), "clear": (None, []), "get": (both, both)}
    assert (found, left) == expected[what]


@pytest.mark.usefixtures("patient")
def test_an_addition_of_many_items_is_completed_before_the_program_ends(gate: Gate, client: Client, secret: str) -> None:
    gate.own_refusal = lambda body: time.sleep(0.6)
    with Client(gate.url, secret, client.get_project().id) as through_gate:
        asyncio.run(_add_and_be_cancelled(StillhereSession("t", client=through_gate), gate, _items(2_600)))
    assert len(asyncio.run(StillhereSession("t", client=client).get_items())) == 2_600


def test_an_error_that_is_kept_keeps_nobody_waiting(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    session = StillhereSession("t", client=client)
    asyncio.run(session.add_items(_items(1)))

    def fail(*_: Any) -> Any:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(client.connection, "_sent", fail)
        with pytest.raises(RuntimeError) as kept:
            asyncio.run(session.add_items(_items(600)))
    assert asyncio.run(asyncio.wait_for(session.get_items(), 10)) == _items(1)
    assert kept.value.__traceback__ is not None


def test_an_addition_that_cannot_be_completed_is_taken_back(gate: Gate, client: Client, secret: str) -> None:
    with Client(gate.url, secret, client.get_project().id) as through_gate:
        session = StillhereSession("t", client=through_gate)

        async def cancelled_before_a_silence() -> None:
            await _add_and_be_cancelled(session, gate, _items(2_600))
            gate.silent = True

        gate.own_refusal = lambda body: time.sleep(0.1)
        begun = time.monotonic()
        asyncio.run(cancelled_before_a_silence())
        assert time.monotonic() - begun < 15
        gate.silent, gate.own_refusal = False, lambda body: None
        assert asyncio.run(session.get_items()) == []


@pytest.mark.slow
def test_an_interrupt_ends_it(gate: Gate, secret: str) -> None:
    gate.away = True
    command = [sys.executable, "-c", SAYS, gate.url, secret, PROJECT]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={"PYTHONPATH": str(SOURCE)}
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while not gate.seen:
            time.sleep(0.02)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) != 0
        assert time.monotonic() - begun < 10


@pytest.mark.parametrize(("count", "removal", "fault"), FAULTS)
def test_what_is_added_again_after_a_failure_is_there_once(
    gate: Gate, client: Client, secret: str, count: int, removal: str, fault: str | tuple[int, float | str]
) -> None:
    items: list[Any] = [{"role": "user", "content": str(number)} for number in range(count)]
    with Client(gate.url, secret, client.get_project().id, retry_seconds=0) as through_gate:
        session = StillhereSession("t", client=through_gate)
        asyncio.run(session.add_items([{"role": "user", "content": "before"}]))
        gate.next.extend(["passed", fault] if count > 500 else [fault])
        gate.own_refusal = lambda body: 502 if removal == "fails" and b'"delete"' in body else None
        with pytest.raises(StillhereError):
            asyncio.run(session.add_items(items))
        gate.own_refusal = lambda body: None
        assert len(asyncio.run(session.get_items())) == 1
        asyncio.run(session.add_items(items))
        assert asyncio.run(StillhereSession("t", client=client).get_items())[1:] == items
        assert asyncio.run(session.pop_item()) == items[-1]
