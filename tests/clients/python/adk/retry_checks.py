"""Calls that are made again because the first one failed, or was cancelled, though it was done."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from unittest import mock
from uuid import uuid4

import pytest
from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.sessions.session import Session

from stillhere import Client, NoAnswer
from stillhere.adk import StillhereSessionService
from stillhere.connection import Operation, Request
from tests.clients.python.adk.fixtures import MakeOurs, some_of
from tests.clients.python.adk.rule_checks import ANA, changed, read
from tests.clients.python.gate import Gate

STATE = {"own": 1, "app:theme": "dark", "user:name": "Ana"}


@pytest.fixture
def gate() -> Iterator[Gate]:
    with Gate(os.environ["STILLHERE_URL"].removeprefix("http://")) as gate:
        yield gate


@pytest.fixture
def service(gate: Gate, project: str) -> Iterator[StillhereSessionService]:
    """Behind a gateway, and without patience."""
    with Client(gate.url, project=project, retry_seconds=0) as client:
        yield StillhereSessionService(client=client)


async def fail(gate: Gate, numbers: list[str], act: Callable[[], Awaitable[Any]]) -> None:
    """`numbers`: what becomes of the requests until the one that is lost."""
    gate.next.extend(numbers)
    with pytest.raises(NoAnswer):
        await act()


@pytest.mark.parametrize("passed", some_of(range(5), 2))
def test_a_create_whose_answer_was_lost(gate: Gate, service: StillhereSessionService, passed: int) -> None:
    """Of the save, of the settings (two) and of the values of shared state, and of their read."""

    async def act() -> None:
        assert (await service.create_session(**ANA)).state == {}
        await fail(gate, [*["passed"] * passed, "lost"], lambda: service.create_session(**ANA, session_id="s", state=STATE))
        with pytest.raises(AlreadyExistsError):
            await service.create_session(**ANA, session_id="s", state={"own": 2})
        session = await service.create_session(**ANA, session_id="s", state=STATE)
        assert session.state == STATE
        with pytest.raises(AlreadyExistsError):
            await service.create_session(**ANA, session_id="s", state=STATE)
        await service.append_event(session, changed(1, own=2))
        assert (await read(service, session)).state == {**STATE, "own": 2}

    asyncio.run(act())


@pytest.mark.parametrize("passed", some_of(range(2), 1))
def test_an_event_whose_answer_was_lost(gate: Gate, service: StillhereSessionService, passed: int) -> None:
    async def act() -> None:
        session = await service.create_session(**ANA, state=STATE)
        late: Session = await read(service, session)
        event = changed(1, own=2, app__theme="light")
        await fail(gate, [*["passed"] * passed, "lost"], lambda: service.append_event(session, event))
        with pytest.raises(StaleSessionError):
            await service.append_event(late, changed(2))
        await service.append_event(session, event)
        await service.append_event(session, changed(3))
        found = await read(service, session)
        assert found.state == {**STATE, "own": 2, "app:theme": "light"}
        assert [each.id for each in found.events] == [each.id for each in session.events]
        assert len(found.events) == 2

    asyncio.run(act())


def test_an_append_that_was_cancelled(service: StillhereSessionService) -> None:
    async def act() -> None:
        session, event = await service.create_session(**ANA), changed(1, own=1)
        run = service._run

        async def run_and_be_cancelled(operation: Any) -> Any:
            await run(operation)
            raise asyncio.CancelledError

        with mock.patch.object(service, "_run", run_and_be_cancelled), pytest.raises(asyncio.CancelledError):
            await service.append_event(session, event)
        await service.append_event(session, event)
        found = await read(service, session)
        assert ([each.id for each in found.events], found.state) == ([event.id], {"own": 1})

    asyncio.run(act())


def test_another_process_is_not_recognised(gate: Gate, service: StillhereSessionService, project: str) -> None:
    async def act() -> None:
        await fail(gate, ["passed", "passed", "lost"], lambda: service.create_session(**ANA, session_id="s"))
        with Client(project=project) as client, pytest.raises(AlreadyExistsError):
            await StillhereSessionService(client=client).create_session(**ANA, session_id="s")

    asyncio.run(act())


def test_in_a_project_that_was_erased_a_session_is_created(ours: MakeOurs) -> None:
    def erased(project: str) -> Operation[Any]:
        return (yield Request("DELETE", f"/projects/{project}", query={"purge": "1"}, in_project=False))

    async def run() -> None:
        service = ours()
        await service.create_session(**ANA, session_id="before", state={"user:k": 1})
        other = Client(project=f"/home/ana/{uuid4()}")
        other.connection.run(erased(service.client.get_project().id))
        other.close()
        created = await service.create_session(**ANA, session_id="after", state={"user:k": 2})
        assert created.state == {"user:k": 2}
        assert [each.id for each in (await ours().list_sessions(**ANA)).sessions] == ["after"]

    asyncio.run(run())
