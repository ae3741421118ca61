"""A client of the server of a file: the official library, or plain requests."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.mcp.mcp_client import McpClient
from tests.support.sockets import House

type Connect = Callable[..., McpClient]


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
