"""The server needs no more memory however many calls were made."""

from collections.abc import Iterator

import httpx
import pytest

from tests.mcp.mcp_client import HANDSHAKE, STATELESS, tool_call
from tests.scale.load.test_floods import memory_bytes
from tests.support.server_process import ServerProcess
from tests.support.stores import Store

pytestmark = pytest.mark.once
FIRST_CALLS, FEW, MANY = 1_000, 2_000, 20_000
MOST_GROWTH = 1.05


@pytest.fixture
def server(store: Store) -> Iterator[ServerProcess]:
    with ServerProcess(store, RATE_REQUESTS="0", RATE_WRITE_BYTES="0") as process:
        yield process


def make_calls(server: ServerProcess, count: int) -> None:
    """In turn by both kinds of protocol: a save, a load, and a refusal."""
    arguments = {"action": "save", "namespace": "n", "key": "k", "data": "x" * 1_000, "project": "/p"}
    with httpx.Client(headers={"Authorization": f"Bearer {server.key('ana')}"}, timeout=60) as client:
        for number in range(count):
            action = ("save", "load", "load")[number % 3]
            given = {**arguments, "action": action, "key": "none" if number % 3 == 2 else "k"}
            if action == "load":
                del given["data"]
            version = (STATELESS, HANDSHAKE)[number % 2]
            answer = client.post(f"{server.url}/mcp", **tool_call("session_store", given, version=version)).json()["result"]
            assert answer["isError"] == (number % 3 == 2), answer


@pytest.mark.parametrize(
    "count", [pytest.param(FEW, marks=[pytest.mark.scale, pytest.mark.slow]), pytest.param(MANY, marks=pytest.mark.prove)]
)
def test_memory_is_flat_over_many_calls(server: ServerProcess, count: int) -> None:
    make_calls(server, FIRST_CALLS)
    before = memory_bytes(server)
    make_calls(server, count)
    after = memory_bytes(server)
    assert after <= before * MOST_GROWTH, f"{before / 1e6:.1f} MB before, {after / 1e6:.1f} MB after {count} calls"
