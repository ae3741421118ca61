"""Turns of coroutines: who leaves, however that is, makes room for the next one."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from stillhere import Client
from stillhere.http import turns
from stillhere.http.turns import Turns
from stillhere.openai_agents import StillhereSession
from tests.clients.python.conftest import PROJECT
from tests.clients.python.gate import Gate


def test_coroutines_of_many_loops_take_turns() -> None:
    all_turns, inside, most = Turns(), 0, 0

    async def one() -> None:
        nonlocal inside, most
        async with all_turns.turn():
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    async def some() -> None:
        await asyncio.gather(*(one() for _ in range(20)))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: asyncio.run(some()), range(4)))
    assert (inside, most) == (0, 1)


def test_who_is_cancelled_or_fails_holds_up_nobody() -> None:
    async def run() -> list[str]:
        all_turns, done, go_on = Turns(), list[str](), asyncio.Event()

        async def one(name: str) -> None:
            async with all_turns.turn():
                await go_on.wait()
                done.append(name)
                if name == "fails":
                    raise ValueError

        tasks = [asyncio.create_task(one(name)) for name in ("first", "second", "fails", "third", "last")]
        await asyncio.sleep(0)
        tasks[3].cancel()
        await asyncio.sleep(0)
        tasks[0].cancel()
        go_on.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        return done

    assert asyncio.run(asyncio.wait_for(run(), 5)) == ["second", "fails", "last"]


def test_who_is_cancelled_as_its_turn_comes_passes_it_on() -> None:
    async def run() -> None:
        all_turns = Turns()

        async def one() -> None:
            async with all_turns.turn():
                pass

        async with all_turns.turn():
            waiting = asyncio.create_task(one())
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await one()

    asyncio.run(asyncio.wait_for(run(), 5))


def test_a_loop_that_never_runs_again_loses_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE_SECONDS", 0.05)
    all_turns, loop = Turns(), asyncio.new_event_loop()

    async def one(*, for_ever: bool = False) -> None:
        async with all_turns.turn():
            while for_ever:
                await asyncio.sleep(0)

    abandoned = loop.create_task(one(for_ever=True))
    loop.run_until_complete(asyncio.sleep(0))
    asyncio.run(one())
    monkeypatch.setattr(turns, "PATIENCE_SECONDS", 60)
    asyncio.run(asyncio.wait_for(one(), 5))
    abandoned.cancel()
    loop.run_until_complete(asyncio.gather(abandoned, return_exceptions=True))
    loop.close()


def test_many_that_pop_from_one_session_take_a_request_each(gate: Gate, secret: str) -> None:
    with Client(gate.url, secret, PROJECT) as client:
        session = StillhereSession("thread / 1", client=client)
        items: list[Any] = [{"role": "user", "content": str(number)} for number in range(40)]
        asyncio.run(session.add_items(items))

        async def at_once() -> list[Any]:
            return list(await asyncio.gather(*(session.pop_item() for _ in range(10))))

        known = len(gate.seen)
        assert asyncio.run(at_once()) == items[:-11:-1]
        with ThreadPoolExecutor(3) as threads:
            popped = [item for some in threads.map(lambda _: asyncio.run(at_once()), range(3)) for item in some]
        assert sorted(popped, key=items.index) == items[:30]
        assert len(gate.seen) - known == 40
