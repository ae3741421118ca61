"""What somebody types and does not send is there again, one text a session."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, wait_for
from tests.support.chat import Chat
from tests.support.live_server import LiveServer
from tests.support.suite import is_patient

pytestmark = [pytest.mark.browser, pytest.mark.once]
# Sessions are read when this is released.
HOLD = """
    const { fetch } = window;
    const held = new Promise((go) => { window.release = go; });
    window.fetch = async (...given) => {
      if (String(given[0]).includes("/resume?")) await held;
      return fetch(...given);
    };
"""
VALUE = "return document.getElementById('chat-message').value;"


@pytest.fixture
def chat(signed_in: Browser, server: LiveServer) -> ChatPage:
    chat = ChatPage(signed_in, server.url)
    chat.open()
    return chat


def typed(chat: ChatPage, text: str) -> None:
    chat.browser.until(f"{VALUE[:-1]} === args[0];", text)


def test_a_draft_is_there_after_a_reload_and_gone_once_it_is_sent(chat: ChatPage) -> None:
    """The first has no session yet."""
    for words in ("half a thou", "the other half"):
        chat.browser.textbox("Message").send_keys(words)
        chat.reload_hard()
        typed(chat, words)
        chat.press("Send")
        chat.until_answered(words)
        chat.until_still()
        if words == "the other half" or is_patient():
            chat.reload_hard()
            chat.browser.until("return document.getElementById('chat-quiet').textContent.startsWith('Restored');")
        typed(chat, "")


@pytest.mark.slow
def test_each_project_has_its_own_draft(chat: ChatPage) -> None:
    field = chat.browser.textbox("Project")
    for path, words in ((chat.project, "for a"), (f"{chat.project}-b", "for b")):
        field.clear()
        field.send_keys(path)
        chat.press("Open")
        typed(chat, "")
        chat.browser.textbox("Message").send_keys(words)
    field.clear()
    field.send_keys(chat.project)
    chat.press("Open")
    typed(chat, "for a")


@pytest.mark.slow
def test_a_draft_outlives_a_tab_that_crashes(chat: ChatPage) -> None:
    home = chat.browser.driver.current_window_handle
    chat.browser.new_tab(chat.address)
    chat.ready()
    chat.browser.textbox("Message").send_keys("as it died")
    chat.until_draft_stored("as it died")
    chat.browser.crash_tab(then=home)
    chat.reload_hard()
    typed(chat, "as it died")


def test_what_is_typed_on_the_way_to_another_project_belongs_there(chat: ChatPage, api: Callable[..., Any], alice: User) -> None:
    """It follows the draft that is there, and is said there if it is sent."""
    here, there = (Chat(api(alice), project=path) for path in (chat.project, f"{chat.project}-b"))
    here.say("m1", "of one")
    there.say("m1", "of the other")
    chat.project = there.project
    chat.open()
    chat.until_answered("of the other")
    chat.browser.textbox("Message").send_keys("count")
    chat.until_draft_stored("count")
    chat.project = here.project
    chat.open()
    chat.until_answered("of one")
    chat.browser.run(HOLD)
    chat.browser.textbox("Project").clear()
    chat.browser.textbox("Project").send_keys(there.project)
    chat.press("Open")
    typed(chat, "count")
    chat.say(" to 3")
    chat.browser.run("release();")
    wait_for(lambda: there.texts() == ["of the other", "count to 3", "1 2 3"])
    assert here.texts() == ["of one"]
