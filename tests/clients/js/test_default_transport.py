"""What answers without a transport of the page's own: `/api/chat`, or Stillhere's model."""

from typing import Any

import pytest

from tests.browser.driving import wait_for
from tests.clients.js.chat_page import ChatPage
from tests.clients.js.chat_site import Site
from tests.clients.js.conftest import needs_packages
from tests.clients.js.test_ai_sdk import same

pytestmark = [pytest.mark.browser, pytest.mark.once, needs_packages]


def test_stillhere_answers_and_saves(page: ChatPage, site: Site, settings: Any) -> None:
    settings.CHAT_WORD_MS = 5
    page.open(transport="stillhere")
    page.say("Hello")
    wait_for(lambda: len(page.texts()) == 2 and len(page.texts()[1]) > 0)
    page.idle()
    page.settle()
    assert site.asked == []
    page.call("void chat.regenerate();")
    page.until("return chat.versionsOf(chat.messages[1]?.id)?.count === 2;")
    page.idle()
    page.say("Again")
    wait_for(lambda: len(page.texts()) == 4)
    page.idle()
    page.settle()
    assert [message["role"] for message in page.messages()] == ["user", "assistant"] * 2
    same(page, page.messages())


def test_a_page_without_a_backend_is_told_what_to_do(page: ChatPage, site: Site) -> None:
    site.status = 404
    page.open()
    page.say("Hello")
    assert page.call("return chat.status;") == "error"
    assert '`transport: "stillhere"`' in page.call("return chat.error.message;")
    assert page.texts() == ["Hello"]


def test_stop_ends_the_answer_at_stillhere(page: ChatPage) -> None:
    page.open(transport="stillhere")
    page.say("count to 2000", wait=False)
    page.until("return chat.messages.at(-1).parts.some(({ text }) => text?.includes('1 2 3'));")
    page.call("void chat.stop();")
    page.idle()
    page.until("return chat.connection.settled(8000);")
    page.open()
    page.until("return chat.connection.answering === null;")
    assert not page.texts()[-1].endswith(" 2000")


@pytest.mark.parametrize("id", [None, ""])
def test_an_id_that_is_missing_is_not_that_of_a_chat(page: ChatPage, id: str | None) -> None:
    page.browser.open(f"{page.url}/")
    page.browser.until("return window.ready === true;")
    page.browser.run("show([args[0]]);", {**page.options, "id": id})
    page.browser.until("return window.errors.some((text) => text.includes('The id of a session is not empty.'));")
    refused = "return loadMessages(args[0]).catch(({ name, message }) => `${name}: ${message}`);"
    assert page.browser.run(refused, {**page.options, "id": id}) == "TypeError: The id of a session is not empty."
