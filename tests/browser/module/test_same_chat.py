"""Two devices begin the same chat: what both said is in the one session that has the chat's id."""

from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import User

from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import Frontend
from tests.browser.module.other_device import CHAT, HOLD, NO_SOCKET, Device
from tests.conftest import Api
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
# What the page says is what finds the session; its resume does not get through.
NO_RESUME = """
    const send = window.fetch;
    const isResume = (url) => url.includes("/resume?") && !url.includes("quiet");
    window.fetch = (url, options) => (isResume(url) ? Promise.reject(new TypeError("lost")) : send(url, options));
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


def test_what_both_say_is_in_one_session_in_one_order(page: Frontend, other: Device) -> None:
    page.browser.run(HOLD)
    page.say("m1", "mine")
    page.browser.run("chat.saveDraft('being typed');")
    page.browser.until("return window.begins;")
    other.begin("theirs", "theirs too")
    page.say("m2", "mine too")
    page.browser.run("chat.saveState({ context: 'of mine' });")
    page.browser.run("letGo();")
    page.settle()
    page.browser.until("return chat.session.id === args[0];", other.id)
    wait_for(lambda: other.texts() == ["theirs", "theirs too", "mine", "mine too"])
    wait_for(lambda: page.texts() == other.texts())
    assert [message["text"] for message in page.heard("changed")[-1]["messages"]] == other.texts()
    assert page.heard("refused") == []
    assert other.sessions() == [other.id]
    wait_for(lambda: other.api.get(f"/sessions/{other.id}/agent-state").json()["context"] == "of mine")
    # The page goes on there, and hears of the other device.
    other.say("and on")
    wait_for(lambda: page.texts()[-1] == "and on")
    page.say("m3", "as well")
    page.settle()
    assert other.texts()[-2:] == ["and on", "as well"]
    restored = page.load(chat=CHAT)
    assert [message["text"] for message in restored["messages"]] == other.texts()
    assert page.browser.run("return chat.draft();") == "being typed"


def test_a_growing_answer_and_a_chat_that_was_cleared_meanwhile(page: Frontend, other: Device) -> None:
    page.browser.run(HOLD)
    page.say("m1", "mine")
    page.browser.until("return window.begins;")
    other.begin("theirs")
    other.api.post(f"/sessions/{other.id}/clear")
    other.say("theirs after it", epoch=2)
    page.say("a1", "an answer", role="assistant", streaming=True)
    page.browser.run("letGo();")
    wait_for(lambda: other.texts() == ["theirs after it", "mine", "an answer"])
    page.say("a1", "an answer that grew", role="assistant")
    page.settle()
    wait_for(lambda: other.texts() == ["theirs after it", "mine", "an answer that grew"])
    wait_for(lambda: page.texts() == other.texts())
    assert other.api.get(f"/sessions/{other.id}/conflicts").json()["items"] == []


@pytest.mark.slow
def test_what_a_page_that_is_gone_began_without_the_server(page: Frontend, other: Device) -> None:
    first = page.browser.driver.current_window_handle
    second = page.browser.new_tab("about:blank")
    page.browser.go_to(first)
    page.browser.offline()
    page.say("m1", "mine")
    page.say("m2", "mine too")
    page.browser.run("await chat.stored();")
    other.begin("theirs")
    page.browser.crash_tab(then=second)
    page.load(chat=CHAT)
    wait_for(lambda: other.texts() == ["theirs", "mine", "mine too"])
    wait_for(lambda: page.texts() == other.texts())
    assert other.sessions() == [other.id]


def test_a_session_in_the_trash_is_told_with_the_words_and_they_arrive_when_it_is_back(page: Frontend, other: Device) -> None:
    page.browser.run(HOLD)
    page.say("m1", "mine")
    page.browser.until("return window.begins;")
    other.begin("theirs")
    other.api.delete(f"/sessions/{other.id}")
    page.browser.run("letGo();")
    [refused] = wait_for(lambda: page.heard("refused"))
    assert (refused["code"], [op["text"] for op in refused["operations"]]) == ("session_deleted", ["mine"])
    assert other.api.post(f"/sessions/{other.id}/undelete").status_code == 200
    page.browser.run("await chat.retry();")
    wait_for(lambda: other.texts() == ["theirs", "mine"])
    wait_for(lambda: page.texts() == other.texts())


@pytest.mark.slow
def test_a_chat_that_was_begun_elsewhere_before_these_words_is_shown(page: Frontend, other: Device) -> None:
    page.browser.offline()
    page.say("m1", "mine")
    other.begin("theirs")
    page.browser.online()
    wait_for(lambda: other.texts() == ["theirs", "mine"])
    shown = wait_for(lambda: page.heard("changed"))[-1]
    assert [message["text"] for message in shown["messages"]] == ["theirs", "mine"]


@pytest.mark.slow
def test_a_page_that_was_opened_without_the_server_hears_of_the_chat_when_it_is_back(page: Frontend, other: Device) -> None:
    page.browser.run("chat.close();")
    page.browser.offline()
    page.browser.run(NO_RESUME)
    assert page.begin(chat=CHAT)["mirrored"]
    page.say("m1", "mine")
    other.begin("theirs")
    page.browser.online()
    wait_for(lambda: other.texts() == ["theirs", "mine"])
    shown = wait_for(lambda: page.heard("restored"))[-1]
    assert [message["text"] for message in shown["messages"]] == ["theirs", "mine"]


def test_a_connection_that_keeps_one_chat_begins_no_other(page: Frontend, other: Device) -> None:
    page.say("m1", "mine")
    page.settle()
    with pytest.raises(AssertionError, match="TypeError: This connection keeps one chat"):
        page.browser.run("await chat.newSession();")
    assert page.texts() == ["mine"]


def test_what_this_page_cleared_meanwhile_is_not_shown_again(page: Frontend, other: Device) -> None:
    page.browser.run(HOLD)
    page.say("m1", "mine")
    page.browser.until("return window.begins;")
    other.begin("theirs")
    page.browser.run("window.clearing = chat.clear(); window.list = [];")
    page.say("m2", "after it")
    page.browser.run("letGo();")
    page.settle()
    assert other.texts() == ["after it"]
    assert page.texts() == ["after it"]
    assert page.browser.run("return window.clearing;")["cleared"] == 2
    page.browser.run("await chat.undoClear();")
    wait_for(lambda: page.texts() == other.texts() == ["theirs", "mine", "after it"])


def test_a_chat_that_is_begun_before_the_page_listens_is_shown(page: Frontend, other: Device) -> None:
    page.browser.open(f"{page.server.url}/healthz")
    page.browser.run(NO_SOCKET)
    assert page.begin(chat=CHAT)["session"] is None
    other.begin("theirs")
    page.browser.run("window.letGo = true;")
    wait_for(lambda: page.texts() == ["theirs"])
