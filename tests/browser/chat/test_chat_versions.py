"""Editing a question and regenerating an answer keep both versions; ‹1/2› switches between them, in all tabs."""

import pytest

from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, wait_for
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
VERSIONS = "return [...document.querySelectorAll('[role=log] .versions:not([hidden])')].map((one) => one.textContent);"
PRESS = (
    "const found = [...document.querySelectorAll('[role=log] [aria-label=\"' + args[0] + '\"]')]"
    ".filter((one) => !one.closest('[hidden]')); found.at(args[1]).focus(); found.at(args[1]).click();"
)


@pytest.fixture
def chat(signed_in: Browser, server: LiveServer) -> ChatPage:
    page = ChatPage(signed_in, server.url)
    page.open()
    page.say("What is a lease?")
    page.until(lambda texts: len(texts) == 2)
    page.until_still()
    return page


def versions(chat: ChatPage, wanted: list[str]) -> None:
    wait_for(lambda: chat.browser.run(VERSIONS) == wanted)


def edit(chat: ChatPage, text: str) -> None:
    chat.browser.run(PRESS, "Edit message", 0)
    box = chat.browser.textbox("Message")
    box.clear()
    box.send_keys(text)
    chat.browser.click("Send")
    chat.until(lambda texts: len(texts) == 2 and texts[0] == text)
    chat.until_still()


def test_an_edit_keeps_the_former_question_with_its_answer(chat: ChatPage) -> None:
    former = chat.texts()
    edit(chat, "What is a quota?")
    versions(chat, ["‹2/2›"])
    edited = chat.texts()
    chat.browser.run(PRESS, "Previous version", 0)
    assert chat.until(lambda texts: texts[0] == former[0]) == former
    versions(chat, ["‹1/2›"])
    chat.open()
    assert chat.until(lambda texts: len(texts) == 2) == former
    chat.browser.run(PRESS, "Next version", 0)
    assert chat.until(lambda texts: texts[0] == edited[0]) == edited


def test_a_regenerated_answer_is_another_version(chat: ChatPage) -> None:
    chat.browser.run(PRESS, "Regenerate answer", 0)
    versions(chat, ["‹2/2›"])
    chat.until_still()
    assert len(chat.texts()) == 2


def test_the_sessions_page_switches_versions_and_other_tabs_follow(chat: ChatPage) -> None:
    former = chat.texts()
    edit(chat, "What is a quota?")
    versions(chat, ["‹2/2›"])
    one = chat.browser.driver.current_window_handle
    chat.browser.new_tab(chat.session())
    chat.browser.until("return document.querySelector('.versions span').textContent === '2/2';")
    chat.browser.run("document.querySelector('[aria-label=\"Previous version\"]').click();")
    chat.browser.until("return document.querySelector('.versions span')?.textContent === '1/2';")
    chat.browser.go_to(one)
    chat.until(lambda texts: texts[0] == former[0])
