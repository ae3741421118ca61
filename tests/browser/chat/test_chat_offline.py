"""No connection in the chat: own words that go by themselves, and questions that nobody answered are offered for an answer."""

import json
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from sessions_app.models import ChatSession
from tests.browser.accessibility import assert_accessible
from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, wait_for
from tests.browser.keyboard import Keyboard
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
HAS_INSTRUCTIONS = "return document.getElementById('chat-instruct').hasAttribute('data-on');"
SAYS = "return document.querySelector('main').innerText.includes(args[0]);"
OFFERED = "return !document.getElementById('chat-unanswered').hidden;"


@pytest.fixture
def chat(signed_in: Browser, server: LiveServer, settings: Any) -> ChatPage:
    settings.CHAT_WORD_MS = 10
    chat = ChatPage(signed_in, server.url)
    chat.open()
    chat.say("count to 2")
    chat.until(lambda texts: texts == ["count to 2", "1 2"])
    chat.until_still()
    return chat


@pytest.mark.slow
def test_what_was_asked_offline_is_told_and_answered_once(chat: ChatPage) -> None:
    chat.browser.offline()
    chat.say("count to 3")
    chat.browser.until(SAYS, "No connection to the server.")
    assert not chat.browser.run(SAYS, "Failed to fetch")
    assert not chat.browser.run(OFFERED)  # It is asked by itself.
    assert chat.browser.run("return document.getElementById('chat-stop').hidden;")  # Nothing is made that could be stopped.
    chat.browser.online()
    chat.until(lambda texts: texts == ["count to 2", "1 2", "count to 3", "1 2 3"])
    chat.until_still()
    wait_for(lambda: not chat.browser.run(SAYS, "No connection"))
    assert not chat.browser.run(OFFERED)


def test_a_question_that_was_asked_offline_outlives_its_page(chat: ChatPage) -> None:
    home = chat.browser.driver.current_window_handle
    chat.browser.new_tab(chat.address)
    chat.ready()
    chat.browser.offline()
    chat.say("count to 4")
    chat.browser.until(SAYS, "No connection to the server.")
    chat.browser.close_tab(then=home)
    chat.open()
    chat.until(lambda texts: texts == ["count to 2", "1 2", "count to 4", "1 2 3 4"])
    chat.until_still()


@pytest.mark.slow
def test_a_stream_that_breaks_is_read_on(chat: ChatPage) -> None:
    chat.stream()
    chat.browser.run(
        "const read = ReadableStreamDefaultReader.prototype; const former = read.read;"
        "read.read = () => { read.read = former; return Promise.reject(new TypeError('network error')); };"
    )
    chat.until_grown()
    chat.until_grown()
    assert not chat.browser.run(SAYS, "network error")
    chat.press("Stop")
    chat.until_still()


@pytest.mark.slow
def test_what_only_this_browser_has_says_so_until_it_is_saved(chat: ChatPage) -> None:
    notes = "return [...document.querySelectorAll('[role=log] article > small')].map((note) => note.textContent);"
    chat.browser.offline()
    chat.say("count to 3")
    chat.say("count to 4")
    wait_for(lambda: chat.browser.run(notes) == ["", "", "not saved yet", "not saved yet"])
    assert_accessible(chat.browser)
    chat.browser.online()
    wait_for(lambda: not any(chat.browser.run(notes)))


def test_questions_that_were_asked_offline_are_answered_one_after_the_other(chat: ChatPage) -> None:
    chat.browser.offline()
    chat.say("count to 40")
    chat.say("count to 4")
    chat.browser.until(SAYS, "No connection to the server.")
    chat.browser.online()
    chat.until(lambda texts: texts[-1].endswith("38 39 40") or texts[-2].endswith("38 39 40"))
    chat.until(lambda texts: "1 2 3 4" in texts)
    chat.until_still()
    assert not chat.browser.run(OFFERED)


@pytest.mark.slow
def test_a_new_session_begins_at_once(chat: ChatPage) -> None:
    chat.browser.offline()
    chat.say("count to 3")
    chat.browser.until(SAYS, "No connection to the server.")
    begun = chat.browser.run("return performance.now();")
    chat.press("New session")
    chat.browser.until(SAYS, "A new session.")
    assert chat.browser.run("return performance.now();") - begun < 2500
    chat.say("count to 4")
    chat.browser.online()
    chat.until(lambda texts: texts == ["count to 4", "1 2 3 4"])
    chat.until_still()
    texts = [[message.text for message in session.messages.order_by("position")] for session in sessions()]
    assert texts == [["count to 2", "1 2", "count to 3", "1 2 3"], ["count to 4", "1 2 3 4"]]


@pytest.mark.slow
def test_what_was_said_before_the_first_session_stays_out_of_a_new_one(signed_in: Browser, server: LiveServer) -> None:
    chat = ChatPage(signed_in, server.url)
    chat.open()
    chat.browser.offline()
    chat.say("count to 3")
    chat.press("New session")
    chat.browser.until(SAYS, "A new session.")
    chat.say("count to 4")
    chat.browser.online()
    chat.until(lambda texts: texts == ["count to 4", "1 2 3 4"])
    texts = [[message.text for message in session.messages.filter(role="user").order_by("position")] for session in sessions()]
    assert texts == [["count to 3"], ["count to 4"]]


@pytest.mark.slow
def test_instructions_that_were_saved_offline_outlive_their_page(chat: ChatPage) -> None:
    home = chat.browser.driver.current_window_handle
    chat.browser.new_tab(chat.address)
    chat.ready()
    chat.browser.offline()
    chat.press("Instructions")
    hands = Keyboard(chat.browser)
    hands.press("Answer in Latin.")
    chat.press("Save instructions")
    hands.press(Keys.TAB)
    chat.press("Instructions")
    hands.press(Keys.END, " Briefly.", Keys.ESCAPE)
    chat.browser.run("await new Promise((resolve) => setTimeout(resolve, 300));")
    chat.browser.crash_tab(then=home)
    chat.open()
    wait_for(lambda: [json.loads(one.metadata or "{}") for one in sessions()] == [{"instructions": "Answer in Latin."}])
    chat.press("Instructions")
    field = chat.browser.textbox("Instructions")
    # What was typed and not saved is still there, until it is given up.
    assert field.get_attribute("value") == "Answer in Latin. Briefly."
    chat.press("Cancel")
    chat.browser.until(HAS_INSTRUCTIONS)
    chat.reload_hard()
    chat.browser.until(HAS_INSTRUCTIONS)
    chat.press("Instructions")
    assert chat.browser.textbox("Instructions").get_attribute("value") == "Answer in Latin."


def sessions() -> list[ChatSession]:
    return list(ChatSession.objects.order_by("created_at"))
