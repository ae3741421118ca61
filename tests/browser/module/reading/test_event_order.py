"""On a slow network too a page gets the events that it missed first, then those that come."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.frontends import Frontend
from tests.browser.module.reading.network import Network, save_elsewhere

pytestmark = [pytest.mark.browser, pytest.mark.once]
NUMBERS = "return heard.filter(({ type }) => type === 'SESSION_SAVED').map(({ event_seq }) => event_seq);"
HAS = f"{NUMBERS.replace('return ', 'const numbers = ')} return args[0].every((number) => numbers.includes(number));"


def test_what_was_missed_comes_before_what_happens(frontend: Frontend, network: Network, api: Callable[..., Any]) -> None:
    """A page that took the newer one first, and lost its connection then, would never hear of the others."""
    frontend.load()
    frontend.say("m1", "hello")
    frontend.settle()
    save_elsewhere(api, frontend, 1)
    first = 3  # After the session and its first message.
    frontend.browser.until(HAS, [first])
    network.passes.clear()
    network.end()
    network.opened.clear()
    save_elsewhere(api, frontend, 2)
    assert network.opened.wait(30)
    save_elsewhere(api, frontend, 3)
    try:
        # Before anything that the page says on the new connection has arrived.
        frontend.browser.until(HAS, [first + 2])
    finally:
        network.passes.set()
    numbers = [number for number in frontend.browser.run(NUMBERS) if number > first]
    assert numbers == [first + 1, first + 2]
