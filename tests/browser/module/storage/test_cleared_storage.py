"""A person clears the site's data while a page is open without the network: it still has its words, and sends them later."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.browser.driving import Browser
from tests.browser.frontends import Frontend, stored
from tests.browser.module.joining import NETWORK
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
AWAY = "localStorage.setItem('network', 'away');"
BACK = "localStorage.setItem('network', ''); window.dispatchEvent(new Event('online'));"


def test_what_waits_is_stored_again_and_sent(browser: Browser, server: LiveServer, alice: User, api: Callable[..., Any]) -> None:
    page = Frontend(browser, server, alice)
    browser.open(f"{server.url}/healthz")
    browser.run(NETWORK, None, None, 1)
    page.begin()
    page.say("m1", "one")
    page.settle()
    browser.run(AWAY)
    for number in (2, 3, 4):
        page.say(f"m{number}", f"number {number}")
        browser.run("await chat.stored();")
    page.say("m5", "an answer", role="assistant", streaming=True)
    browser.run("await chat.stored();")
    cleared = {"origin": server.url, "storageTypes": "local_storage,indexeddb"}
    browser.driver.execute_cdp_cmd("Storage.clearDataForOrigin", cleared)
    browser.run(AWAY)
    browser.until("await chat.stored(); return chat._sessionClient.parts.queue.waiting.every(({ kept }) => kept);")
    page.say("m6", "afterwards")
    browser.run(BACK)
    page.settle()
    assert stored(api, page) == page.texts() == ["one", "number 2", "number 3", "number 4", "an answer", "afterwards"]
    browser.leave()
