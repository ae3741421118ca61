"""Editing a question and regenerating an answer keep both versions; ‹1/2› switches between them, in all tabs."""

from typing import Any

import pytest

from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, wait_for
from tests.browser.keyboard import Keyboard
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
VERSIONS = "return [...document.querySelectorAll('[role=log] .versions:not([hidden])')].map((one) => one.textContent);"
PRESS = (
    "const found = [...document.querySelectorAll('[role=log] [aria-label=\"' + args[0] + '\"]')]"
    ".filter((one) => !one.closest('[hidden]')); found.at(args[1]).focus(); found.at(args[1]).click();"
)

SHOWN = "((id) => document.getElementById(id).checkVisibility())"
QUIET = "return document.getElementById('chat-quiet').textContent.startsWith(args[0]);"
TYPED = "return document.getElementById('chat-message').value === args[0];"
EDITING = "return document.getElementById('chat-editing').hidden === false;"


@pytest.fixture
def chat(signed_in: Browser, server: LiveServer, settings: Any) -> ChatPage:
    settings.CHAT_WORD_MS = 0
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


def test_an_edit_keeps_the_former_question_with_its_answer_in_all_tabs(chat: ChatPage) -> None:
    former = chat.texts()
    edit(chat, "What is a quota?")
    versions(chat, ["‹2/2›"])
    edited = chat.texts()
    chat.browser.run(PRESS, "Previous version", 0)
    assert chat.until(lambda texts: texts[0] == former[0]) == former
    versions(chat, ["‹1/2›"])
    # The pressed button belongs to a message that is gone.
    chat.browser.until("return document.activeElement.ariaLabel === 'Previous version';")
    chat.open()
    assert chat.until(lambda texts: len(texts) == 2) == former
    chat.browser.run(PRESS, "Next version", 0)
    assert chat.until(lambda texts: texts[0] == edited[0]) == edited
    one = chat.browser.driver.current_window_handle
    chat.browser.new_tab(chat.session())
    chat.browser.until("return document.querySelector('.versions span').textContent === '2/2';")
    chat.browser.run("document.querySelector('[aria-label=\"Previous version\"]').click();")
    chat.browser.until("return document.querySelector('.versions span')?.textContent === '1/2';")
    chat.browser.go_to(one)
    assert chat.until(lambda texts: texts[0] == former[0]) == former


def test_by_keyboard_an_answer_is_made_again_without_losing_one_s_place(chat: ChatPage) -> None:
    hands = Keyboard(chat.browser)
    hands.choose("Regenerate answer", backwards=True)
    versions(chat, ["‹2/2›"])
    assert hands.name() == "Message"


def begin_edit(chat: ChatPage, *, draft: str) -> None:
    chat.browser.textbox("Message").send_keys(draft)
    chat.until_draft_stored(draft)
    chat.browser.run(PRESS, "Edit message", 0)
    chat.browser.until(TYPED, "What is a lease?")


@pytest.mark.slow
def test_a_draft_is_back_after_an_edit(chat: ChatPage) -> None:
    begin_edit(chat, draft="not sent yet")
    chat.press("Cancel edit")
    assert chat.browser.run(TYPED, "not sent yet")
    chat.reload_hard()
    chat.browser.until(TYPED, "not sent yet")
    edit(chat, "What is a quota?")
    assert chat.browser.run(TYPED, "not sent yet")
    chat.reload_hard()
    chat.browser.until(TYPED, "not sent yet")
    assert not chat.browser.run(EDITING)


@pytest.mark.slow
def test_a_reload_while_editing_loses_neither_the_edit_nor_the_draft(chat: ChatPage) -> None:
    begin_edit(chat, draft="not sent yet")
    chat.browser.textbox("Message").send_keys(" Briefly.")
    chat.reload_hard()
    chat.browser.until(TYPED, "What is a lease? Briefly.")
    assert chat.browser.run(EDITING)
    chat.press("Send")
    chat.until(lambda texts: texts[0] == "What is a lease? Briefly.")
    chat.browser.until(TYPED, "not sent yet")
    versions(chat, ["‹2/2›"])


@pytest.mark.slow
def test_an_edit_ends_when_another_session_is_opened(chat: ChatPage) -> None:
    begin_edit(chat, draft="not sent yet")
    chat.browser.textbox("Project").clear()
    chat.browser.textbox("Project").send_keys(f"{chat.project}-b")
    chat.press("Open")
    chat.browser.until(TYPED, "")
    assert not chat.browser.run(EDITING)
    chat.browser.driver.back()
    chat.browser.until(TYPED, "not sent yet")


@pytest.mark.slow
def test_what_is_edited_is_not_offered_another_answer_meanwhile(chat: ChatPage, settings: Any) -> None:
    settings.CHAT_WORD_MS = 40
    chat.stream()
    chat.press("Stop")
    chat.until_still()
    chat.browser.until(f"return {SHOWN}('chat-unanswered');")
    chat.browser.run(PRESS, "Edit message", 0)
    assert chat.browser.run(f"return !{SHOWN}('chat-unanswered') && {SHOWN}('chat-editing');")
    chat.press("Cancel edit")
    assert chat.browser.run(f"return {SHOWN}('chat-unanswered');")


@pytest.mark.slow
def test_other_versions_are_not_counted_as_messages_that_are_missing(chat: ChatPage) -> None:
    edit(chat, "What is a quota?")
    chat.reload_hard()
    chat.browser.until(QUIET, "Restored: 2 messages")
    assert chat.browser.run("return document.querySelector('[role=log] .older').hidden;")
    chat.browser.block("*/api/v1/*")
    chat.open()
    chat.browser.until(QUIET, "Shown from this browser: 2 messages")


@pytest.mark.slow
def test_a_regenerated_answer_is_another_version(chat: ChatPage) -> None:
    chat.browser.run(PRESS, "Regenerate answer", 0)
    versions(chat, ["‹2/2›"])
    chat.until_still()
    assert len(chat.texts()) == 2
