"""A page goes on where an earlier one ended without the network: after its clear, and with words that were never sent."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User

from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import Frontend, stored
from tests.browser.module.joining import NETWORK
from tests.conftest import Api
from tests.support.live_server import LiveServer
from tests.support.suite import first_of

pytestmark = [pytest.mark.browser, pytest.mark.once]
# No such request gets to the server until then.
LATE = """
    const send = window.fetch;
    let away = true;
    const isLate = (url) => away && url.endsWith(args[0]);
    window.fetch = (url, options) => (isLate(url) ? Promise.reject(new TypeError("lost")) : send(url, options));
    window.letGo = () => { away = false; window.dispatchEvent(new Event("online")); };
"""
# A session that was begun without the network is made late.
LATE_CREATION = """
    const send = window.fetch;
    window.fetch = async (url, options) => {
      if (options?.method === "PUT") await new Promise((go) => setTimeout(go, 700));
      return send(url, options);
    };
"""
THEIRS = {"op": "upsert", "id": "m2", "role": "user", "text": "theirs", "if_ver": 1}
TAKE_OUT = "list = list.filter(({ id }) => id !== args[0]); chat.save(list);"


class Page(Frontend):
    """Of a device whose network comes and goes: see `NETWORK`."""

    chat: str | None = None

    def open(self) -> list[str]:
        """What it shows."""
        self.browser.open(f"{self.server.url}/healthz")
        self.browser.run(NETWORK, None, None, 1)
        return [message["text"] for message in self.begin(**({"chat": self.chat} if self.chat else {}))["messages"]]

    def away(self) -> None:
        self.browser.run("localStorage.setItem('network', 'away'); for (const socket of sockets.splice(0)) socket.close();")

    def back(self) -> None:
        self.browser.run("localStorage.setItem('network', ''); window.dispatchEvent(new Event('online'));")

    def end(self) -> None:
        self.browser.run("await chat.stored();")


@pytest.fixture
def page(browser: Browser, server: LiveServer, alice: User, api: Callable[..., Api]) -> Iterator[Page]:
    """A page with two messages saved, without the network."""
    page = Page(browser, server, alice)
    page.open()
    page.say("m1", "one")
    page.say("m2", "two")
    page.settle()
    page.away()
    yield page
    browser.leave()


@pytest.fixture
def begun(browser: Browser, server: LiveServer, alice: User) -> Iterator[Page]:
    """A page in a project without a session, and without the network."""
    page = Page(browser, server, alice)
    page.open()
    page.away()
    page.open()
    yield page
    browser.leave()


@pytest.fixture
def account(page: Page, api: Callable[..., Api]) -> Api:
    return api(page.user)


def session(account: Api, page: Page) -> str:
    return str(account.get(f"/resume?project={quote(page.project)}&quiet=1").json()["session"]["id"])


def sessions(page: Page, api: Callable[..., Api]) -> list[dict[str, Any]]:
    return [one for one in api(page.user).get("/sessions").json()["items"] if one["project"] == page.project]


def copies(account: Api, page: Page) -> list[str]:
    return [copy["text"] for copy in account.get(f"/sessions/{session(account, page)}/conflicts").json()["items"]]


def change_elsewhere(page: Page, account: Api, op: dict[str, Any], *, epoch: int = 1) -> None:
    body = {"epoch": epoch, "writer_id": "their-page", "seq": 1, "ops": [op]}
    assert account.post(f"/sessions/{session(account, page)}/changes", body).json()["applied"]


def settles(page: Page, account: Api, api: Callable[..., Api], texts: list[str]) -> None:
    page.back()
    page.settle()
    wait_for(lambda: stored(api, page) == texts, what=f"{texts}, not {stored(api, page)}")
    wait_for(lambda: page.texts() == texts, 40)
    assert copies(account, page) == []


def test_what_is_said_after_a_clear_that_was_not_sent_is_in_the_cleared_chat(
    page: Page, account: Api, api: Callable[..., Api]
) -> None:
    page.browser.run("void chat.clear();")
    page.say("m3", "after it")
    page.end()
    assert page.open() == ["after it"]
    page.say("m4", "in the next page")
    page.end()
    assert page.open() == ["after it", "in the next page"]
    page.say("m5", "in the one after that")
    settles(page, account, api, ["after it", "in the next page", "in the one after that"])


@pytest.mark.slow
def test_a_second_clear_takes_what_was_said_after_the_first(page: Page, account: Api, api: Callable[..., Api]) -> None:
    page.browser.run("void chat.clear();")
    page.say("m3", "between")
    page.end()
    assert page.open() == ["between"]
    page.browser.run("void chat.clear();")
    page.say("m4", "after both")
    page.end()
    assert page.open() == ["after both"]
    settles(page, account, api, ["after both"])


@pytest.mark.slow
def test_a_page_that_reads_the_chat_before_its_clear_is_sent_shows_it_cleared(
    page: Page, account: Api, api: Callable[..., Api]
) -> None:
    page.browser.run("void chat.clear();")
    page.end()
    page.back()
    page.browser.open(f"{page.server.url}/healthz")
    page.browser.run(LATE, "/clear")
    assert page.begin()["messages"] == []
    page.say("m3", "after it")
    page.browser.pause(0.5)
    assert page.texts() == ["after it"]
    page.browser.run("letGo();")
    wait_for(lambda: stored(api, page) == ["after it"])
    page.say("m4", "and on")
    page.settle()
    assert (page.texts(), stored(api, page), copies(account, page)) == (["after it", "and on"], ["after it", "and on"], [])
    account.post(f"/sessions/{session(account, page)}/clear", {})  # The next one, of another device, is news.
    wait_for(lambda: page.texts() == [])


@pytest.mark.parametrize("reload", first_of([True, False], 1))
def test_another_device_cleared_it_first(page: Page, account: Api, api: Callable[..., Api], reload: bool) -> None:
    page.browser.run("void chat.clear();")
    page.say("m3", "after mine")
    page.say("m4", "an answer that gr", role="assistant", streaming=True)
    page.end()
    account.post(f"/sessions/{session(account, page)}/clear", {})
    change_elsewhere(page, account, {"op": "upsert", "id": "t1", "role": "user", "text": "after theirs"}, epoch=2)
    if reload:
        assert page.open() == ["after mine", "an answer that gr"]
    page.say("m5", "and on")
    settles(page, account, api, ["after theirs", "after mine", "an answer that gr", "and on"])


@pytest.mark.parametrize("pages", first_of([1, 2], 1))
def test_words_that_were_never_sent_can_be_changed_and_taken_out(
    page: Page, account: Api, api: Callable[..., Api], pages: int
) -> None:
    """By the next page, and by the one after that; and so can those that were."""
    page.say("m3", "three")
    page.say("m4", "four")
    page.say("m5", "five")
    page.say("m2", "two, edited")
    texts = ["one", "two, edited", "three", "four", "five"]
    for number in range(pages):
        page.end()
        assert page.open() == texts
        page.say("m1", f"saved before, edited {number}")
        page.say("m3", f"otherwise {number}")
        page.say("m2", f"edited again {number}")
        page.browser.run(TAKE_OUT, f"m{4 + number}")
        texts = [f"saved before, edited {number}", f"edited again {number}", f"otherwise {number}", *texts[4:]]
    page.end()
    page.open()
    settles(page, account, api, texts)


@pytest.mark.parametrize("unsent", [True, False])
@pytest.mark.slow
def test_what_is_taken_out_stays_out_if_the_chat_is_read_meanwhile(
    page: Page, account: Api, api: Callable[..., Api], unsent: bool
) -> None:
    """A saved message, or one that an earlier page left unsent."""
    message = "m2"
    if unsent:
        message = "m3"
        page.say(message, "three")
        page.end()
        page.open()
    page.browser.run(LATE, "/changes")
    page.browser.run("chat.save(list);")
    page.browser.run(TAKE_OUT, message)
    page.back()
    page.browser.run("list = (await chat.resume()).messages;")
    texts = ["one", "two"] if unsent else ["one"]
    assert page.texts() == texts
    page.browser.run("letGo();")
    settles(page, account, api, texts)
    assert page.browser.run("return list.map(({ text }) => text);") == texts


@pytest.mark.slow
def test_a_chat_that_was_begun_without_the_network_goes_on_in_the_next_page(begun: Page, api: Callable[..., Api]) -> None:
    page = begun
    page.say("m1", "one")
    page.say("m2", "two")
    page.end()
    assert page.open() == ["one", "two"]
    page.browser.run(LATE_CREATION)
    page.say("m1", "one, edited")
    page.say("m3", "three")
    settles(page, api(page.user), api, ["one, edited", "two", "three"])
    assert [one["message_count"] for one in sessions(page, api)] == [3]


@pytest.mark.parametrize("chat", first_of([None, "thread-42"], 1))
def test_what_two_pages_said_without_the_network_can_be_changed_by_the_third(
    begun: Page, api: Callable[..., Api], chat: str | None
) -> None:
    page = begun
    page.chat = chat
    page.open()
    page.say("m1", "one")
    page.say("m2", "two")
    page.end()
    page.open()
    page.say("m3", "three")
    page.say("m4", "four")
    page.end()
    assert page.open() == ["one", "two", "three", "four"]
    page.say("m2", "edited")
    page.say("m3", "edited")
    page.browser.run(TAKE_OUT, "m4")
    settles(page, api(page.user), api, ["one", "edited", "edited"])
    assert len(sessions(page, api)) == 1


@pytest.mark.slow
def test_a_new_session_without_the_network_is_not_the_one_that_an_earlier_page_began(
    begun: Page, api: Callable[..., Api]
) -> None:
    page = begun
    page.say("m1", "one")
    page.end()
    assert page.open() == ["one"]
    page.browser.run("list = (await chat.newSession()).messages;")
    page.say("m2", "two")
    page.end()
    assert page.open() == ["two"]
    page.say("m3", "three")
    settles(page, api(page.user), api, ["two", "three"])
    assert sorted(one["message_count"] for one in sessions(page, api)) == [1, 2]


@pytest.mark.slow
def test_a_change_to_what_another_device_wrote_meanwhile_is_kept_beside_it(
    page: Page, account: Api, api: Callable[..., Api]
) -> None:
    page.say("m2", "two, edited")
    page.end()
    change_elsewhere(page, account, THEIRS)
    page.open()
    page.say("m2", "edited again")
    page.back()
    page.settle()
    wait_for(lambda: page.texts() == stored(api, page) == ["one", "theirs"], 40)
    assert set(copies(account, page)) == {"two, edited", "edited again"}


@pytest.mark.slow
def test_a_read_does_not_make_the_page_know_what_it_has_not_shown(page: Page, account: Api, api: Callable[..., Api]) -> None:
    """What it says was said before."""
    page.back()
    page.say("m2", "two, and gro", role="assistant", streaming=True)
    change_elsewhere(page, account, THEIRS)
    page.browser.run("await chat._sessionClient.parts.reader.reread();")
    page.settle()
    wait_for(lambda: stored(api, page) == ["one", "theirs"])
    wait_for(lambda: copies(account, page) == ["two, and gro"])
