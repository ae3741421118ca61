"""Answers outlive their page: another page goes on with them live, all pages show the same, and no character comes twice."""

import random
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User

from tests.browser.chat_page import ChatPage, holds
from tests.browser.driving import Browser, wait_for
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
WORDS_MS = 15
ROW_IS_LIVE = "[...document.querySelectorAll('[data-rows] > li .live')].length"
TITLE = "return document.title;"


def numbers(last: int) -> str:
    return " ".join(str(number) for number in range(1, last + 1))


@pytest.fixture
def chat(signed_in: Browser, server: LiveServer, settings: Any) -> ChatPage:
    settings.CHAT_WORD_MS = WORDS_MS
    return ChatPage(signed_in, server.url)


@pytest.fixture
def stored(api: Callable[..., Any], alice: User, chat: ChatPage) -> Callable[[], list[tuple[str, str]]]:
    """Text and status of each message that the server has."""
    client = api(alice)

    def messages() -> list[tuple[str, str]]:
        answer = client.get(f"/resume?project={quote(chat.project)}&quiet=1")
        return [(message["text"], message["status"]) for message in answer.json()["messages"]]

    return messages


def until_holds(chat: ChatPage, shown: list[str]) -> None:
    chat.until(lambda texts: holds(texts, shown))


def never_backwards(chat: ChatPage, last: int) -> None:
    """Until the answer is complete, what is shown only grows, and is always its beginning."""
    wanted = numbers(last)
    shown = [""]

    def look() -> bool:
        text = chat.texts()[-1]
        assert wanted.startswith(text)
        assert len(text) >= len(shown[0])
        shown[0] = text
        return text == wanted

    wait_for(look, 60)


@pytest.mark.parametrize(
    "times",
    [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(50, marks=[pytest.mark.prove, pytest.mark.timeout(1800)])],
)
def test_an_answer_whose_page_was_closed_goes_on_in_the_next(
    chat: ChatPage, stored: Callable[[], list[tuple[str, str]]], times: int
) -> None:
    home = chat.browser.driver.current_window_handle
    for round in range(times):
        last = 100 + round
        chat.browser.new_tab(chat.address)
        chat.ready()
        chat.say(f"count to {last}")
        shown = chat.until(lambda texts: texts[-1].startswith("1 2 3"))
        (chat.browser.crash_tab if round % 2 else chat.browser.close_tab)(then=home)
        chat.open()
        until_holds(chat, shown)
        never_backwards(chat, last)
        chat.until_still()
        assert stored()[-1] == (numbers(last), "complete")
        chat.browser.open("about:blank")


@pytest.mark.slow
@pytest.mark.parametrize("times", [2, pytest.param(30, marks=[pytest.mark.prove, pytest.mark.timeout(1800)])])
def test_reloads_at_any_moment_show_the_stored_answer(
    chat: ChatPage, stored: Callable[[], list[tuple[str, str]]], times: int
) -> None:
    last = 60 + 60 * times
    chat.open()
    chat.say(f"count to {last}")
    chat.until(lambda texts: texts[-1].startswith("1 2 3"))
    for _ in range(times):
        chat.browser.pause(random.uniform(0, 0.6))
        shown = chat.texts()
        chat.reload_hard()
        assert holds(chat.texts(), shown)
    never_backwards(chat, last)
    chat.until_still()
    assert stored() == [(f"count to {last}", "complete"), (numbers(last), "complete")]


@pytest.mark.slow
def test_two_pages_watch_one_answer_and_either_stops_it(chat: ChatPage, stored: Callable[[], list[tuple[str, str]]]) -> None:
    chat.open()
    one = chat.browser.driver.current_window_handle
    other = chat.browser.new_tab(chat.address)
    chat.ready()
    chat.browser.go_to(one)
    shown = chat.stream()
    chat.browser.go_to(other)
    chat.until(lambda texts: holds(texts, shown))
    chat.until_grown()
    chat.press("Stop")
    for tab in (other, one):
        chat.browser.go_to(tab)
        chat.until_still()
        chat.browser.until("return !document.getElementById('chat-continue').hidden;")
    text, status = stored()[-1]
    assert (status, text) == ("interrupted", numbers(500)[: len(text)])
    for tab in (one, other):
        chat.browser.go_to(tab)
        chat.until(lambda texts: texts[-1] == text.strip())
    chat.press("Continue")
    chat.browser.go_to(one)
    chat.browser.until("return !document.getElementById('chat-stop').hidden;")
    chat.press("Stop")
    chat.until_still()


@pytest.mark.parametrize("seconds", [2, pytest.param(20, marks=pytest.mark.prove)])
@pytest.mark.slow
def test_offline_in_the_middle_nothing_is_missing(
    chat: ChatPage, stored: Callable[[], list[tuple[str, str]]], seconds: int
) -> None:
    last = 100 + 70 * seconds
    chat.open()
    chat.say(f"count to {last}")
    chat.until(lambda texts: texts[-1].startswith("1 2 3"))
    chat.browser.offline()
    chat.browser.pause(seconds)
    chat.browser.online()
    never_backwards(chat, last)
    chat.until_still()
    assert stored()[-1] == (numbers(last), "complete")


@pytest.mark.slow
def test_a_page_that_is_not_seen_tells_by_its_title_that_the_answer_is_done(chat: ChatPage) -> None:
    chat.open()
    chat.say("count to 60")
    chat.until(lambda texts: texts[-1].startswith("1 2 3"))
    chat.browser.hide()
    wait_for(lambda: chat.browser.run(TITLE).startswith("● "))
    chat.browser.show()
    chat.until(lambda texts: texts[-1] == numbers(60))
    assert not chat.browser.run(TITLE).startswith("● ")


@pytest.mark.slow
def test_the_list_of_sessions_says_which_one_is_written(chat: ChatPage) -> None:
    chat.open()
    one = chat.browser.driver.current_window_handle
    chat.say("count to 2")
    chat.until(lambda texts: texts[-1] == "1 2")
    chat.until_still()
    chat.browser.new_tab(chat.session())
    address = chat.browser.run("return document.querySelector('.crumbs a[href^=\"/projects/\"]').href;")
    chat.browser.open(address)
    chat.browser.until(f"return !{ROW_IS_LIVE};")
    other = chat.browser.driver.current_window_handle
    chat.browser.go_to(one)
    chat.stream()
    chat.browser.go_to(other)
    chat.browser.until(f"return {ROW_IS_LIVE};")
    chat.browser.go_to(one)
    chat.press("Stop")
    chat.until_still()
    chat.browser.go_to(other)
    chat.browser.until(f"return !{ROW_IS_LIVE};")
