"""States that are long, too long or removed. Run by test_services.py, in an environment of its own."""

import asyncio

import pytest

from stillhere import StillhereError
from tests.clients.python.adk.fixtures import PATIENT, MakeOurs, some_of
from tests.clients.python.adk.session_checks import ANA, event, states


@pytest.mark.parametrize("size", [1_000_000, 2_500_000] if PATIENT else [1_000_000])
def test_a_state_of_several_messages(ours: MakeOurs, size: int) -> None:
    async def run() -> None:
        service = ours()
        session = await service.create_session(**ANA, session_id="s", state={"first": "z" * size, "half": "\ud83d" * 10_000})
        await service.append_event(session, event(1, second="é" * 10, first="y" * (size - 100_000)))
        assert await ours().get_session(**ANA, session_id="s") == session
        assert states((await ours().list_sessions(**ANA)).sessions) == states([session])
        await service.append_event(session, event(3, first="short", half="short"))
        found = await ours().get_session(**ANA, session_id="s")
        assert found == session
        await ours().append_event(found, event(4, text="goes on"))

    asyncio.run(run())


def test_a_state_that_grows(ours: MakeOurs) -> None:
    async def run() -> None:
        session = await ours().create_session(**ANA, session_id="s")
        for number in range(1, 4):
            await ours().append_event(session, event(number, **{f"r{number}": "z" * 600_000}))
        assert await ours().get_session(**ANA, session_id="s") == session

    asyncio.run(run())


@pytest.mark.parametrize("name", ["own", *some_of(["app__own", "user__own"], 1)])
def test_a_state_that_is_too_long_is_refused_with_its_event(ours: MakeOurs, name: str) -> None:
    async def run() -> None:
        service = ours()
        long = {name: "z" * 4_500_000}
        with pytest.raises(StillhereError, match="state_too_long"):
            await service.create_session(**ANA, session_id="s", state={each.replace("__", ":"): "z" * 4_500_000 for each in long})
        assert await service.get_session(**ANA, session_id="s") is None
        session = await service.create_session(**ANA, session_id="s", state={"kept": 1})
        with pytest.raises(StillhereError, match="state_too_long"):
            await service.append_event(session, event(1, **long))
        assert await ours().get_session(**ANA, session_id="s") == session
        await service.append_event(session, event(2, kept=2))
        found = await ours().get_session(**ANA, session_id="s")
        assert found is not None
        assert (found.state, [each.timestamp for each in found.events]) == ({"kept": 2}, [1_700_000_002])

    asyncio.run(run())


def test_many_values_that_sessions_share(ours: MakeOurs) -> None:
    async def run() -> None:
        session = await ours().create_session(**ANA, session_id="s")
        await ours().append_event(session, event(1, **{f"app__{number}": "z" * 900_000 for number in range(6)}))
        assert await ours().get_session(**ANA, session_id="s") == session

    asyncio.run(run())


def test_a_state_that_a_person_removed_is_named(ours: MakeOurs) -> None:
    async def run() -> None:
        service = ours()
        await service.create_session(**ANA, session_id="s", state={"long": "z" * 20_000})
        (stored,) = service.client.list_sessions(tag="adk").items
        service.client.change(stored.id, [{"op": "delete", "id": "adk-state"}], base_rev=stored.rev)
        with pytest.raises(StillhereError, match="state_missing"):
            await ours().get_session(**ANA, session_id="s")
        assert (await ours().list_sessions(**ANA)).sessions == []

    asyncio.run(run())
