"""What only this browser has is told on every page, with a list, Retry and Copy."""

import pytest
from django.contrib.auth.models import User

from sessions_app.models import Message
from tests.browser.accessibility import assert_accessible
from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser
from tests.browser.offline.conftest import Station
from tests.support.suite import is_patient

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.offline]
BADGE = "return document.getElementById('waiting-open').textContent;"
TOLD = "return document.getElementById('waiting-open').textContent === args[0];"
ROWS = "return [...document.querySelectorAll('#waiting-rows .waiting-text')].map((row) => row.textContent);"
CLIPBOARD = "return await navigator.clipboard.readText();"


def questions() -> list[str]:
    return list(Message.objects.filter(role="user").order_by("id").values_list("text", flat=True))


def allow_clipboard(browser: Browser, url: str) -> None:
    permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    browser.driver.execute_cdp_cmd("Browser.grantPermissions", {"origin": url, "permissions": permissions})


def left_waiting(chat: ChatPage, station: Station) -> Browser:
    """One message that only this browser has, of a chat that is closed; the server is there again."""
    browser = chat.browser
    station.leave()
    browser.driver.refresh()
    chat.ready()
    chat.say("count to 3")
    browser.until(TOLD, "1 message waiting")
    browser.open("about:blank")
    station.come_back()
    return browser


def test_the_chat_tells_what_waits_and_sends_it_once(chat: ChatPage, station: Station) -> None:
    browser = chat.browser
    assert browser.run(BADGE) == ""
    station.leave()
    if is_patient():
        browser.driver.refresh()
        chat.ready()
    chat.say("count to 3")
    browser.until(TOLD, "1 message waiting")
    chat.say("<b>count</b> to 4")
    browser.until(TOLD, "2 messages waiting")
    browser.driver.refresh()
    chat.ready()
    browser.until(TOLD, "2 messages waiting")
    chat.press("2 messages waiting")
    assert browser.run(ROWS) == ["count to 3", "<b>count</b> to 4"]
    assert_accessible(browser)
    allow_clipboard(browser, station.url)
    with browser.focused():
        chat.press("Copy all")
        browser.until(f"return (await (async () => {{ {CLIPBOARD} }})()) === args[0];", "count to 3\n\n<b>count</b> to 4")
        chat.press("Copy count to 3")
        browser.until(f"return (await (async () => {{ {CLIPBOARD} }})()) === args[0];", "count to 3")
    station.come_back()
    chat.press("Retry")
    browser.until(TOLD, "")
    browser.until("return !document.getElementById('waiting-list').open;")
    chat.until_still()
    assert questions() == ["count to 2", "count to 3", "<b>count</b> to 4"]


@pytest.mark.slow
def test_another_page_sends_what_a_closed_chat_left(chat: ChatPage, station: Station, bob: User, alice: User) -> None:
    browser = left_waiting(chat, station)
    browser.sign_in_as(bob, station.url)
    browser.open(f"{station.url}/keys/")
    browser.until("return document.readyState === 'complete';")
    browser.pause(4)
    assert browser.run(BADGE) == ""
    browser.sign_in_as(alice, station.url)
    browser.open(f"{station.url}/keys/")
    browser.until(TOLD, "1 message waiting")
    chat.press("1 message waiting")
    chat.press("Retry")
    browser.until(TOLD, "")
    assert questions() == ["count to 2", "count to 3"]
    chat.open()
    chat.until_answered("1 2 3")


@pytest.mark.slow
def test_a_page_of_a_former_version_says_that_it_sends_nothing(chat: ChatPage, station: Station, alice: User) -> None:
    """Its scripts are gone from the server."""
    browser = left_waiting(chat, station)
    browser.sign_in_as(alice, station.url)
    browser.open(f"{station.url}/keys/")
    browser.until(TOLD, "1 message waiting")
    chat.press("1 message waiting")
    browser.block("*/stillhere*.js")
    chat.press("Retry")
    browser.until("return document.getElementById('waiting-state').textContent.startsWith('Not sent');")
    browser.block()
    chat.press("Retry")
    browser.until(TOLD, "")
