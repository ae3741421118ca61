"""A key is replaced: what its pages could not send is sent with the account's next key, and never by another account."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.accounts.api_keys import create_key, revoke_key
from sessions_app.core.callers import caller_of_user
from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import Frontend, stored
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
NOTED = "return (localStorage.getItem('stillhere:accounts') ?? '').length > 0;"
ENDED = """
    const { held } = await navigator.locks.query();
    return !held.some(({ name }) => name.startsWith("stillhere:writer:"));
"""


def key_of(user: User) -> tuple[str, uuid.UUID]:
    made = create_key(caller=caller_of_user(user))
    return made.secret, made.row.id


def left_behind(browser: Browser, server: LiveServer, alice: User, **auth: str) -> Frontend:
    """A page whose key was revoked before its last words, and a composer with a text. The page is left."""
    secret, key_id = key_of(alice)
    page = Frontend(browser, server, alice)
    page.load(auth={"key": secret, **auth})
    page.say("m1", "said with the first key")
    page.settle()
    browser.until(NOTED)
    revoke_key(caller=caller_of_user(alice), key_id=key_id)
    page.say("m2", "said after it was revoked")
    browser.until("return chat.status === 'denied';")
    browser.run("chat.saveDraft('not sent yet'); await chat.stored();")
    browser.pause(0.2)
    browser.open(f"{server.url}/healthz")
    wait_for(lambda: browser.run(ENDED))
    return page


@pytest.mark.slow
def test_what_was_left_under_a_revoked_key_is_sent_with_the_next_one(
    browser: Browser, server: LiveServer, alice: User, api: Callable[..., Any]
) -> None:
    page = left_behind(browser, server, alice)
    page.begin(auth={"key": key_of(alice)[0]})
    wait_for(lambda: stored(api, page) == ["said with the first key", "said after it was revoked"])
    wait_for(lambda: page.texts() == ["said with the first key", "said after it was revoked"])
    assert browser.until("return chat.draft();") == "not sent yet"
    assert page.heard("refused") == []
    page.begin(auth={"key": key_of(alice)[0]})
    assert page.texts() == ["said with the first key", "said after it was revoked"]
    browser.forget()


def test_another_account_gets_nothing_of_it(
    browser: Browser, server: LiveServer, alice: User, bob: User, api: Callable[..., Any]
) -> None:
    page = left_behind(browser, server, alice)
    noted = browser.run("return localStorage.getItem('stillhere:accounts');")
    theirs = key_of(bob)[0]
    page.begin(auth={"key": theirs})
    browser.until("return localStorage.getItem('stillhere:accounts') !== args[0];", noted)
    browser.pause(0.5)
    assert (page.texts(), browser.run("return chat.session;"), browser.run("return chat.draft();")) == ([], None, "")
    assert api(bob).get("/sessions").json()["items"] == []
    browser.open(f"{server.url}/healthz")
    page.begin(auth={"key": key_of(alice)[0]})
    wait_for(lambda: stored(api, page) == ["said with the first key", "said after it was revoked"])
    browser.forget()


@pytest.mark.slow
def test_a_named_account_keeps_its_store_whatever_its_key(
    browser: Browser, server: LiveServer, alice: User, api: Callable[..., Any]
) -> None:
    page = left_behind(browser, server, alice, user="alice")
    browser.block("*/api/*")
    page.begin(auth={"key": key_of(alice)[0], "user": "alice"})
    assert page.texts() == ["said with the first key", "said after it was revoked"]
    browser.block()
    browser.run("window.dispatchEvent(new Event('online'));")
    wait_for(lambda: stored(api, page) == ["said with the first key", "said after it was revoked"])
    browser.forget()
