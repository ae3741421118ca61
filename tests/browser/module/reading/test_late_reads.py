"""What a page reads may be older than what it hears meanwhile: it shows the newest all the same."""

from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import User

from sessions_app.accounts.api_keys import create_key
from sessions_app.core.callers import caller_of_user
from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import CONNECT, Frontend, stored
from tests.browser.module.other_device import CHAT, Device
from tests.conftest import Api
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
# What the server answered to the first such request reaches the page when the test lets it.
LATE_ANSWER = """
    const send = window.fetch;
    const held = new Promise((resolve) => { window.deliver = resolve; });
    window.fetch = async (url, options) => {
      const isHeld = url.includes(args[0]) && !window.answered;
      const answer = await send(url, options);
      if (isHeld) { window.answered = true; await held; }
      return answer;
    };
"""
# What the server answered to each such request waits, until the test lets it reach the page.
HELD_ANSWERS = """
    const send = window.fetch;
    window.held = [];
    window.fetch = async (url, options) => {
      const answer = await send(url, options);
      if (new RegExp(args[0]).test(url)) await new Promise((resolve) => { window.held.push(resolve); });
      return answer;
    };
"""
# The page's socket is closed, and does not get through until then.
AWAY_SOCKET = """
    const Socket = window.WebSocket;
    window.WebSocket = class extends Socket {
      constructor(url) { super(window.away ? url.replace("/ws/", "/nowhere/") : url); }
    };
    window.away = true;
    chat._sessionClient.parts.events.socket.close();
"""
# Nobody else reads or writes the module's queue until `window.isQuick`.
SLOW_DISK = """
    const opening = indexedDB.open("stillhere");
    await new Promise((resolve) => { opening.onsuccess = resolve; });
    const store = opening.result.transaction("queue", "readwrite").objectStore("queue");
    const goOn = () => { if (!window.isQuick) store.count().onsuccess = goOn; };
    goOn();
"""
BEGIN_LATE = f"window.begun = (async () => {{ {CONNECT} }})(); await null;"
BACK = "window.away = false; window.dispatchEvent(new Event('online'));"
LISTENS = "return chat._sessionClient.parts.events.socket?.readyState === WebSocket.OPEN;"
HAS_HEARD = "return chat._sessionClient.parts.events.since >= args[0];"


@pytest.fixture
def page(browser: Browser, server: LiveServer, alice: User, other: Device) -> Iterator[Frontend]:
    """It shows what the other device said, and listens."""
    page = Frontend(browser, server, alice, project=other.project)
    page.load(chat=CHAT)
    wait_for(lambda: browser.run(LISTENS))
    yield page
    browser.leave()


@pytest.fixture
def alone(browser: Browser, server: LiveServer, alice: User) -> Iterator[Frontend]:
    """A page with one message saved, in a project without another device."""
    page = Frontend(browser, server, alice)
    page.load()
    page.say("m1", "one")
    page.settle()
    yield page
    browser.leave()


@pytest.fixture
def other(alice: User, api: Callable[..., Api]) -> Device:
    other = Device(api(alice), "/home/alice/late-reads")
    other.begin("one")
    return other


def open_beside(page: Frontend) -> str:
    """A window for a second page: one that is hidden reads nothing. Returns that of the first."""
    first: str = page.browser.driver.current_window_handle
    page.browser.driver.switch_to.new_window("window")
    page.browser.open(f"{page.server.url}/healthz")
    return first


@pytest.mark.parametrize("cleared", [False, True])
@pytest.mark.slow
def test_a_second_page_hears_of_changes_while_it_reads_the_chat(page: Frontend, other: Device, cleared: bool) -> None:
    """By the first one, which listens for both."""
    options = {"project": page.project, "chat": CHAT, "auth": {"cookie": True, "user": page.user.username}}
    open_beside(page)
    page.browser.run(LATE_ANSWER, "/resume?")
    page.browser.run(BEGIN_LATE, "/static/js/stillhere.js", options)
    wait_for(lambda: page.browser.run("return window.answered;"))
    if cleared:
        other.clear()
    other.say("two", epoch=2 if cleared else 1)
    newest = other.found()["event_cursor"]
    wait_for(lambda: page.browser.run(HAS_HEARD, newest))
    page.browser.run("deliver();")
    wait_for(lambda: page.texts() == other.texts(), 5, "the newest")


def test_the_listening_page_was_away_and_has_read_what_the_second_one_has_not(page: Frontend, other: Device) -> None:
    first = open_beside(page)
    page.begin(chat=CHAT)
    second = page.browser.driver.current_window_handle
    page.browser.go_to(first)
    page.browser.run(AWAY_SOCKET)
    other.say("two")
    page.browser.run("await chat.resume();")
    page.browser.run(BACK)
    wait_for(lambda: page.browser.run(LISTENS))
    page.browser.go_to(second)
    wait_for(lambda: page.texts() == ["one", "two"], 5, "what the first page has read")


def test_another_device_says_something_in_a_chat_whose_clear_is_unanswered(page: Frontend, other: Device) -> None:
    page.browser.run(LATE_ANSWER, "/clear")
    page.browser.run("void chat.clear();")
    wait_for(lambda: page.browser.run("return window.answered;"))
    other.say("two", epoch=2)
    page.browser.pause(0.5)
    page.browser.run("deliver();")
    wait_for(lambda: page.texts() == ["two"], 5, "what was said after the clear")


