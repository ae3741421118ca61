"""Rules of ADK's session services, one by one: those of its tests for all of them, and where they differ the stricter one."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.session import Session
from google.adk.tools.tool_confirmation import ToolConfirmation

from stillhere import StillhereError
from stillhere.adk.records import external_id
from tests.clients.python.adk.fixtures import Make, MakeOurs

ANA: Any = {"app_name": "shop", "user_id": "ana"}
BEN: Any = {"app_name": "shop", "user_id": "ben"}
# An hour that clocks in New York show twice.
AT = 1_730_613_600.0


def changed(number: float, **delta: Any) -> Event:
    """`app__a` for `app:a`."""
    state = {name.replace("__", ":"): value for name, value in delta.items()}
    return Event(author="user", invocation_id=f"i{number}", timestamp=AT + number, actions=EventActions(state_delta=state))


async def read(service: BaseSessionService, session: Session) -> Session:
    place: Any = {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id}
    found = await service.get_session(**place)
    assert found is not None
    return found


def run(
    make: Callable[[], BaseSessionService], act: Callable[[BaseSessionService, Session], Awaitable[None]], **state: Any
) -> None:
    async def with_session() -> None:
        service = make()
        session = await service.create_session(**ANA, state=state)
        await act(service, session)

    asyncio.run(with_session())


def test_a_value_of_state_is_replaced_whole_and_none_is_one(make: Make) -> None:
    async def act(service: BaseSessionService, session: Session) -> None:
        await service.append_event(session, changed(1, own={"b": 2}, flag=None, new=True, app__own={"b": 2}, user__flag=None))
        shared = {"app:own": {"b": 2}, "user:flag": None}
        expected = {"own": {"b": 2}, "flag": None, "other": False, "new": True}
        assert (await read(service, session)).state == {**expected, **shared} == {**session.state}
        assert (await service.create_session(**ANA)).state == shared
        assert (await service.create_session(**BEN)).state == {"app:own": {"b": 2}}

    run(make, act, own={"a": 1, "b": 1}, flag=True, other=False, **{"app:own": {"a": 1}, "user:flag": True})


def test_temporary_state_is_in_the_session_only(make: Make) -> None:
    async def act(service: BaseSessionService, session: Session) -> None:
        event = changed(1, temp__out="text", kept=1)
        await service.append_event(session, event)
        assert (session.state, event.actions.state_delta) == ({"temp:out": "text", "kept": 1}, {"kept": 1})
        found = await read(service, session)
        assert (found.state, found.events[0].actions.state_delta) == ({"kept": 1}, {"kept": 1})

    run(make, act)


def test_what_is_no_json_costs_only_itself(make: Make) -> None:
    async def act(service: BaseSessionService, session: Session) -> None:
        await service.append_event(session, changed(1, callback=print, ok=2, app__deep=[print]))
        found = await read(service, session)
        assert found.state == {"callback": repr(print), "ok": 2, "app:deep": [repr(print)]}
        assert len(found.events) == 1

    run(make, act)


def test_infinity_comes_back(ours: MakeOurs) -> None:
    async def act(service: BaseSessionService, session: Session) -> None:
        states = {"own": float("inf"), "app:i": [float("-inf")], "user:i": {"best": float("inf")}}
        other = await service.create_session(**ANA, state=states)
        long = await service.create_session(**ANA, state={"long": "x" * 20_000, "own": float("inf")})
        assert (await read(ours(), other)).state == states
        assert (await read(ours(), long)).state["own"] == float("inf")
        await service.append_event(other, changed(0, app__i=1))
        assert (await read(ours(), other)).state["app:i"] == 1

    run(ours, act)


def test_halves_of_characters_come_back(ours: MakeOurs) -> None:
    """SQLite refuses some of them."""

    async def act(service: BaseSessionService, session: Session) -> None:
        states = {"own": "\ud83d", "app:a": ["\ud83d"], "user:a": ["\ude0a"]}
        other = await service.create_session(**ANA, state=states)
        long = await service.create_session(**ANA, state={"long": "x" * 20_000 + "\ud83d"})
        assert (await read(ours(), other)).state == states
        assert (await read(ours(), long)).state["long"] == "x" * 20_000 + "\ud83d"

    run(ours, act)


def test_what_is_nested_too_deeply_comes_back(ours: MakeOurs) -> None:
    """The server takes 64 levels of a request's lists and objects."""
    deep: Any = "x"
    for _ in range(70):
        deep = [deep]

    async def act(service: BaseSessionService, session: Session) -> None:
        states = {"own": deep, "app:d": deep, "user:d": deep}
        other = await service.create_session(**ANA, state=states)
        long = await service.create_session(**ANA, state={"long": "x" * 20_000, "own": deep})
        assert (await read(ours(), other)).state == states
        assert (await read(ours(), long)).state["own"] == deep
        await service.append_event(session, changed(0, own=deep))
        again = await read(ours(), session)
        assert (again.state["own"], again.events[0].actions.state_delta["own"]) == (deep, deep)

    run(ours, act)


