"""A page joins the chat that another device began: what is kept beside the messages, what it says, reads and clears meanwhile,
and a page that ends just then."""

from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import User

from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import Frontend
from tests.browser.module.other_device import CHAT, HOLD, NO_NETWORK, NO_SOCKET, Device
from tests.conftest import Api
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
LATE_CREATION = """
    const send = window.fetch;
    let away = true;
    const isLost = (options) => away && options?.method === "PUT";
    window.fetch = (url, options) => (isLost(options) ? Promise.reject(new TypeError("lost")) : send(url, options));
    window.letGo = () => { away = false; window.dispatchEvent(new Event("online")); };
"""
# The page reads the chat that it joined, and what it read reaches it when the test lets it.
LATE_READ = """
    const send = window.fetch;
    const held = new Promise((resolve) => { window.deliver = resolve; });
    window.fetch = async (url, options) => {
      const answer = await send(url, options);
      if (window.begins && url.includes("/resume?")) { window.hasRead = true; await held; }
      return answer;
    };
"""
# The page ends before (false) or after (true) what it stored was stored for the other session.
NEVER_JOINED = """
    const { outbox } = chat._sessionClient.parts;
    const join = outbox.join.bind(outbox);
    outbox.join = async (joined) => { if (args[0]) await join(joined); window.joins = true; await new Promise(() => {}); };
"""
# What the page saves of its state waits until it has read the chat.
LATE_STATE = """
    const later = window.fetch;
    let hasRead = () => {};
    const read = new Promise((resolve) => { hasRead = resolve; });
    window.fetch = async (url, options) => {
      if (options?.method === "PATCH") await read;
      const answer = await later(url, options);
      if (url.includes("/resume?")) setTimeout(hasRead, 300);
      return answer;
    };
"""


@pytest.fixture
def page(browser: Browser, server: LiveServer, alice: User) -> Iterator[Frontend]:
    page = Frontend(browser, server, alice)
    page.load(chat=CHAT)
    yield page
    browser.leave()


@pytest.fixture
def other(page: Frontend, api: Callable[..., Api]) -> Device:
    return Device(api(page.user), page.project)


def test_drafts_of_every_kind_and_a_state_of_a_page_that_is_gone_are_in_the_chat_that_it_joins(
    page: Frontend, other: Device
) -> None:
    first = page.browser.driver.current_window_handle
    second = page.browser.new_tab("about:blank")
    page.browser.go_to(first)
    page.browser.run(NO_NETWORK)
    page.say("m1", "mine")
    page.browser.run(
        "chat.saveDraft('being typed'); chat.saveDraft('beside it', 'note'); chat.saveState({ context: 'of mine' });"
    )
    page.browser.run("await chat.stored();")
    page.browser.pause(0.3)
    other.begin("theirs")
    page.browser.crash_tab(then=second)
    page.browser.open(f"{page.server.url}/healthz")
    page.browser.run(LATE_CREATION)
    # The page shows the chat before what is left of the other page gets through.
    assert [message["text"] for message in page.begin(chat=CHAT)["messages"]] == ["theirs"]
    page.browser.run("letGo();")
    wait_for(lambda: page.texts() == other.texts() == ["theirs", "mine"])
    wait_for(lambda: other.api.get(f"/sessions/{other.id}/agent-state").json().get("context") == "of mine")
    page.load(chat=CHAT)
    assert page.browser.run("return [await chat.draft(), await chat.draft('note')];") == ["being typed", "beside it"]


@pytest.mark.slow
def test_a_draft_from_before_the_chat_was_found_is_in_it(page: Frontend, other: Device) -> None:
    page.browser.run(NO_NETWORK)
    page.say("m1", "mine")
    wait_for(lambda: page.browser.run("return chat.peek() && chat.draft('note').then(() => localStorage.length > 0);"))
    page.browser.pause(0.6)  # The browser's copy is written.
    page.browser.run("chat.saveDraft('being typed');")
    page.browser.pause(0.2)
    other.begin("theirs")
    page.browser.run("letGo();")
    wait_for(lambda: page.texts() == other.texts() == ["theirs", "mine"])
    assert page.browser.run("return chat.draft();") == "being typed"


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.slow
def test_a_page_that_ends_while_it_joins_leaves_all_that_it_said_to_the_chat(page: Frontend, other: Device, after: bool) -> None:
    first = page.browser.driver.current_window_handle
    second = page.browser.new_tab("about:blank")
    page.browser.go_to(first)
    page.browser.run(HOLD + NEVER_JOINED, after)
    page.say("m1", "mine")
    page.browser.until("return window.begins;")
    other.begin("theirs")
    page.browser.run("letGo();")
    page.browser.until("return window.joins;")
    page.say("m2", "mine too")
    page.browser.run("await chat.stored();")
    page.browser.crash_tab(then=second)
    page.load(chat=CHAT)
    wait_for(lambda: other.texts() == ["theirs", "mine", "mine too"])
    wait_for(lambda: page.texts() == other.texts())


