"""Somebody else signs in beside a page: its words stay out of their account, and theirs out of the page."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from tests.browser.driving import Browser
from tests.browser.frontends import Frontend, stored
from tests.conftest import Api
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
RESUME = "return chat.resume().then(() => 'shown', ({ code }) => code);"


def test_a_page_keeps_to_the_account_that_it_began_with(
    browser: Browser, server: LiveServer, alice: User, bob: User, api: Callable[..., Api]
) -> None:
    """The CSRF token is that of the browser's cookie, so it does not stop the page's requests."""
    page = Frontend(browser, server, alice, project="shop")
    page.load()
    page.say("m1", "of alice")
    page.settle()
    theirs = Chat(api(bob), project="shop")
    theirs.say("b1", "of bob")
    browser.sign_in_as(bob, server.url)
    assert browser.run(RESUME) == "somebody_else"
    page.say("m2", "still of alice")
    browser.until("return heard.some(({ type }) => type === 'refused');")
    browser.run("chat.newSession(); return 0;")
    page.say("m3", "in another session")
    browser.run("await chat.settled(1500);")
    assert (page.texts(), theirs.texts()) == (["in another session"], ["of bob"])
    assert len(api(bob).get("/sessions").json()["items"]) == 1
    assert "of bob" not in browser.run("return JSON.stringify(localStorage);")
    browser.sign_in_as(alice, server.url)
    browser.run("void chat.retry();")
    browser.until("return chat.settled(500);")
    assert stored(api, page) == ["in another session"]
    sessions = [Chat(api(alice), session_id=one["id"]).texts() for one in api(alice).get("/sessions").json()["items"]]
    assert sorted(sessions) == [["in another session"], ["of alice", "still of alice"]]
    browser.leave()


ASK = """
const [{ Api }, { Http }] = await Promise.all([import("/static/js/chat/api.js"), import("/static/js/stillhere/server/http.js")]);
const http = new Http("", { cookie: true });
await http.request("GET", "/projects");
const chat = new Api({ user: http.account, csrf: "" });
const codes = () => Promise.all([
  chat.get("/projects").then(() => "read", ({ code }) => code),
  http.open("/streams/00000000-0000-4000-8000-000000000000", AbortSignal.timeout(5000)).catch(({ code }) => code),
]);
"""


def test_what_the_chat_asks_and_answers_that_stream_are_for_that_account_too(
    browser: Browser, server: LiveServer, alice: User, bob: User
) -> None:
    Frontend(browser, server, alice, project="shop").load()
    assert browser.run(f"{ASK} window.codes = codes; return codes();") == ["read", "not_found"]
    browser.sign_in_as(bob, server.url)
    assert browser.run("return codes();") == ["somebody_else"] * 2
