"""Where messages are written: nothing that is pasted is cut, and what is said of this browser's storage is true."""

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest
from django.contrib.auth.models import User
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from sessions_app.models import Message
from tests.browser.accessibility import assert_accessible
from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, wait_for
from tests.browser.keyboard import Keyboard
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
LONG = "".join(f"{number:05} ünd %41 # so\n" for number in range(6_667))[:120_003]
NOTICES = "return [...document.querySelectorAll('.chat-notices .chat-notice')].map((line) => line.textContent);"
VALUE = "return document.getElementById('chat-message').value;"
HEIGHT = "return document.getElementById('chat-say').offsetHeight;"
FILL = """
    let size = 5_000_000;
    for (let n = 0; size > 0; n += 1) try { localStorage.setItem(`full${n}`, 'x'.repeat(size)); } catch { size >>= 1; }
"""


@pytest.fixture
def page(signed_in: Browser, server: LiveServer, settings: Any) -> ChatPage:
    settings.CHAT_WORD_MS = 0
    page = ChatPage(signed_in, server.url)
    page.open()
    granted = {"origin": page.url, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    page.browser.driver.execute_cdp_cmd("Browser.grantPermissions", granted)
    return page


def paste(page: ChatPage, text: str) -> None:
    with page.browser.focused():
        page.browser.run("await navigator.clipboard.writeText(args[0]);", text)
    page.browser.textbox("Message").click()
    ActionChains(page.browser.driver).key_down(Keys.CONTROL).send_keys("v").key_up(Keys.CONTROL).perform()
    wait_for(lambda: page.browser.run("return document.getElementById('chat-message').value.length;") >= len(text))


def saved(texts: int) -> list[Message]:
    """What the user said, once so much of it is saved."""
    wait_for(lambda: Message.objects.filter(role="user").count() == texts)
    return list(Message.objects.filter(role="user").order_by("position"))


def test_a_long_paste_is_told_and_sent_as_several_messages(page: ChatPage) -> None:
    paste(page, LONG)
    [told] = page.browser.run(NOTICES)
    assert "120\u202f003 characters" in told
    assert_accessible(page.browser)
    page.press("Send")
    assert page.browser.run(VALUE) == LONG  # It is not sent in part.
    page.press("Send as 2 messages")
    pieces = saved(2)
    assert "".join(piece.text for piece in pieces) == LONG.rstrip()
    assert pieces[0].text.endswith("\n")
    page.until(lambda texts: len(texts) == 3)  # One answer to both.
    assert (page.browser.run(NOTICES), page.browser.run(VALUE)) == ([], "")


def test_a_long_paste_is_sent_as_a_file_beside_the_words_around_it(page: ChatPage, api: Callable[..., Any], alice: User) -> None:
    page.browser.textbox("Message").send_keys("Look at this: ")
    paste(page, LONG)
    page.press("Send as a text file")
    [message] = saved(1)
    assert message.text == "Look at this:"
    session = page.session().rstrip("/").rsplit("/", 1)[-1]
    caption, file = api(alice).get(f"/sessions/{session}").json()["messages"][0]["parts"]
    assert caption == {"type": "text", "text": "Look at this:"}
    assert (file["type"], file["mediaType"], file["filename"]) == ("file", "text/plain", "pasted-text.txt")
    assert unquote(file["url"].removeprefix("data:text/plain;charset=utf-8,")) == LONG
    page.reload_hard()
    page.until(lambda texts: "Look at this:" in texts[0] and "pasted-text.txt" in texts[0])
    page.browser.run("URL.createObjectURL = (blob) => ((window.blob = blob), 'blob:none');")
    page.press("Download pasted-text.txt")
    assert page.browser.run("return window.blob.text();") == LONG


@pytest.mark.slow
def test_a_text_that_is_made_short_enough_is_a_message(page: ChatPage) -> None:
    paste(page, "x" * 100_001)
    assert "100\u202f001 characters" in page.browser.run(NOTICES)[0]
    page.browser.textbox("Message").send_keys(Keys.BACKSPACE)
    wait_for(lambda: page.browser.run(NOTICES) == [])
    page.press("Send")
    assert [message.text for message in saved(1)] == ["x" * 100_000]


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.slow
def test_the_composer_keeps_its_height_from_one_question_to_the_next(page: ChatPage, settings: Any, width: int) -> None:
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    page.browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        page.say("count to 2")
        page.until_answered("1 2")
        page.until_still()
        height = page.browser.run(HEIGHT)
        settings.CHAT_WORD_MS = 100
        page.say("count to 500")
        page.browser.until("return !document.getElementById('chat-stop').hidden;")
        assert page.browser.run(HEIGHT) == height
        page.until_answered("1 2 3")
        page.press("Stop")
        page.browser.until("return document.getElementById('chat-unanswered-text').checkVisibility();")
        assert "You stopped" in page.browser.run("return document.getElementById('chat-unanswered-text').textContent;")
        assert page.browser.run("return document.activeElement.id;") == "chat-message"
        page.until_still()
        assert page.browser.run(HEIGHT) == height
    finally:
        page.browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_enter_while_an_answer_is_made_is_told_and_escape_stops_it(page: ChatPage, settings: Any) -> None:
    settings.CHAT_WORD_MS = 100
    page.stream()
    hands = Keyboard(page.browser)
    page.browser.textbox("Message").send_keys("what next", Keys.ENTER)
    wait_for(lambda: any("wait for the answer" in line for line in page.browser.run(NOTICES)))
    assert_accessible(page.browser)
    # What is open is closed first.
    page.press("Instructions")
    hands.press(Keys.ESCAPE)
    assert page.browser.button("Stop").is_displayed()
    page.browser.textbox("Message").send_keys(Keys.ESCAPE)
    page.until_still()
    assert (page.browser.run(NOTICES), page.browser.run(VALUE)) == ([], "what next")


@pytest.mark.slow
def test_a_full_storage_is_told_as_it_is(page: ChatPage) -> None:
    """What was not saved yet lives in IndexedDB, not in the tab alone."""
    page.say("count to 2")
    page.until(lambda texts: texts[-1] == "1 2")
    page.browser.run(FILL)
    try:
        page.browser.offline()
        paste(page, "z" * 3000)  # Typed, it would be 3,000 key presses.
        page.press("Send")
        wait_for(lambda: any("localStorage is full or blocked" in line for line in page.browser.run(NOTICES)))
        assert "only in this tab" not in page.browser.run("return document.querySelector('main').innerText;")
        page.browser.online()
        assert [message.text for message in saved(2)][1] == "z" * 3000
        page.press("OK")
        wait_for(lambda: page.browser.run(NOTICES) == [])
    finally:
        page.browser.run("localStorage.clear();")
