"""A call that is cancelled while it waits for a connection ends, and its event loop too, which waits for its threads."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from stillhere import Client
from stillhere.openai_agents import StillhereSession


@pytest.fixture
def unreachable() -> Iterator[int]:
    """The port of one whose queue is full: what else comes is not answered, as by a machine that is off."""
    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        place = listening.getsockname()
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(place)
        with suppress(TimeoutError):
            stack.enter_context(socket.create_connection(place, 0.2))
            pytest.skip("this system has a longer queue")
        yield place[1]


@pytest.fixture
def silent() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.mark.parametrize("call", ["get_items", "clear_session"])
@pytest.mark.parametrize(("scheme", "kind"), [("http", "unreachable"), ("https", "unreachable"), ("https", "silent")])
def test_a_timeout_of_the_caller_ends_it(request: pytest.FixtureRequest, scheme: str, kind: str, call: str) -> None:
    with Client(f"{scheme}://127.0.0.1:{request.getfixturevalue(kind)}", "key", "/home/ana/shop") as client:
        begun = time.monotonic()
        with pytest.raises(TimeoutError):
            asyncio.run(asyncio.wait_for(getattr(StillhereSession("t", client=client), call)(), 0.3))
        assert time.monotonic() - begun < 15
