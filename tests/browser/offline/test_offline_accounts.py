"""What a browser keeps belongs to one account: nobody else sees it, and it goes with the sign-out."""

import pytest
from django.contrib.auth.models import User

from tests.browser.chat_page import ChatPage
from tests.browser.offline.conftest import KEPT, Station

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.offline]
NO_CONNECTION = "return document.querySelector('h1').textContent === 'No connection to the server';"
WORDS = "return document.documentElement.outerHTML;"
PAGES = "return (await caches.keys()).filter((name) => name.startsWith('stillhere-pages-')).length;"


def assert_nothing_is_kept(chat: ChatPage, station: Station) -> None:
    station.leave()
    for address in (chat.address, f"{station.url}/chat/"):
        chat.browser.open(address)
        chat.browser.until(NO_CONNECTION)
        assert "shop" not in chat.browser.run(WORDS).replace(chat.address, "")


def test_another_account_sees_nothing_of_the_first(chat: ChatPage, station: Station, bob: User) -> None:
    chat.browser.sign_in_as(bob, station.url)
    chat.browser.open(f"{station.url}/")
    assert_nothing_is_kept(chat, station)


@pytest.mark.slow
def test_another_account_keeps_its_own_pages(chat: ChatPage, station: Station, bob: User) -> None:
    chat.browser.sign_in_as(bob, station.url)
    chat.open()
    assert chat.texts() == []
    chat.browser.until(KEPT)
    station.leave()
    chat.browser.driver.refresh()
    chat.ready()
    assert chat.texts() == []
    assert f'data-user="{bob.pk}"' in chat.browser.run(WORDS)


@pytest.mark.slow
def test_a_sign_out_empties_it(chat: ChatPage, station: Station) -> None:
    chat.press("Sign out")
    chat.browser.until("return location.pathname === '/login/';")
    assert chat.browser.run(PAGES) == 0
    assert_nothing_is_kept(chat, station)


@pytest.mark.slow
def test_so_does_a_sign_out_elsewhere(chat: ChatPage) -> None:
    chat.browser.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    chat.say("count to 3")
    chat.browser.until("return document.getElementById('chat-notices').textContent.includes('You are signed out.');")
    chat.browser.until(f"return (await (async () => {{ {PAGES} }})()) === 0;")
