"""`python -m benchmarks.measurements.agents.adk_times EVENTS`: prints the median milliseconds of each act, of this service and of
ADK's own in SQLite. With the Python of .venv-adk, and STILLHERE_URL, STILLHERE_KEY and STILLHERE_PROJECT."""

import asyncio
import gc
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from stillhere.adk import StillhereSessionService

PLACE: Any = {"app_name": "bench", "user_id": "ana"}
LISTED = READ_AT_ONCE = 20
type Act = Callable[[int], Awaitable[Any]]


class Side:
    def __init__(self, service: BaseSessionService, session: Session) -> None:
        self.service, self.session = service, session

    async def append(self, number: int, **delta: Any) -> None:
        content = types.Content(role="user", parts=[types.Part(text=f"{number} {'x' * 500}")])
        actions = EventActions(state_delta={"n": number, **delta})
        await self.service.append_event(self.session, Event(author="user", content=content, actions=actions))

    async def get(self, newest: int | None) -> None:
        config = GetSessionConfig(num_recent_events=newest)
        if await self.service.get_session(**PLACE, session_id=self.session.id, config=config) is None:
            raise AssertionError

    async def listed(self, _: int) -> None:
        if len((await self.service.list_sessions(**PLACE)).sessions) != LISTED + 1:
            raise AssertionError

    async def delete(self, number: int) -> None:
        await self.service.delete_session(**PLACE, session_id=f"other {number}")

    async def append_for_user(self, number: int) -> None:
        await self.append(number, **{"user:n": number})

    async def newest(self, _: int) -> None:
        await self.get(20)

    async def all(self, _: int) -> None:
        await self.get(None)


async def measured(sides: list[Side], events: int) -> dict[str, list[float]]:
    figures = {
        "append": await _medians([side.append for side in sides], events),
        "append, with state of the user": await _medians([side.append_for_user for side in sides], READ_AT_ONCE),
        "the newest 20": await _medians([side.newest for side in sides], READ_AT_ONCE),
        f"all {events + READ_AT_ONCE}": await _medians([side.all for side in sides], READ_AT_ONCE),
    }
    for side in sides:
        for number in range(LISTED):
            await side.service.create_session(**PLACE, session_id=f"other {number}")
    figures[f"list {LISTED + 1}"] = await _medians([side.listed for side in sides], READ_AT_ONCE)
    figures["delete"] = await _medians([side.delete for side in sides], LISTED)
    return figures


async def _medians(acts: list[Act], count: int) -> list[float]:
    """Of each side, in turn."""
    took: list[list[float]] = [[] for _ in acts]
    for number in range(count):
        for times, act in zip(took, acts, strict=True):
            began = time.perf_counter()
            await act(number)
            times.append((time.perf_counter() - began) * 1000)
    return [median(times) for times in took]


async def main(events: int) -> None:
    gc.disable()
    with TemporaryDirectory() as folder:
        services = [StillhereSessionService(), SqliteSessionService(str(Path(folder) / "sessions.db"))]
        sides = [Side(service, await service.create_session(**PLACE)) for service in services]
        print(json.dumps(await measured(sides, events)))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
