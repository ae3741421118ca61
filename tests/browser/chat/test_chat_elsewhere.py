"""What happens to a chat elsewhere: another session becomes current, its own is deleted and restored, its owner signs out."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium.webdriver.common.by import By

from tests.browser.accessibility import assert_accessible
from tests.browser.chat_page import ChatPage, following
from tests.browser.driving import Browser, wait_for
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
NOTICES = "return [...document.querySelectorAll('.chat-notice:not([hidden])')].map((line) => line.firstElementChild.textContent);"
# The chat opens the next session only when it is released; what any notice said meanwhile is remembered.
HOLD = """
    const { fetch } = window;
    const held = new Promise((resolve) => { window.release = resolve; });
    window.asked = [];
    window.fetch = async (...given) => {
      if (String(given[0]).includes('/resume?')) await held;
      window.asked.push(String(given[0]));
      return fetch(...given);
    };
    window.said = '';
    new MutationObserver(() => { window.said += document.getElementById('chat-notices').textContent; })
      .observe(document.getElementById('chat-notices'), { childList: true, subtree: true });
"""
# What the server refused because the session is in the trash reaches the page only when it is released.
HOLD_REFUSALS = """
    const { fetch } = window;
    const held = new Promise((resolve) => { window.release = resolve; });
    window.refused = 0;
    window.fetch = async (...given) => {
      const answer = await fetch(...given);
      if (answer.status !== 410) return answer;
      window.refused += 1;
      await held;
      return answer;
    };
