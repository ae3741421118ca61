"""No connection in the chat: own words that go by themselves, and questions that nobody answered are offered for an answer."""

import pytest

from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, wait_for
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
SAYS = "return document.querySelector('main').innerText.includes(args[0]);"
OFFERED = "return !document.getElementById('chat-unanswered').hidden;"


@pytest.fixture
def chat(signed_in: Browser, server: LiveServer) -> ChatPage:
    chat = ChatPage(signed_in, server.url)
    chat.open()
    chat.say("count to 2")
    chat.until(lambda texts: texts == ["count to 2", "1 2"])
    chat.until_still()
    return chat


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
