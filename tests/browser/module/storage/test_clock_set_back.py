"""A machine's clock is an hour fast, and is set right between two pages: what is written later follows, in every order."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.browser.driving import Browser
from tests.browser.frontends import Frontend, stored
from tests.browser.module.joining import NETWORK
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
CLOCK = "const real = Date.now.bind(Date); Date.now = () => real() + args[0];"
HOUR_MS = 3_600_000


class Page(Frontend):
    """Without the network, until it is there for good."""

    def open(self, fast: int) -> list[str]:
        self.browser.open(f"{self.server.url}/healthz")
        self.browser.run(CLOCK + "localStorage.setItem('network', 'away');", fast)
        self.browser.run(NETWORK, None, None, 1)
        return [message["text"] for message in self.begin()["messages"]]

    def back(self) -> None:
        self.browser.run("localStorage.setItem('network', ''); window.dispatchEvent(new Event('online'));")
        self.settle()


@pytest.fixture
def page(browser: Browser, server: LiveServer, alice: User) -> Iterator[Page]:
    yield Page(browser, server, alice)
    browser.leave()


def write(page: Page, message_id: str, text: str) -> None:
    page.say(message_id, text)
    page.browser.run("await chat.stored();")


def test_what_a_later_page_says_in_a_session_that_is_still_to_be_made(page: Page, api: Callable[..., Any]) -> None:
    page.open(HOUR_MS)
    write(page, "m1", "one")
    assert page.open(0) == ["one"]
    write(page, "m2", "two")
    page.back()
    assert stored(api, page) == page.texts() == ["one", "two"]


def test_what_a_later_page_says_after_a_clear(page: Page, api: Callable[..., Any]) -> None:
    page.open(HOUR_MS)
    write(page, "m1", "one")
    page.back()
    page.open(HOUR_MS)
    page.browser.run("void chat.clear();")
    write(page, "m2", "two")
    assert page.open(0) == ["two"]
    write(page, "m3", "three")
    page.back()
    assert stored(api, page) == page.texts() == ["two", "three"]


def test_the_newer_draft_is_read(page: Page) -> None:
    page.open(HOUR_MS)
    page.browser.run("chat.saveDraft('half a'); chat.flush(); await new Promise((go) => setTimeout(go, 200));")
    page.open(0)
    assert page.browser.run("return chat.draft();") == "half a"
    page.browser.run("chat.saveDraft('half a thought'); await new Promise((go) => setTimeout(go, 200));")
    page.open(0)
    assert page.browser.run("return chat.draft();") == "half a thought"