@pytest.mark.slow
def test_what_was_read_of_a_session_is_not_shown_in_the_next_one(
    alone: Frontend, browser: Browser, api: Callable[..., Api]
) -> None:
    wait_for(lambda: browser.run(LISTENS))
    browser.run(LATE_ANSWER, "since_rev=")
    session = browser.run("return chat.session.id;")
    op = {"op": "upsert", "id": "m2", "role": "user", "text": "two"}
    body = {"epoch": 1, "writer_id": "their-page", "seq": 1, "ops": [op]}
    assert api(alone.user).post(f"/sessions/{session}/changes", body).json()["applied"]
    wait_for(lambda: browser.run("return window.answered;"))
    browser.run("list = (await chat.newSession()).messages;")
    alone.say("m3", "three")
    alone.settle()
    browser.run("deliver();")
    browser.pause(0.5)
    assert alone.texts() == ["three"]


def test_a_page_that_begins_a_session_while_it_resumes_stays_in_it(
    alone: Frontend, browser: Browser, api: Callable[..., Api]
) -> None:
    browser.run(LATE_ANSWER, "/resume?")
    browser.run("window.resumed = chat.resume(); await null;")
    wait_for(lambda: browser.run("return window.answered;"))
    browser.block("*/sessions/*")
    browser.run("list = (await chat.newSession()).messages;")
    alone.say("m2", "two")
    browser.run("deliver(); await resumed;")
    alone.say("m3", "three")
    browser.block()
    alone.settle()
    assert alone.texts() == stored(api, alone) == ["two", "three"]


@pytest.mark.slow
def test_a_page_that_begins_a_session_after_the_answer_came_stays_in_it_too(
    alone: Frontend, browser: Browser, api: Callable[..., Api]
) -> None:
    """What is unsent is read from a slow disk before the answer is shown."""
    browser.run(LATE_ANSWER, "/resume?")
    browser.run("window.resumed = chat.resume(); await null;")
    wait_for(lambda: browser.run("return window.answered;"))
    browser.run(SLOW_DISK)
    browser.run("deliver(); await new Promise((resolve) => setTimeout(resolve, 100));")
    browser.run("window.begun = chat.newSession(); setTimeout(() => { window.isQuick = true; }, 300); await begun;")
    browser.run("await resumed;")
    alone.say("m2", "two")
    alone.settle()
    assert alone.texts() == stored(api, alone) == ["two"]


@pytest.mark.slow
def test_changes_that_come_later_than_what_the_page_did_to_them_undo_nothing(
    page: Frontend, browser: Browser, other: Device, api: Callable[..., Api]
) -> None:
    browser.run(LATE_ANSWER, "since_rev=")
    other.say("two")
    wait_for(lambda: browser.run("return window.answered;"))
    browser.run("list = (await chat.resume()).messages;")
    browser.run("list = list.map((one) => ({ ...one, text: `${one.text}, changed` })); chat.save(list);")
    page.settle()
    browser.run("deliver();")
    browser.pause(0.5)
    assert page.texts() == stored(api, page) == ["one, changed", "two, changed"]


# A message that the module took out is not its page's to say again: words on it are kept by nobody.


@pytest.mark.slow
def test_a_page_hears_that_its_copy_was_cleared_before_it_has_a_token_for_its_end(page: Frontend, other: Device) -> None:
    """What it shows from its start is a copy of an earlier page."""
    key = create_key(caller=caller_of_user(page.user)).secret
    page.load(chat=CHAT, auth={"key": key})
    page.browser.open(f"{page.server.url}/healthz")
    other.clear()
    page.browser.run(HELD_ANSWERS, "flush-tokens$")
    options = {"project": page.project, "chat": CHAT, "auth": {"key": key}}
    page.browser.run(BEGIN_LATE, "/static/js/stillhere.js", options)
    wait_for(lambda: page.browser.run("return held.length === 1;"))
    assert [heard["messages"] for heard in page.heard("changed")] == [[]]
    page.browser.run("held[0](); await begun;")


def test_a_page_hears_what_was_removed_before_all_changes_are_read(page: Frontend, other: Device) -> None:
    page.browser.run(AWAY_SOCKET)
    op = {"op": "upsert", "role": "user", "text": "more"}
    for seq, ops in enumerate(
        ([{"op": "delete", "id": "t1"}], *([op | {"id": f"{half}{i}"} for i in range(300)] for half in "ab"))
    ):
        body = {"epoch": 1, "writer_id": "an-agent", "seq": seq + 1, "base_rev": 1, "ops": ops}
        assert other.api.post(f"/sessions/{other.id}/changes", body).json()["applied"]
    page.browser.run(HELD_ANSWERS, "since_rev=")
    page.browser.run(BACK)
    wait_for(lambda: page.browser.run("return held.length === 1;"))
    page.browser.run("held[0]();")
    wait_for(lambda: page.browser.run("return held.length === 2;"))
    assert [heard["removed"] for heard in page.heard("changed")] == [["t1"]]
    page.browser.run("held[1]();")
    wait_for(lambda: len(page.texts()) == 600, what="all changes")


@pytest.mark.slow
def test_a_page_hears_of_a_clear_though_it_has_to_read_again(page: Frontend, other: Device) -> None:
    """A refusal and an event tell it of the same one."""
    page.browser.run(AWAY_SOCKET)
    other.clear()
    page.browser.run(HELD_ANSWERS, "/sessions/[0-9a-f-]+$")
    page.say("m2", "two")
    wait_for(lambda: page.browser.run("return held.length === 1;"))
    page.browser.run(BACK)
    wait_for(lambda: page.browser.run("return chat._sessionClient.parts.epochChange.toRead;"))
    page.browser.run("held[0]();")
    wait_for(lambda: page.browser.run("return held.length === 2;"))
    assert [heard["messages"] for heard in page.heard("cleared")] == [[]]
    other.say("three", epoch=2)
    page.browser.run("held[1]();")
    wait_for(lambda: page.texts() == ["three"])
    assert len(page.heard("cleared")) == 1