"""
CHOOSE = "document.querySelector(`#chat-sessions-rows [data-id='${args[0]}']`).click();"
LISTED = "return Boolean(document.querySelector(`#chat-sessions-rows [data-id='${args[0]}']`));"
ASKED = "return window.asked.some((address) => address.includes(args[0]));"
PASSWORD = "correct horse battery"
ALERT = "return document.getElementById('chat-alert').textContent;"


@pytest.fixture
def agent(server: LiveServer, api: Callable[..., Any], alice: User) -> Chat:
    chat = Chat(api(alice))
    chat.say("m1", "at first")
    chat.say("m2", "the answer", role="assistant")
    return chat


@pytest.fixture
def page(signed_in: Browser, server: LiveServer, agent: Chat) -> ChatPage:
    return following(signed_in, server.url, agent)


def told(page: ChatPage, words: str) -> bool:
    return any(words in line for line in page.browser.run(NOTICES))


def fork(agent: Chat) -> Chat:
    made = agent.api.post(f"/sessions/{agent.id}/fork", {"up_to": "m1"})
    assert made.status_code == 201, made.content
    return Chat(agent.api, session_id=made.json()["id"])


def test_an_open_chat_stays_where_it_is_and_offers_the_current_session(page: ChatPage, agent: Chat) -> None:
    shown, address = page.texts(), page.session()
    other = fork(agent)
    wait_for(lambda: told(page, "Another session is the current one now"))
    assert_accessible(page.browser)
    assert (page.texts(), page.session()) == (shown, address)
    page.say("count to 3")
    page.until(lambda texts: texts == [*shown, "count to 3", "1 2 3"])
    wait_for(lambda: agent.texts() == [*shown, "count to 3", "1 2 3"])
    assert other.texts() == ["at first"]
    page.press("Open it")
    page.until(lambda texts: texts == ["at first"])
    assert page.session().endswith(f"/sessions/{other.id}/")
    assert not told(page, "Another session")


@pytest.mark.slow
def test_what_is_typed_stays_with_the_session_that_is_left(page: ChatPage, agent: Chat) -> None:
    other = fork(agent)
    wait_for(lambda: told(page, "Another session is the current one now"))
    page.browser.textbox("Message").send_keys("not sent")
    page.until_draft_stored("not sent")
    page.press("Open it")
    page.browser.until("return document.getElementById('chat-session').href.includes(args[0]);", other.id)
    assert page.browser.textbox("Message").get_attribute("value") == ""
    agent.api.patch(f"/sessions/{agent.id}", {"current": True})
    page.press("Open it")
    page.browser.until("return document.getElementById('chat-message').value === 'not sent';")


@pytest.mark.slow
def test_what_streams_is_kept_where_it_streamed_when_the_other_session_is_opened(page: ChatPage, agent: Chat) -> None:
    fork(agent)
    shown = page.stream()
    wait_for(lambda: told(page, "Another session is the current one now"))
    page.press("Open it")
    page.until(lambda texts: texts == ["at first"])
    # It goes on there.
    wait_for(lambda: agent.texts()[-1].startswith(shown[-1]) and len(agent.texts()[-1]) > len(shown[-1]))


@pytest.mark.slow
def test_the_offer_goes_when_the_page_s_own_session_is_current_again(page: ChatPage, agent: Chat) -> None:
    fork(agent)
    wait_for(lambda: told(page, "Another session is the current one now"))
    agent.api.patch(f"/sessions/{agent.id}", {"current": True})
    wait_for(lambda: not told(page, "Another session"))


@pytest.mark.slow
def test_the_session_that_the_page_is_opening_is_not_offered(page: ChatPage, agent: Chat) -> None:
    """The page hears that the other one is current before it shows it."""
    other = Chat(agent.api, session_id=str(uuid.uuid4()))
    agent.api.put(f"/sessions/{other.id}", {"project": agent.project, "current": False}, **{"If-None-Match": "*"})
    other.say("m1", "in the other one", role="assistant")
    page.browser.until(LISTED, other.id)
    page.browser.run(HOLD)
    page.browser.run(CHOOSE, other.id)
    page.browser.until(ASKED, "/sessions?limit=")  # It heard: the list is read again, a while after the event.
    page.browser.run("window.release(); window.asked = [];")
    page.until(lambda texts: texts == ["in the other one"])
    page.browser.until(ASKED, "/projects/")
    page.browser.until(ASKED, "/sessions?limit=")
    assert (page.browser.run("return window.said;"), page.browser.run(NOTICES)) == ("", [])


def test_a_session_that_is_brought_back_goes_on_without_a_reload(page: ChatPage, agent: Chat) -> None:
    shown = page.texts()
    agent.api.delete(f"/sessions/{agent.id}")
    wait_for(lambda: told(page, "in the trash"))
    page.say("count to 2")
    page.until(lambda texts: texts[-1] == "count to 2")
    agent.api.post(f"/sessions/{agent.id}/undelete")
    wait_for(lambda: not told(page, "in the trash"))
    page.until(lambda texts: texts[-1] == "1 2")
    page.until_still()
    wait_for(lambda: agent.texts() == [*shown, "count to 2", "1 2"])
    assert page.browser.run(ALERT) == ""
    agent.api.delete(f"/sessions/{agent.id}")
    page.press("Restore")
    wait_for(lambda: not told(page, "in the trash"))
    assert page.browser.run("return document.activeElement.id;") == "chat-message"
    assert agent.texts() == [*shown, "count to 2", "1 2"]


def test_a_save_that_was_refused_before_the_session_was_brought_back_is_sent_again(page: ChatPage, agent: Chat) -> None:
    """The page hears of the session's return first, then that its save was refused."""
    shown = page.texts()
    page.browser.run(HOLD_REFUSALS)
    agent.api.delete(f"/sessions/{agent.id}")
    page.say("count to 2")
    page.browser.until("return window.refused >= 2;")  # The look into the trash, and the save.
    agent.api.post(f"/sessions/{agent.id}/undelete")
    agent.api.patch(f"/sessions/{agent.id}", {"title": "Brought back"})
    page.browser.until("return document.getElementById('chat-title').textContent === 'Brought back';")
    page.browser.run("window.release();")
    page.until(lambda texts: texts == [*shown, "count to 2", "1 2"])
    wait_for(lambda: agent.texts() == [*shown, "count to 2", "1 2"])
    wait_for(lambda: not told(page, "in the trash"))
    assert page.browser.run(ALERT) == ""


@pytest.mark.slow
def test_a_session_that_was_erased_is_not_said_to_be_in_the_trash(page: ChatPage, agent: Chat) -> None:
    shown = page.texts()
    agent.api.delete(f"/sessions/{agent.id}?purge=1")
    wait_for(lambda: told(page, "This session was erased."))
    assert not told(page, "in the trash")
    assert page.texts() == shown
    page.press("New session")
    wait_for(lambda: not told(page, "erased"))
    page.say("count to 2")
    page.until(lambda texts: texts == ["count to 2", "1 2"])


