"""Without a mouse: everything that people do every day, by keys alone."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from sessions_app.models import ChatSession, Project
from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
FOCUSED = "return document.activeElement.innerText || document.activeElement.ariaLabel || document.activeElement.id;"


class Hands:
    """On the keyboard."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.browser, self.url = browser, url

    def press(self, *keys: str) -> None:
        for key in keys:
            ActionChains(self.browser.driver).send_keys(key).perform()

    def focused(self) -> str:
        return str(self.browser.run(FOCUSED))

    def tab_to(self, name: str, most: int = 60) -> None:
        for _ in range(most):
            if self.focused().startswith(name):
                assert self.browser.run("return document.activeElement.matches(':focus-visible');"), name
                return
            self.press(Keys.TAB)
        raise AssertionError(f"Nobody comes to {name!r} by Tab.")

    def at(self, path: str) -> None:
        self.browser.until("return location.pathname === args[0] && document.readyState === 'complete';", path)


@pytest.fixture
def hands(signed_in: Browser, server: LiveServer) -> Hands:
    return Hands(signed_in, server.url)


def test_finding_opening_and_changing_a_session(hands: Hands, api: Callable[..., Any], alice: User) -> None:
    chat = Chat(api(alice))
    chat.say("m1", "a needle in the hay")
    hands.browser.open(f"{hands.url}/")
    hands.press(Keys.TAB)
    assert hands.focused() == "Skip to the page"
    hands.press("/")
    assert hands.focused() == "search"
    hands.press(*"needle", Keys.ENTER)
    hands.at("/search/")
    hands.press("j")
    assert hands.focused() == "a needle in the hay"
    hands.press(Keys.ENTER)
    hands.at(f"/sessions/{chat.id}/")
    hands.tab_to("title")
    hands.press(*"Found", Keys.ENTER)
    hands.browser.until("return document.querySelector('h1').textContent === 'Found';")
    assert ChatSession.objects.get(pk=chat.id).title == "Found"
    hands.tab_to("Fork from here")
    hands.browser.run("document.activeElement.blur(); scrollTo(0, 0); document.getElementById('main').focus();")
    hands.tab_to("Clear session")
    hands.press(Keys.ENTER)
    # The page that is left empties too, when it hears of it.
    hands.browser.until("return document.readyState === 'complete' && document.querySelector('[role=status] button') !== null;")
    hands.press("u")
    assert hands.focused() == "Undo"
    hands.press(Keys.ENTER)
    hands.browser.until("return document.querySelectorAll('article').length === 1;")


@pytest.mark.slow
def test_lists_menus_and_shortcuts(hands: Hands, api: Callable[..., Any], alice: User) -> None:
    client = api(alice)
    for path in ("one", "two"):
        client.post("/projects", {"path": path})
    hands.browser.open(f"{hands.url}/")
    hands.press("j", "j", "k")
    assert hands.focused() == "two"
    hands.press("j", Keys.ENTER)
    hands.at(f"/projects/{Project.objects.get(path='one').id}/")
    hands.press("g", "p")
    hands.at("/")
    hands.press("?")
    assert hands.browser.run("return document.getElementById('shortcuts').open;")
    assert hands.browser.run("return [...document.querySelectorAll('#shortcuts kbd')].some((key) => key.innerText === 'Esc');")
    hands.press(Keys.ESCAPE)
    assert not hands.browser.run("return document.getElementById('shortcuts').open;")
    hands.tab_to("New project")
    hands.press(Keys.ENTER, Keys.ESCAPE)
    assert hands.focused() == "New project"
    hands.press(Keys.ENTER, Keys.TAB, *"three", Keys.ENTER)
    hands.browser.until("return document.querySelector('h1').innerText === 'three' && document.readyState === 'complete';")
    hands.tab_to("Settings")
    hands.press(Keys.ENTER)
    hands.at(f"/projects/{Project.objects.get(path='three').id}/settings/")


@pytest.mark.slow
def test_chatting(hands: Hands) -> None:
    chat = ChatPage(hands.browser, hands.url)
    chat.open()
    hands.browser.run("document.getElementById('chat-message').focus();")
    hands.press(*"count to 3", Keys.ENTER)
    chat.until(lambda texts: texts == ["count to 3", "1 2 3"])
    chat.until_still()
    hands.browser.run("document.activeElement.blur();")
    hands.press("j", "[", "e")
    hands.browser.until("return document.activeElement.id === 'chat-message' && document.activeElement.value === 'count to 3';")
    hands.tab_to("Cancel edit")
    hands.press(Keys.ENTER)
    hands.tab_to("Back to question")
    hands.tab_to("Clear session")
    hands.press(Keys.ENTER)
    chat.until(lambda texts: texts == [])
    hands.tab_to("Undo")
    hands.press(Keys.ENTER)
    chat.until(lambda texts: texts == ["count to 3", "1 2 3"])
    assert hands.browser.complaints() == []


def test_the_last_action_in_a_list_is_undone_without_losing_one_s_place(
    hands: Hands, api: Callable[..., Any], alice: User
) -> None:
    """Of several Undos `u` takes the newest; the list stays, and the focus is on the row again."""
    client = api(alice)
    project = client.post("/projects", {"path": "rows"}).json()["id"]
    made = [client.post(f"/projects/{project}/sessions", {"title": title}).json()["id"] for title in ("one", "two", "three")]
    hands.browser.open(f"{hands.url}/projects/{project}/")
    hands.browser.until("return document.querySelectorAll('.list .title').length === 3;")
    hands.browser.run("window.kept = true;")
    for act in ("unpin", "pin"):
        hands.browser.run(
            "const form = document.querySelector(`#session-${args[0]} form:is([action$='/pin/'], [action$='/unpin/'])`);"
            "form.requestSubmit();",
            made[0],
        )
        hands.browser.until(
            "return document.querySelector(`#session-${args[0]} form[action$='/${args[1]}/']`) !== null;", made[0], act
        )
    hands.browser.until("return document.querySelectorAll('#toasts-status form').length === 2;")
    hands.browser.run("document.querySelector(`#session-${args[0]} .title`).focus();", made[0])
    hands.press("u")
    assert hands.browser.run("return document.activeElement.closest('form').action.includes('/pin/');")
    hands.press(Keys.ENTER)
    hands.browser.until("return document.querySelector(`#session-${args[0]} form[action$='/unpin/']`) !== null;", made[0])
    hands.browser.until("return document.activeElement.classList.contains('title');")
    assert hands.focused() == "one"
    assert hands.browser.run("return window.kept;")
