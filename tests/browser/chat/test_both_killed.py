"""The server and the browser are killed with -9, both at once: nothing that was said is lost."""

import math
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chat_page import ChatPage
from tests.browser.killed_browser import MortalBrowser, say_offline
from tests.support.server_process import ServerProcess
from tests.support.stores import Store

pytestmark = [pytest.mark.browser, pytest.mark.once]
SHORTEST, TAIL_SECONDS = 0.1, 0.25


@pytest.fixture
def server(store: Store) -> Iterator[ServerProcess]:
    with ServerProcess(store) as server:
        yield server


@pytest.fixture
def mortal(tmp_path: Path, server: ServerProcess) -> Iterator[MortalBrowser]:
    with MortalBrowser(tmp_path / "profile", server) as mortal:
        yield mortal


@pytest.mark.parametrize(("rounds", "longest"), [(5, 0.5), pytest.param(50, 30.0, marks=pytest.mark.prove, id="fifty_times")])
def test_what_was_said_while_the_server_was_away_outlives_both(
    server: ServerProcess, mortal: MortalBrowser, rounds: int, longest: float
) -> None:
    """The first round begins without a session. Each leaves a draft in the composer as well."""
    lost: dict[int, list[str]] = {}
    chat = mortal.start()
    for number in range(rounds):
        server.kill()
        words = [f"round {number}, message {index}" for index in range(3)]
        for text in words:
            say_offline(chat, text)
        chat.browser.textbox("Message").send_keys(f"draft {number}")
        pause(chat, longest)
        mortal.kill()
        server.start()
        chat = mortal.start()
        draft = chat.browser.until("return document.getElementById('chat-message').value;")
        shown = [*chat.texts(), draft]
        if missing := [text for text in (*words, f"draft {number}") if text not in shown]:
            lost[number] = missing
        chat.browser.textbox("Message").clear()
    assert lost == {}, f"lost in {len(lost)} of {rounds} rounds"
    assert [text for text in chat.texts() if text.startswith("round")] == [
        f"round {number}, message {index}" for number in range(rounds) for index in range(3)
    ]


@pytest.mark.timed
@pytest.mark.parametrize(("rounds", "longest"), [(1, 3.0), pytest.param(50, 6.0, marks=pytest.mark.prove, id="fifty_times")])
@pytest.mark.slow
def test_of_an_answer_that_streams_no_more_is_lost_than_its_last_quarter_of_a_second(
    server: ServerProcess, mortal: MortalBrowser, rounds: int, longest: float
) -> None:
    chat = mortal.start()
    for number in range(rounds):
        seen = watch_stream(chat, random.uniform(0, longest))
        server.kill()
        killed = mortal.kill()
        server.start()
        chat = mortal.start()
        text = [text for at, text in seen if at <= killed - TAIL_SECONDS][-1]
        assert chat.texts()[-1].startswith(text), f"round {number}"


def watch_stream(chat: ChatPage, seconds: float) -> list[tuple[float, str]]:
    """What is shown of an answer, and when, for so long."""
    chat.stream()
    seen = []
    until = time.monotonic() + seconds + 2 * TAIL_SECONDS
    while (at := time.monotonic()) < until:
        seen.append((at, chat.texts()[-1]))
    return seen


def pause(chat: ChatPage, longest: float) -> None:
    """Evenly over the orders of magnitude: most of what can go wrong goes wrong soon."""
    chat.browser.pause(math.exp(random.uniform(math.log(SHORTEST), math.log(longest))))
