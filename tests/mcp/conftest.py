"""A client of the server of these tests: the official library, or plain requests."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.mcp.mcp_client import McpClient
from tests.support.server_process import ServerProcess
from tests.support.sockets import House
from tests.support.stores import Store

type Connect = Callable[..., McpClient]


@pytest.fixture(scope="session")
def house(first_store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One server for all files: no test of this folder ends it, and each has a project of its own."""
    with first_store.copied(tmp_path_factory.mktemp("house")) as store, ServerProcess(store, HEARTBEAT_SECONDS="1") as process:
        house = House(process)
        yield house
        house.api.close()


@pytest.fixture
def connect(house: House, path: str) -> Connect:
    """`connect("ben", project=…)`: with a user's key, for a project of its own unless it is said otherwise."""

    def opened(user: str = "ana", *, key: str = "", **more: Any) -> McpClient:
        more.setdefault("project", path)
        return McpClient(house.server.url, key or house.server.key(user), **more)

    return opened


@pytest.fixture
def plain() -> Any:
    with httpx.Client(timeout=30) as client:
        yield client
