"""An answer that is watched: in two browsers at once, and by somebody who looks elsewhere and wants to be told of its end."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, start_shell, wait_for
from tests.support.live_server import LiveServer
from tests.support.machine_speed import allowed

pytestmark = [pytest.mark.browser, pytest.mark.once]
WORDS_MS = 15
APART_SECONDS = 0.5
# The moment at which each length of the last answer was first shown, by the machine's clock, which both browsers share.
RECORD = """
    window.shownAt = [];
    const look = () => {
      const texts = document.querySelectorAll("[role=log] article .words");
      const length = texts.length ? texts[texts.length - 1].textContent.trim().length : 0;
      if (length > (window.shownAt.at(-1)?.[0] ?? 0)) window.shownAt.push([length, Date.now()]);
    };
    const shown = document.querySelector("[role=log]");
    new MutationObserver(look).observe(shown, { childList: true, characterData: true, subtree: true });
"""
NOTICES = """
    window.notices = [];
    const permission = () => sessionStorage.getItem("permission") ?? "default";
    window.Notification = class extends EventTarget {
      static get permission() { return permission(); }
      static async requestPermission() { sessionStorage.setItem("permission", "granted"); return "granted"; }
      constructor(title, options) { super(); window.notices.push([title, options.body]); }
      close() {}
    };
"""


def numbers(last: int) -> str:
    return " ".join(str(number) for number in range(1, last + 1))


@pytest.fixture
def chat(signed_in: Browser, server: LiveServer, settings: Any) -> ChatPage:
    settings.CHAT_WORD_MS = WORDS_MS
    return ChatPage(signed_in, server.url)


@pytest.fixture
def second(server: LiveServer, alice: User) -> Iterator[Browser]:
    """Another browser of the same person."""
    driver = start_shell()
    browser = Browser(driver)
    browser.sign_in_as(alice, server.url)
    yield browser
    driver.quit()


@pytest.fixture
def noticing(chat: ChatPage) -> Iterator[ChatPage]:
    """The system's notifications are only recorded: a browser without a desktop shows none."""
    driver = chat.browser.driver
    script = driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": NOTICES})
    yield chat
    driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


@pytest.mark.timed
@pytest.mark.slow
def test_two_browsers_show_each_piece_within_half_a_second(chat: ChatPage, second: Browser) -> None:
    chat.open()
    chat.say("count to 3")
    chat.until(lambda texts: texts[-1] == numbers(3))
    chat.until_still()
    other = ChatPage(second, chat.url, chat.project)
    other.open()
    other.until(lambda texts: texts[-1] == numbers(3))
    for page in (chat, other):
        page.browser.run(RECORD)
    chat.say("count to 300")
    for page in (chat, other):
        page.until(lambda texts: texts[-1] == numbers(300))
    here, there = (page.browser.run("return window.shownAt;") for page in (chat, other))
    assert min(len(here), len(there)) > 20, "it was shown in pieces"
    late = [*delays(here, there), *delays(there, here)]
    assert max(late) <= allowed(APART_SECONDS), sorted(late)[-5:]


def delays(shown: list[tuple[int, int]], elsewhere: list[tuple[int, int]]) -> list[float]:
    """Seconds after which each length that was shown here was shown there too; 0: it was there before."""
    return [max(0, next(moment for longer, moment in elsewhere if longer >= length) - at) / 1000 for length, at in pieces(shown)]


def pieces(shown: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those of the second answer: the first pieces may still be of the one before."""
    assert all(before[0] < after[0] for before, after in itertools.pairwise(shown))
    return [(length, at) for length, at in shown if length > len(numbers(3))]


@pytest.mark.slow
def test_a_notification_tells_of_the_end_of_an_answer_that_nobody_sees(noticing: ChatPage) -> None:
    page, browser = noticing, noticing.browser
    page.open()
    answer_unseen(page, 40)
    assert browser.run("return window.notices;") == [], "nobody asked for them"
    page.press("Notify me")
    browser.until("return document.getElementById('chat-notify').ariaPressed === 'true';")
    answer_unseen(page, 41)
    [[title, _]] = browser.until("return window.notices.length ? window.notices : null;")
    assert title == "The answer is done."
    page.reload_hard()
    page.say("count to 5")
    page.until(lambda texts: texts[-1] == numbers(5))
    page.until_still()
    assert browser.run("return window.notices;") == [], "it was seen"
    page.press("Notify me")
    answer_unseen(page, 42)
    assert browser.run("return window.notices;") == [], "they were turned off"


def answer_unseen(page: ChatPage, last: int) -> None:
    page.say(f"count to {last}")
    page.until(lambda texts: texts[-1].startswith("1 2 3"))
    page.browser.hide()
    wait_for(lambda: page.browser.run("return document.title;").startswith("● "))
    page.browser.show()
    page.until(lambda texts: texts[-1] == numbers(last))
    page.until_still()