def test_confirmations_of_tools_come_back(make: Make) -> None:
    async def act(service: BaseSessionService, session: Session) -> None:
        asked = {"c1": ToolConfirmation(hint="Sure?", confirmed=False, payload={"album": {"id": 1}})}
        actions = EventActions(requested_tool_confirmations=asked)
        await service.append_event(session, Event(author="agent", timestamp=AT + 1, actions=actions))
        assert (await read(service, session)).events[0].actions.requested_tool_confirmations == asked

    run(make, act)


def test_times_are_exact_and_equal_ones_keep_the_order_of_appending(make: Make) -> None:
    async def act(service: BaseSessionService, session: Session) -> None:
        for number, own_id in [(0.123456, "z"), (1800.0, "c"), (1800.0, "a"), (1800.0, "b")]:
            event = changed(number)
            event.id = own_id
            await service.append_event(session, event)
        times = [(each.id, each.timestamp - AT) for each in (await read(service, session)).events]
        assert times == [("z", pytest.approx(0.123456)), ("c", 1800.0), ("a", 1800.0), ("b", 1800.0)]

    run(make, act)


def test_an_id_is_stripped_and_a_blank_one_is_none(make: Make) -> None:
    async def act(service: BaseSessionService, _: Session) -> None:
        created = await service.create_session(**ANA, session_id="order 42\n")
        assert created.id == "order 42"
        assert (await service.create_session(**ANA, session_id="  ")).id.strip()
        await service.delete_session(**ANA, session_id=" order 42")
        assert await service.get_session(**ANA, session_id="order 42") is None

    run(make, act)


def test_a_session_that_was_deleted_takes_no_event(make: Make) -> None:
    async def act(service: BaseSessionService, session: Session) -> None:
        await service.delete_session(**ANA, session_id="unknown")
        await service.delete_session(**BEN, session_id=session.id)
        await service.append_event(session, changed(1))
        await service.delete_session(**ANA, session_id=session.id)
        with pytest.raises(SessionNotFoundError):
            await service.append_event(session, changed(2))

    run(make, act)


def test_state_of_a_user_is_read_without_a_session(make: Make) -> None:
    async def act(service: BaseSessionService, session: Session) -> None:
        assert await service.get_user_state(**ANA) == {}
        for number in (1, 2):
            await service.append_event(session, changed(number, user__profile={"n": number}, own=1, app__own=1))
        assert await make().get_user_state(**ANA) == {"profile": {"n": 2}}
        assert await service.get_user_state(**BEN) == {}
        assert await service.get_user_state(**{**ANA, "app_name": "other"}) == {}

    run(make, act)


def test_of_racing_writers_one_wins_each_time(ours: MakeOurs) -> None:
    """In SQLite both may win."""

    async def act(service: BaseSessionService, session: Session) -> None:
        for number in range(8):
            copies = [await read(service, session) for _ in range(2)]
            appends = [service.append_event(copy, changed(number + at / 2)) for at, copy in enumerate(copies)]
            done = await asyncio.gather(*appends, return_exceptions=True)
            (refused,) = [each for each in done if isinstance(each, BaseException)]
            assert isinstance(refused, StaleSessionError)
            assert "modified in storage" in str(refused)
        assert len((await read(service, session)).events) == 8

    run(ours, act)


def test_an_event_that_is_appended_again_is_one_and_another_with_its_id_is_two(ours: MakeOurs) -> None:
    """As in memory. SQLite refuses both."""

    async def act(service: BaseSessionService, session: Session) -> None:
        event = changed(1, n=1)
        for each in (event, event, event.model_copy(deep=True)):
            assert await service.append_event(session, each) == event
        other = changed(2, n=2).model_copy(update={"id": event.id})
        await service.append_event(session, other)
        found = await read(ours(), session)
        assert (found.events, found.state) == ([event, other], {"n": 2})
        assert (await service.append_event(found, event.model_copy(deep=True))) == event
        assert len((await read(service, session)).events) == 2

    run(ours, act)


def test_a_session_in_the_trash_says_so_and_can_be_erased(ours: MakeOurs) -> None:
    async def act(service: BaseSessionService, session: Session) -> None:
        client = ours().client
        found = client.find_session(external_id(session.app_name, session.user_id, session.id))
        assert found is not None
        client.delete_session(found.id)
        for each in (service, ours()):
            for call in (
                each.get_session(**ANA, session_id=session.id),
                each.create_session(**ANA, session_id=session.id),
                each.append_event(session, changed(1)),
            ):
                with pytest.raises(StillhereError, match=f"410 session_deleted: The session {session.id} is in the trash"):
                    await call
        await service.delete_session(**ANA, session_id=session.id)
        assert await service.get_session(**ANA, session_id=session.id) is None
        assert (await service.create_session(**ANA, session_id=session.id)).id == session.id

    run(ours, act)
