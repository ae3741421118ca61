"""The command palette and the keys of rows and messages, in a real browser."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from sessions_app.models import Project
from tests.browser.accessibility import LIVE, assert_accessible
from tests.browser.driving import Browser
from tests.browser.keyboard import Keyboard
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
OPTIONS = (
    "return [...document.querySelectorAll('#palette[open] [role=option] > span:first-child')].map((one) => one.textContent);"
)
CHOSEN = "return document.querySelector('#palette [aria-selected=true] > span')?.textContent;"
AT = "return document.activeElement.closest('article')?.dataset.id;"
FOCUSED = "return document.activeElement.id;"


@pytest.fixture
def chat(server: LiveServer, api: Callable[..., Any], alice: User) -> Chat:
    chat = Chat(api(alice))
    chat.api.patch(f"/sessions/{chat.id}", {"title": "Cart race"})
    chat.say("q1", "Why?")
    parts = [{"type": "reasoning", "text": "One."}, {"type": "text", "text": "So."}]
    chat.ops({"op": "upsert", "id": "a1", "role": "assistant", "parts": parts})
    chat.say("q2", "And then?")
    return chat


def open_palette(browser: Browser) -> None:
    ActionChains(browser.driver).key_down(Keys.CONTROL).send_keys("k").key_up(Keys.CONTROL).perform()
    browser.until("return document.activeElement.id === 'palette-field';")


@pytest.mark.parametrize(("title", "typed"), [("Cafe\u0301 plan", "caf\u00e9"), ("\u0130stanbul trip", "istanbul")])
def test_the_palette_offers_what_the_server_finds(
    signed_in: Browser, server: LiveServer, chat: Chat, title: str, typed: str
) -> None:
    """However its letters are composed."""
    chat.api.patch(f"/sessions/{chat.id}", {"title": title})
    signed_in.open(f"{server.url}/account/")
    open_palette(signed_in)
    Keyboard(signed_in).press(typed)
    signed_in.until(f"return (() => {{ {OPTIONS} }})()[0] === args[0];", title)


def test_the_palette_goes_anywhere_and_does_what_the_page_can(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    signed_in.open(f"{server.url}/account/")
    keys = Keyboard(signed_in)
    open_palette(signed_in)
    keys.press("cart")
    signed_in.until(f"return (() => {{ {OPTIONS} }})()[0] === 'Cart race';")
    assert signed_in.run(OPTIONS) == ["Cart race", "Search everything for “cart”"]
    assert_accessible(signed_in)
    assert signed_in.run(CHOSEN) == "Cart race"
    keys.press(Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ENTER)
    signed_in.until(f"return location.pathname === '/sessions/{chat.id}/' && (() => {{ {LIVE} }})();")
    open_palette(signed_in)
    keys.press("renam")
    signed_in.until(f"return (() => {{ {CHOSEN} }})() === 'Rename';")
    keys.press(Keys.ENTER)
    signed_in.until(f"return (() => {{ {FOCUSED} }})() === 'title';")
    open_palette(signed_in)
    keys.press("j?", Keys.ESCAPE)
    signed_in.until("return document.querySelector('dialog[open]') === null;")
    signed_in.until(f"return (() => {{ {FOCUSED} }})() === 'title';")
    assert signed_in.complaints() == []


def test_a_palette_that_the_server_no_longer_has_says_so(signed_in: Browser, server: LiveServer) -> None:
    """As in a page that was open while the server got another version."""
    signed_in.open(f"{server.url}/account/")
    signed_in.block("*palette*.js")
    ActionChains(signed_in.driver).key_down(Keys.CONTROL).send_keys("k").key_up(Keys.CONTROL).perform()
    signed_in.until("return document.querySelector('#toasts-alert').innerText.includes('Reload the page.');")
    assert signed_in.run("return document.querySelector('dialog[open]') === null;")


def test_keys_of_messages_and_rows(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    signed_in.run("scrollTo(0, 0);")
    keys = Keyboard(signed_in)
    keys.press("j", "]")
    assert signed_in.run(AT) == "q2"
    keys.press("[", "j", "x")
    assert signed_in.run(AT) == "a1"
    assert signed_in.run("return document.querySelector('details.part').open;")
    keys.press("e")
    assert signed_in.run(FOCUSED) == "title"
    keys.press("jx?", Keys.ENTER)
    signed_in.until("return document.querySelector('h1').textContent === 'jx?';")
    signed_in.open(f"{server.url}/projects/{Project.objects.get().id}/")
    signed_in.until(LIVE)
    keys.press("?")
    here = "return document.getElementById('shortcuts-here').innerText.replace(/\\s+/g, ' ');"
    assert signed_in.run(here) == "Rename e"
    keys.press("j", Keys.ESCAPE)
    keys.press("j", "e")
    assert signed_in.run(FOCUSED) == f"rename-session-{chat.id}"
    assert signed_in.complaints() == []
