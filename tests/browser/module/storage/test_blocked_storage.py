"""A browser that blocks localStorage: everything works, by IndexedDB and in memory, with one warning."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser
from tests.browser.frontends import Frontend, stored
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
BLOCKED = """
    Object.defineProperty(window, "localStorage", { get() { throw new DOMException("Access is denied.", "SecurityError"); } });
"""
# Some browsers hand the object out, and it throws when it is used.
UNUSABLE = "Object.defineProperty(window, 'localStorage', { value: new Proxy({}, { get() { throw new Error('denied'); } }) });"


NONE = "Object.defineProperty(window, 'localStorage', { value: null });"


@pytest.fixture(params=[BLOCKED, *(pytest.param(way, marks=pytest.mark.slow) for way in (UNUSABLE, NONE))])
def blocked(request: pytest.FixtureRequest, signed_in: Browser) -> Iterator[Browser]:
    driver = signed_in.driver
    script = driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": request.param})
    yield signed_in
    driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


def test_the_module_saves_and_keeps_what_is_unsent(
    blocked: Browser, server: LiveServer, alice: User, api: Callable[..., Any]
) -> None:
    page = Frontend(blocked, server, alice)
    page.load()
    blocked.warnings()
    page.load()
    page.say("m1", "saved")
    page.settle()
    page.browser.run("chat.saveState({ context: 'known' }); await chat.settled();")
    blocked.offline()
    page.say("m2", "unsent")
    page.browser.run("await chat.switchProject(args[0]); await chat.switchProject(args[1]);", f"{page.project}-b", page.project)
    blocked.online()
    [warning] = [line for line in blocked.warnings() if "Stillhere" in line]
    assert "storage_blocked" in warning
    state = page.load()
    assert [message["text"] for message in state["messages"]] == stored(api, page) == ["saved", "unsent"]
    assert state["agentState"]["context"] == "known"


@pytest.mark.slow
def test_the_chat_page_works(blocked: Browser, server: LiveServer) -> None:
    chat = ChatPage(blocked, server.url)
    chat.open()
    chat.say("count to 3")
    chat.until(lambda texts: texts == ["count to 3", "1 2 3"])
    chat.browser.textbox("Message").send_keys("typed")
    # Without localStorage nothing covers the moment in which the page closes.
    chat.until_draft_stored("typed")
    chat.reload_hard()
    assert chat.texts() == ["count to 3", "1 2 3"]
    chat.browser.until("return document.getElementById('chat-message').value === 'typed';")
    assert blocked.complaints() == []