def in_another_tab(page: ChatPage, act: Callable[[], None]) -> None:
    chat = page.browser.driver.current_window_handle
    page.browser.new_tab(f"{page.url}/account/")
    act()
    page.browser.close_tab(then=chat)


def sign_out(browser: Browser) -> None:
    browser.run("document.querySelector('form[action$=\"/logout/\"]').submit();")
    browser.until("return location.pathname === '/login/';")


def sign_in(browser: Browser, user: User) -> None:
    browser.until("return document.readyState === 'complete' && location.pathname === '/login/';")
    for field, text in (("username", user.username), ("password", PASSWORD)):
        browser.driver.find_element(By.NAME, field).send_keys(text)
    browser.click("Sign in")
    browser.until("return !location.pathname.startsWith('/login');")


def opened_beside(browser: Browser, tab: str) -> str:
    """The tab that a link opened: it takes the browser a moment to make one."""
    [opened] = wait_for(lambda: {*browser.driver.window_handles} - {tab})
    return str(opened)


def with_password(user: User) -> User:
    user.set_password(PASSWORD)
    user.save()
    return user


def test_who_signed_out_elsewhere_is_told_and_goes_on_after_signing_in(page: ChatPage, agent: Chat, alice: User) -> None:
    shown = page.texts()
    page.browser.sign_in_as(with_password(alice), page.url)
    in_another_tab(page, lambda: sign_out(page.browser))
    page.say("count to 3")
    wait_for(lambda: told(page, "You are signed out"))
    assert "API key" not in page.browser.run("return document.querySelector('main').innerText;")
    assert page.browser.run(ALERT) == ""
    assert agent.texts() == shown
    chat = page.browser.driver.current_window_handle
    page.browser.driver.find_element(By.LINK_TEXT, "Sign in").click()
    page.browser.go_to(opened_beside(page.browser, chat))
    sign_in(page.browser, alice)
    page.browser.close_tab(then=chat)
    page.until(lambda texts: texts == [*shown, "count to 3", "1 2 3"])
    wait_for(lambda: agent.texts() == [*shown, "count to 3", "1 2 3"])
    wait_for(lambda: not told(page, "signed out"))
    assert page.browser.run(ALERT) == ""


def test_nothing_is_sent_in_the_name_of_somebody_else(page: ChatPage, agent: Chat, bob: User) -> None:
    shown = page.texts()
    with_password(bob)

    def change_places() -> None:
        sign_out(page.browser)
        sign_in(page.browser, bob)

    in_another_tab(page, change_places)
    page.say("only for alice")
    wait_for(lambda: told(page, "Somebody else is signed in"))
    assert agent.texts() == shown
    assert not bob.projects.exists()


# A save finds no server; then the server is there, and nobody is signed in any more.
BLIP = """
    const { fetch } = window;
    const refusal = { error: { code: 'unauthorized', message: 'Sign in.' } };
    window.signedOut = false;
    window.checks = 0;
    let saves = 0;
    window.fetch = async (...given) => {
      const address = String(given[0]);
      if (address.includes('/sign-in-state')) window.checks += 1;
      const headers = { 'Content-Type': 'application/json' };
      if (window.signedOut) return new Response(JSON.stringify(refusal), { status: 401, headers });
      if (!address.endsWith('/changes')) return fetch(...given);
      saves += 1;
      if (saves === 1) throw new TypeError('Failed to fetch');
      window.signedOut = saves === 2;
      return window.signedOut ? window.fetch(...given) : fetch(...given);
    };
"""


def test_who_signs_out_just_after_the_server_was_back_is_told_and_goes_on(page: ChatPage, agent: Chat) -> None:
    shown = page.texts()
    page.browser.run(BLIP)
    page.say("count to 3")
    wait_for(lambda: told(page, "You are signed out"))
    page.browser.run("window.signedOut = false;")
    page.until(lambda texts: texts == [*shown, "count to 3", "1 2 3"])
    wait_for(lambda: not told(page, "signed out"))
    assert page.browser.run(ALERT) == ""
