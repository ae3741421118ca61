"""A plugin of the checks in this folder: services of ADK on the server that STILLHERE_URL names."""

import os
import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService

from stillhere import Client
from stillhere.adk import StillhereSessionService

# Do slow tests run too? These checks know no marks of the other tests.
PATIENT = not {"STILLHERE_PROVE", "STILLHERE_TEST_SLOW"}.isdisjoint(os.environ)
type Make = Callable[[], BaseSessionService]
type MakeOurs = Callable[[], StillhereSessionService]


def some_of[T](values: Sequence[T], count: int) -> Sequence[T]:
    """So many at random; all of them where slow tests run too."""
    return values if PATIENT else random.sample(values, count)


@pytest.fixture
def project() -> str:
    return f"/home/ana/{uuid.uuid4()}"


@pytest.fixture
def ours(project: str) -> Iterator[MakeOurs]:
    """Each as in another process."""
    clients: list[Client] = []

    def make() -> StillhereSessionService:
        clients.append(Client(project=project))
        return StillhereSessionService(client=clients[-1])

    yield make
    for client in clients:
        client.close()


@pytest.fixture(params=["stillhere", "sqlite"] if PATIENT else ["stillhere"])
def make(request: Any, tmp_path: Path) -> Make:
    """What is tested of it is tested of ADK's own SQLite service too, which changes with a version of ADK alone."""
    if request.param == "sqlite":
        return lambda: SqliteSessionService(str(tmp_path / "sessions.db"))
    made: Make = request.getfixturevalue("ours")
    return made