def joined(page: Frontend, other: Device) -> None:
    """The page has joined, and what it read of the chat does not reach it yet."""
    page.browser.run(HOLD)
    page.say("m1", "mine")
    page.browser.until("return window.begins;")
    other.begin("theirs")
    page.browser.run(LATE_READ + "letGo();")
    page.browser.until("return window.hasRead;")


def test_what_is_saved_while_the_page_reads_the_chat_that_it_joined_stays_on_it(page: Frontend, other: Device) -> None:
    joined(page, other)
    page.say("m2", "mine too")
    wait_for(lambda: other.texts() == ["theirs", "mine", "mine too"])
    page.settle()
    page.browser.run("deliver();")
    page.browser.pause(0.3)
    wait_for(lambda: page.texts() == other.texts())


@pytest.mark.slow
def test_a_clear_while_the_page_reads_the_chat_that_it_joined(page: Frontend, other: Device) -> None:
    joined(page, other)
    page.settle()
    page.browser.run("await chat.clear(); window.list = [];")
    page.say("m2", "after it")
    page.settle()
    page.browser.run("deliver();")
    page.browser.pause(0.3)
    page.say("m3", "and on")
    page.settle()
    assert other.texts() == page.texts() == ["after it", "and on"]


def test_what_the_page_reads_while_its_clear_is_under_way_is_not_shown(page: Frontend, other: Device) -> None:
    joined(page, other)
    page.settle()
    page.browser.run(NO_NETWORK + "void chat.clear(); window.list = [];")
    page.say("m2", "after it")
    page.browser.run("deliver();")
    page.browser.pause(0.3)
    assert page.texts() == ["after it"]
    page.browser.run("letGo();")
    page.settle()
    assert other.texts() == page.texts() == ["after it"]


@pytest.mark.slow
def test_a_state_that_a_page_saved_before_there_was_a_session_is_in_the_one_that_is_found(page: Frontend, other: Device) -> None:
    page.browser.run(NO_NETWORK + "void chat.saveState({ context: 'of mine' });")
    page.browser.pause(0.3)
    other.begin("theirs")
    page.load(chat=CHAT)
    wait_for(lambda: other.api.get(f"/sessions/{other.id}/agent-state").json().get("context") == "of mine")


@pytest.mark.slow
def test_a_state_of_an_ended_page_does_not_replace_a_later_one(page: Frontend, other: Device) -> None:
    other.begin("theirs")
    page.load(chat=CHAT)
    page.browser.run(NO_NETWORK + "void chat.saveState({ context: 'older', plan: { title: 'Mine', steps: [] } });")
    page.browser.pause(0.3)
    page.browser.open(f"{page.server.url}/healthz")
    page.browser.run(NO_NETWORK + LATE_STATE)
    assert page.begin(chat=CHAT)["mirrored"]
    page.browser.run("void chat.saveState({ context: 'newer' }); letGo();")
    page.settle()
    state = other.api.get(f"/sessions/{other.id}/agent-state").json()
    assert (state["context"], state["plan"]["title"]) == ("newer", "Mine")


@pytest.mark.slow
def test_the_other_tabs_hear_of_a_chat_that_is_begun_before_the_first_one_listens(page: Frontend, other: Device) -> None:
    page.browser.open(f"{page.server.url}/healthz")
    page.browser.run(NO_SOCKET)
    page.begin(chat=CHAT)
    first = page.browser.driver.current_window_handle
    second = page.browser.new_tab(f"{page.server.url}/healthz")
    page.begin(chat=CHAT)
    other.begin("theirs")
    page.browser.go_to(first)
    page.browser.run("window.letGo = true;")
    wait_for(lambda: page.texts() == ["theirs"])
    page.browser.go_to(second)
    wait_for(lambda: page.texts() == ["theirs"])


@pytest.mark.slow
def test_what_was_left_goes_to_the_present_epoch_of_the_chat(page: Frontend, other: Device) -> None:
    first = page.browser.driver.current_window_handle
    second = page.browser.new_tab("about:blank")
    page.browser.go_to(first)
    page.browser.run(NO_NETWORK)
    page.say("m1", "mine")
    page.browser.run("await chat.stored();")
    other.begin("theirs")
    other.api.post(f"/sessions/{other.id}/clear")
    other.say("theirs after it", epoch=2)
    page.browser.crash_tab(then=second)
    page.load(chat=CHAT)
    wait_for(lambda: other.texts() == page.texts() == ["theirs after it", "mine"])
    assert other.api.get(f"/sessions/{other.id}/conflicts").json()["items"] == []
