"""A tab that nobody sees costs nothing, and one that is seen again is up to date: hidden and shown, left and opened again."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User

from sessions_app.models import Project
from tests.browser.accessibility import LIVE
from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, start_chromium, wait_for
from tests.browser.frontends import Frontend, stored
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
# Longer than any page waits before it looks again.
A_WHILE = 11
SAYS = "return document.body.innerText.includes(args[0]);"
# A mark on the page itself: it is still there when the browser kept the page.
MARK = "window.kept = true;"
KEPT = "return Boolean(window.kept);"


@pytest.fixture
def chat(server: LiveServer, api: Callable[..., Any], alice: User) -> Chat:
    chat = Chat(api(alice))
    chat.say("m1", "at first")
    state = {"plan": {"title": "A plan", "steps": [{"id": "s1", "title": "Look away", "status": "pending"}]}}
    assert chat.api.put(f"/sessions/{chat.id}/agent-state", state).status_code == 201
    return chat


def happen(chat: Chat, words: str) -> None:
    """Something of everything that a page follows."""
    project = Project.objects.get().id
    chat.say(words, words)
    state = {"plan": {"title": f"Plan {words}", "steps": []}}
    answers = [
        chat.api.patch(f"/sessions/{chat.id}/agent-state", state),
        chat.api.post(f"/projects/{project}/handoff/decisions", {"text": f"Decision {words}"}),
        chat.api.put(f"/projects/{project}/memory/{words}/key", json.dumps(words)),
        chat.api.post(f"/projects/{project}/errors", {"errors": [{"message": f"Error {words}"}]}),
        chat.api.patch(f"/sessions/{chat.id}", {"title": f"Title {words}"}),
    ]
    assert [answer.status_code for answer in answers if answer.status_code >= 300] == []


class Tabs:
    """Open pages by their address, and what each shows."""

    def __init__(self, browser: Browser, shows: dict[str, str]) -> None:
        self.browser, self.shows = browser, shows
        self.tabs = {address: browser.new_tab(address) for address in shows}

    def hide(self) -> None:
        for tab in self.tabs.values():
            self.browser.hide(tab)
        self.browser.traffic()

    def show(self, words: str) -> None:
        for address, tab in self.tabs.items():
            self.browser.show(tab)
            self.browser.until(SAYS, self.shows[address].format(words))


@pytest.mark.slow
def test_hidden_pages_ask_for_nothing_and_are_up_to_date_when_they_are_shown(
    signed_in: Browser, server: LiveServer, chat: Chat
) -> None:
    project = f"{server.url}/projects/{Project.objects.get().id}"
    shows = {
        f"{project}/": "Title {}",
        f"{project}/memory/": "{}",
        f"{server.url}/sessions/{chat.id}/": "Plan {}",
        f"{project}/handoff/": "Decision {}",
        f"{project}/errors/": "Error {}",
        f"{project}/activity/": "Title {}",
        f"{server.url}/": "Title {}",
    }
    pages = Tabs(signed_in, shows)
    for address, tab in pages.tabs.items():
        signed_in.go_to(tab)
        assert address == f"{server.url}/" or signed_in.until(LIVE)
    happen(chat, "before")  # What they were about to ask waits.
    pages.hide()
    signed_in.pause(A_WHILE / 2)
    assert signed_in.traffic() == []
    pages.show("before")
    pages.hide()
    happen(chat, "meanwhile")
    signed_in.pause(A_WHILE)
    assert signed_in.traffic() == []
    pages.show("meanwhile")


@pytest.mark.slow
def test_a_hidden_frontend_reads_nothing_until_it_is_shown(
    browser: Browser, server: LiveServer, api: Callable[..., Any], alice: User
) -> None:
    page = Frontend(browser, server, alice)
    page.load()
    page.say("m1", "at first")
    page.settle()
    browser.until("return chat._sessionClient.parts.events.socket?.readyState === 1;")
    browser.hide()
    browser.traffic()
    elsewhere = Chat(api(alice), session_id=browser.run("return chat.session.id;"))
    for number in range(3):
        elsewhere.say(f"n{number}", f"meanwhile {number}")
    # Whether it hears of its own save too depends on which comes first, that or its socket.
    newest = elsewhere.read()["session"]["rev"]
    browser.until("return heard.some(({ type, rev }) => type === 'SESSION_SAVED' && rev === args[0]);", newest)
    browser.pause(2)
    assert [one for one in browser.traffic() if one.kind == "request"] == []
    assert page.texts() == ["at first"]
    browser.show()
    wait_for(lambda: page.texts() == ["at first", *(f"meanwhile {number}" for number in range(3))])
    assert [change["changed"] for change in page.heard("changed")] == [["n0", "n1", "n2"]]
    browser.forget()


def test_a_hidden_chat_shows_what_an_agent_did_once_it_is_seen(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    page = ChatPage(signed_in, server.url, Project.objects.get().path)
    page.open()
    page.until_answered("at first")
    signed_in.until(SAYS, "A plan")
    signed_in.hide()
    signed_in.traffic()
    happen(chat, "meanwhile")
    signed_in.pause(3)
    assert [one for one in signed_in.traffic() if one.kind == "request"] == []
    signed_in.show()
    page.until_answered("meanwhile")
    signed_in.until(SAYS, "Plan meanwhile")


def leave_and_come_back(browser: Browser, server: LiveServer, chat: Chat) -> None:
    """What is said while the page is away is there afterwards, and what is said then comes by itself."""
    browser.run(MARK)
    browser.open(f"{server.url}/keys/")
    chat.say("away", "said while it was away")
    browser.driver.back()
    browser.until(SAYS, "said while it was away")
    chat.say("back", "said when it was back")
    browser.until(SAYS, "said when it was back")


@pytest.mark.slow
def test_back_on_a_session_s_page_and_in_the_chat_what_happens_goes_on_coming(
    signed_in: Browser, server: LiveServer, chat: Chat
) -> None:
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    leave_and_come_back(signed_in, server, chat)
    signed_in.until(LIVE)
    other = Chat(chat.api, project="/home/alice/other")
    other.say("m1", "at first")
    page = ChatPage(signed_in, server.url, "/home/alice/other")
    page.open()
    page.until_answered("at first")
    leave_and_come_back(signed_in, server, other)
    page.ready()
    page.say("count to 3")
    page.until_answered("1 2 3")


@pytest.fixture
def keeping(transactional_db: None, settings: LazySettings) -> Iterator[LiveServer]:
    settings.MIDDLEWARE = ["tests.browser.cacheable_pages.keepable", *settings.MIDDLEWARE]
    with LiveServer() as server:
        yield server


@pytest.fixture
def keeper() -> Iterator[Browser]:
    """The whole browser: what shows pages in most tests keeps none."""
    driver = start_chromium()
    yield Browser(driver)
    driver.quit()


@pytest.mark.slow
def test_a_page_that_the_browser_kept_goes_on_where_it_was(
    keeper: Browser, keeping: LiveServer, api: Callable[..., Any], alice: User
) -> None:
    browser = keeper
    browser.sign_in_as(alice, keeping.url)
    chat = Chat(api(alice))
    chat.say("m1", "at first")
    browser.open(f"{keeping.url}/sessions/{chat.id}/")
    browser.until(LIVE)
    leave_and_come_back(browser, keeping, chat)
    assert browser.run(KEPT), "the browser did not keep the page, so this proves nothing"
    other = Chat(chat.api, project="/home/alice/other")
    other.say("m1", "at first")
    page = ChatPage(browser, keeping.url, "/home/alice/other")
    page.open()
    page.until_answered("at first")
    leave_and_come_back(browser, keeping, other)
    assert browser.run(KEPT), "the browser did not keep the page, so this proves nothing"
    page.say("count to 3")
    page.until_answered("1 2 3")
    browser.forget()


def test_what_a_kept_page_could_not_send_any_more_goes_with_the_next_one(
    keeper: Browser, keeping: LiveServer, api: Callable[..., Any], alice: User
) -> None:
    """It is frozen with its locks: a page that opens the same chat must get them."""
    browser = keeper
    page = Frontend(browser, keeping, alice)
    page.load()
    page.say("m1", "at first")
    page.settle()
    browser.block("*/api/*")
    page.say("m2", "not sent")
    browser.open(f"{keeping.url}/robots.txt")
    browser.block()
    page.load()
    page.settle()
    wait_for(lambda: stored(api, page) == ["at first", "not sent"])
    browser.forget()


@pytest.mark.slow
def test_a_kept_page_is_not_shown_to_who_comes_after_a_sign_out(
    keeper: Browser, keeping: LiveServer, api: Callable[..., Any], alice: User
) -> None:
    browser = keeper
    browser.sign_in_as(alice, keeping.url)
    Chat(api(alice)).say("m1", "only for alice")
    browser.open(f"{keeping.url}/projects/{Project.objects.get().id}/")
    browser.until(LIVE)
    browser.run(MARK)
    browser.open(f"{keeping.url}/account/")
    browser.driver.back()
    browser.until(SAYS, "only for alice")
    assert browser.run(KEPT), "the browser did not keep the page, so this proves nothing"
    browser.driver.forward()
    browser.click("Sign out")
    browser.until(SAYS, "You are signed out.")
    browser.driver.back()
    browser.driver.back()
    browser.until("return location.pathname === '/login/' && document.readyState === 'complete';")
    assert not browser.run(SAYS, "only for alice")
    browser.forget()
