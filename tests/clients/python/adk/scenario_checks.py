"""Random scenarios of sessions: this service beside ADK's own two, in SQLite and in memory. Every answer and error is equal.

Where those two differ between themselves, scenarios do not go: docs/frameworks/adk.md has the list.
"""

import asyncio
import itertools
import random
import sqlite3
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.platform import time as platform_time
from google.adk.platform import uuid as platform_uuid
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from tests.clients.python.adk.fixtures import MakeOurs, some_of

SCENARIOS, STEPS = 6, 30
APPS, USERS, IDS = ["shop", "a / 中"], ["ana", "ben"], ["s", " s\n", "t", "   ", None]
NAMES = ["a", "a b", "", "app:a", "app:", "user:a", "user:ü", "temp:a", "other:a"]
NUL, LONG = "NUL \0 😊", '"' * 9_000
PLAIN = [None, True, False, 0, 2**70, 0.1 + 0.2, 1e300, 1.0, [], {}, [1, [None]], {"a": {"b": []}, "": 0}, "", LONG]
# JSON has no such values, and memory keeps them as they are. SQLite loses what follows a NUL.
RICH = [datetime(2026, 1, 2, tzinfo=UTC), b"text", (1, "x"), types.Part(text="x"), open, {"deep": [print]}]
AT = 1_700_000_000.0
ERRORS = (ValueError, AlreadyExistsError, sqlite3.Error)


class Scenario:
    """The same steps for each service, as long as it answers the same. `log`: what it answered."""

    def __init__(self, service: BaseSessionService, seed: int) -> None:
        self.service = service
        self.dice = random.Random(seed)
        self.values: list[Any] = [*PLAIN, NUL]
        self.now = AT
        self.held: list[Session] = []
        self.log: list[Any] = []

    async def run(self, *steps: Callable[[], Awaitable[Any]]) -> list[Any]:
        ids = itertools.count()
        platform_time.set_time_provider(lambda: self.now)
        platform_uuid.set_id_provider(lambda: f"made {next(ids)}")
        for _ in range(STEPS):
            self.now += self.dice.choice([0.001, 1, 1.5])
            step = self.dice.choice(steps)
            try:
                answer = await step()
            except ERRORS as error:
                answer = type(error)
            answer = answer.model_dump() if hasattr(answer, "model_dump") else answer
            self.log.append((step.__name__, answer, [_durable(each) for each in self.held[-2:]]))
        return self.log

    def place(self) -> dict[str, Any]:
        return {"app_name": self.dice.choice(APPS), "user_id": self.dice.choice(USERS)}

    def state(self) -> dict[str, Any]:
        names = self.dice.sample(NAMES, self.dice.choice([0, 1, 1, 3]))
        return {name: self.dice.choice(self.values) for name in names}

    def event(self) -> Event:
        parts = [types.Part(text=self.dice.choice([NUL, LONG])), types.Part.from_bytes(data=b"\x00\xff", mime_type="image/png")]
        content = types.Content(role="user", parts=parts) if self.dice.random() < 0.7 else None
        author, partial = self.dice.choice(["user", "agent"]), self.dice.random() < 0.1
        actions = EventActions(state_delta=self.state())
        return Event(author=author, partial=partial, invocation_id="i", timestamp=self.now, content=content, actions=actions)

    def config(self) -> GetSessionConfig | None:
        after = self.dice.choice([None, None, 0.0, AT + 5])
        return self.dice.choice(
            [None, GetSessionConfig(num_recent_events=self.dice.choice([None, 0, 1, 3]), after_timestamp=after)]
        )

    async def create(self) -> Session:
        session = await self.service.create_session(**self.place(), session_id=self.dice.choice(IDS), state=self.state())
        self.held.append(session)
        return session

    async def get(self) -> Session | None:
        config, place = self.config(), self.place()
        found = await self.service.get_session(**place, session_id=self.dice.choice([*IDS[:3], "made 0"]), config=config)
        self.held += [found] if found else []
        return found

    async def listed(self) -> Any:
        place = self.place()
        return await self.service.list_sessions(**place | ({} if self.dice.random() < 0.5 else {"user_id": None}))

    async def delete(self) -> None:
        await self.service.delete_session(**self.place(), session_id=self.dice.choice(["s", " s\n", "gone"]))

    async def user_state(self) -> dict[str, Any]:
        found: dict[str, Any] = await self.service.get_user_state(**self.place())
        return found

    async def append(self) -> Event | None:
        """To any session that was held before, so some of them are old or deleted."""
        event = self.event()
        return await self.service.append_event(self.dice.choice(self.held), event) if self.held else None

    async def append_to_fresh(self) -> list[Event] | None:
        """And sometimes the same event once more."""
        event, place, again = self.event(), self.place(), self.dice.random() < 0.3
        session = await self.service.get_session(**place, session_id=self.dice.choice(["s", "t"]))
        self.held += [session] if session else []
        given = [event, event.model_copy(deep=True)] if again else [event]
        return [await self.service.append_event(session, each) for each in given] if session else None


@pytest.mark.parametrize("seed", some_of(range(SCENARIOS), 2))
def test_as_in_sqlite(ours: MakeOurs, tmp_path: Path, seed: int) -> None:
    def run(service: BaseSessionService) -> list[Any]:
        scenario = Scenario(service, seed)
        scenario.values = [*PLAIN, *RICH]
        some, often = (scenario.create, scenario.listed, scenario.delete, scenario.user_state), (scenario.get, scenario.append)
        return asyncio.run(scenario.run(*some, *often * 3))

    _same(run(SqliteSessionService(str(tmp_path / "sessions.db"))), run(ours()))


@pytest.mark.parametrize("seed", some_of(range(SCENARIOS), 2))
def test_as_in_memory(ours: MakeOurs, seed: int) -> None:
    def run(service: BaseSessionService) -> list[Any]:
        scenario = Scenario(service, seed)
        some, often = (
            (scenario.create, scenario.listed, scenario.delete, scenario.user_state, scenario.get),
            scenario.append_to_fresh,
        )
        return asyncio.run(scenario.run(*some, *[often] * 4))

    _same(run(InMemorySessionService()), run(ours()))


def _durable(session: Session) -> dict[str, Any]:
    """SQLite leaves temporary state in a session whose event it refused, memory and this service do not."""
    state = {name: value for name, value in session.state.items() if not name.startswith("temp:")}
    return {**session.model_dump(), "state": state}


def _same(theirs: list[Any], mine: list[Any]) -> None:
    for number, (expected, found) in enumerate(zip(theirs, mine, strict=True)):
        assert found == expected, f"step {number}"
