"""No connection in the chat: own words that go by themselves, and questions that nobody answered are offered for an answer."""

import pytest

from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, wait_for
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
SAYS = "return document.querySelector('main').innerText.includes(args[0]);"
OFFERED = "return !document.getElementById('chat-unanswered').hidden;"
# As another tab that asks for the answer to the last message.
HOLD = """
    const last = [...document.querySelectorAll('[role=log] article')].at(-1).dataset.id;
    window.free = () => {};
    await new Promise((held) => navigator.locks.request(`stillhere:answer:${last}`, () => {
      held();
      return new Promise((resolve) => (window.free = resolve));
    }));
"""


@pytest.fixture
def chat(signed_in: Browser, server: LiveServer) -> ChatPage:
    chat = ChatPage(signed_in, server.url)
    chat.open()
    chat.say("count to 2")
    chat.until(lambda texts: texts == ["count to 2", "1 2"])
    chat.until_still()
    return chat


def test_what_was_asked_offline_is_told_saved_and_offered_for_an_answer(chat: ChatPage) -> None:
    chat.browser.offline()
    chat.say("count to 3")
    chat.browser.until(SAYS, "No connection to the server.")
    assert not chat.browser.run(SAYS, "Failed to fetch")
    assert not chat.browser.run(OFFERED)  # Nobody could answer now.
    chat.browser.online()
    chat.browser.until(OFFERED)
    wait_for(lambda: not chat.browser.run(SAYS, "No connection"))
    assert chat.browser.run(SAYS, "Your last question has no answer yet.")
    assert chat.texts() == ["count to 2", "1 2", "count to 3"]
    chat.press("Try again")
    chat.until(lambda texts: texts == ["count to 2", "1 2", "count to 3", "1 2 3"])
    wait_for(lambda: not chat.browser.run(OFFERED))


def test_an_answer_that_the_network_cut_off_says_so_and_is_offered(chat: ChatPage) -> None:
    shown = chat.stream()
    chat.browser.run(
        "const read = ReadableStreamDefaultReader.prototype;read.read = () => Promise.reject(new TypeError('network error'));"
    )
    chat.browser.until(OFFERED)
    assert chat.browser.run(SAYS, "The last answer was cut off.")
    assert not chat.browser.run(SAYS, "network error")
    assert chat.texts()[-1].startswith(shown[-1])


def test_a_question_is_not_asked_twice(chat: ChatPage) -> None:
    chat.browser.offline()
    chat.say("count to 4")
    chat.browser.until(SAYS, "No connection to the server.")
    chat.browser.online()
    chat.browser.until(OFFERED)
    chat.browser.run(HOLD)
    chat.browser.requests()
    chat.press("Try again")
    chat.browser.until(SAYS, "This is being answered already.")
    assert [sent["url"] for sent in chat.browser.requests() if sent["url"].endswith("/chat/answer")] == []
    chat.browser.run("window.free();")
    chat.press("Try again")
    chat.until(lambda texts: texts[-2:] == ["count to 4", "1 2 3 4"])
