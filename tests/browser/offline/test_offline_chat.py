"""The chat without its server: it opens, shows the session, takes messages, and sends each once when the server is back."""

import pytest

from sessions_app.models import Message
from tests.browser.accessibility import assert_accessible
from tests.browser.chat_page import ChatPage
from tests.browser.offline.conftest import KEPT, Station

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.offline]
KNOWN = ["count to 2", "1 2"]
ADDRESSES = """
    const kept = [];
    for (const name of await caches.keys()) {
      for (const { url } of await (await caches.open(name)).keys()) kept.push(new URL(url).pathname);
    }
    return kept;
"""
STORED = "return [...document.querySelectorAll('#stored-pages a')].map((link) => link.textContent);"


def questions() -> list[str]:
    return list(Message.objects.filter(role="user").order_by("id").values_list("text", flat=True))


def test_a_reload_without_the_server_shows_the_session_and_takes_messages(chat: ChatPage, station: Station) -> None:
    station.leave()
    chat.browser.driver.refresh()
    chat.ready()
    chat.until(lambda texts: texts == KNOWN)
    chat.say("count to 3")
    chat.say("count to 4")
    chat.until(lambda texts: texts == [*KNOWN, "count to 3", "count to 4"])
    assert_accessible(chat.browser)
    station.come_back()
    chat.until_answered("1 2 3 4")
    chat.until_still()
    assert questions() == ["count to 2", "count to 3", "count to 4"]
    assert Message.objects.filter(role="assistant", text="1 2 3 4").count() == 1


@pytest.mark.slow
def test_what_was_said_without_the_server_outlives_its_tab(chat: ChatPage, station: Station) -> None:
    home = chat.browser.driver.current_window_handle
    station.leave()
    chat.browser.new_tab(chat.address)
    chat.ready()
    chat.say("count to 3")
    chat.until(lambda texts: texts == [*KNOWN, "count to 3"])
    chat.browser.close_tab(then=home)
    chat.browser.open("about:blank")
    chat.browser.open(chat.address)
    chat.ready()
    chat.until(lambda texts: texts == [*KNOWN, "count to 3"])
    station.come_back()
    chat.until_answered("1 2 3")
    chat.until_still()
    assert questions() == ["count to 2", "count to 3"]


@pytest.mark.slow
def test_visited_sessions_open_and_other_pages_say_what_there_is(chat: ChatPage, station: Station) -> None:
    session = chat.session()
    chat.browser.open(session)
    chat.browser.until(KEPT)
    station.leave()
    chat.browser.open(f"{session}?from=elsewhere")
    chat.until(lambda texts: texts == KNOWN)
    chat.browser.open(f"{station.url}/keys/")
    chat.browser.until("return document.querySelector('h1').textContent === 'No connection to the server';")
    assert chat.browser.until(STORED) == ["count to 2", "Chat · shop"]
    assert_accessible(chat.browser)
    assert not [kept for kept in chat.browser.run(ADDRESSES) if kept.startswith("/api/")]
    station.come_back()
    chat.browser.run("document.getElementById('try-again').click();")
    chat.browser.until("return document.querySelector('h1').textContent === 'Keys';")


@pytest.mark.slow
def test_a_server_that_says_nothing_is_not_waited_for(chat: ChatPage, station: Station) -> None:
    with station.silent():
        chat.browser.open(chat.address)
        chat.browser.until("return document.querySelectorAll('[role=log] article').length === 2;")
    station.come_back()
    chat.ready()
    chat.say("count to 3")
    chat.until_answered("1 2 3")
