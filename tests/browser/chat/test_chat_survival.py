"""Whatever was on the screen is there again: the chat page in a real browser, on a real server, through all that happens."""

import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User

from sessions_app.models import Clearing
from sessions_app.models.times import now
from tests.browser.accessibility import LIVE
from tests.browser.chat_page import ChatPage, holds
from tests.browser.driving import Browser, wait_for
from tests.browser.killed_browser import SESSION_KEY
from tests.support.live_server import LiveServer
from tests.support.server_process import ServerProcess
from tests.support.stores import Store

# On both databases: what a reload and a killed server leave, and what is run at full size. The rest is the page's part.
pytestmark = pytest.mark.browser
NOTICES = "document.getElementById('chat-notices').textContent"


@pytest.fixture
def chat(signed_in: Browser, server: LiveServer) -> ChatPage:
    return ChatPage(signed_in, server.url)


@pytest.fixture
def stored(api: Callable[..., Any], alice: User, chat: ChatPage) -> Callable[[], list[str]]:
    """What the server has of the chat."""
    client = api(alice)

    def texts() -> list[str]:
        answer = client.get(f"/resume?project={quote(chat.project)}&quiet=1")
        return [message["text"] for message in answer.json()["messages"]]

    return texts


@pytest.fixture
def mortal(store: Store) -> Iterator[ServerProcess]:
    """A server that may be killed."""
    with ServerProcess(store) as server:
        yield server


def test_the_secret_code_outlives_a_hard_reload_in_mid_stream(chat: ChatPage) -> None:
    chat.open()
    chat.say("My secret code is 777")
    chat.until_answered("secret code is 777.")
    chat.until_still()
    shown = chat.stream()
    chat.reload_hard()
    assert holds(chat.texts(), shown)
    assert chat.step() == "brainstorm"
    chat.until_grown()
    chat.press("Stop")
    chat.until_still()
    chat.say("What is my code?")
    chat.until(lambda texts: len(texts) == 6 and texts[5] == "Your secret code is 777.")


@pytest.mark.once
@pytest.mark.slow
def test_the_quiet_line_says_what_was_restored_and_when_it_was_saved(chat: ChatPage) -> None:
    chat.open()
    chat.say("Hello")
    chat.until(lambda texts: len(texts) == 2)
    chat.until_still()
    chat.browser.until("return /^Saved /.test(document.getElementById('chat-quiet').textContent);")
    chat.reload_hard()
    line = chat.browser.run("return document.getElementById('chat-quiet').textContent;")
    assert line.startswith("Restored: 2 messages, saved ")


@pytest.mark.once
@pytest.mark.slow
def test_a_second_tab_and_the_session_s_page_show_the_stream_without_a_reload(chat: ChatPage) -> None:
    chat.open()
    first = chat.browser.driver.current_window_handle
    chat.say("count to 3")
    chat.until(lambda texts: texts == ["count to 3", "1 2 3"])
    chat.until_still()
    others = [chat.browser.new_tab(address) for address in (chat.address, chat.session())]
    chat.browser.go_to(first)
    shown = chat.stream()
    for other in others:
        chat.browser.go_to(other)
        chat.until(lambda texts: holds(texts, shown))
        chat.until_grown()
    chat.browser.go_to(first)
    chat.press("Stop")


@pytest.mark.slow
def test_a_killed_server_costs_nothing_that_was_shown(browser: Browser, mortal: ServerProcess) -> None:
    browser.sign_in(mortal.url, mortal.shell(SESSION_KEY))
    chat = ChatPage(browser, mortal.url)
    chat.open()
    shown = chat.stream()
    first = browser.driver.current_window_handle
    beside = browser.new_tab(chat.session())
    chat.until(lambda texts: holds(texts, shown))
    browser.until(LIVE)
    mortal.kill()
    browser.until("return document.getElementById('live-state').textContent.startsWith('Disconnected');")
    browser.go_to(first)
    shown = chat.texts()
    mortal.start()
    browser.until("return !document.getElementById('chat-continue').hidden;", seconds=40)
    assert holds(chat.texts(), shown)
    chat.reload_hard()
    assert holds(chat.texts(), shown)
    chat.say("count to 3")
    chat.until(lambda texts: texts[-1] == "1 2 3")
    browser.go_to(beside)
    browser.until(LIVE, seconds=40)
    chat.until(lambda texts: texts[-1] == "1 2 3")
    browser.forget()


@pytest.mark.parametrize("seconds", [pytest.param(3, marks=pytest.mark.once), pytest.param(20, marks=pytest.mark.prove)])
@pytest.mark.slow
def test_offline_is_a_pause(chat: ChatPage, stored: Callable[[], list[str]], seconds: int) -> None:
    chat.open()
    chat.stream()
    chat.browser.offline()
    chat.press("Stop")
    chat.until_still()
    chat.say("said in the tunnel")
    chat.until(lambda texts: texts[-1] == "said in the tunnel")
    chat.browser.pause(seconds)
    shown = chat.texts()
    chat.browser.online()
    chat.browser.until("return /^Saved /.test(document.getElementById('chat-quiet').textContent);", seconds=40)
    # What was said last may be on its way behind what was saved first.
    wait_for(lambda: holds(stored(), shown))


@pytest.mark.once
@pytest.mark.slow
def test_a_tab_that_is_closed_in_mid_stream_and_opened_again(chat: ChatPage) -> None:
    home = chat.browser.driver.current_window_handle
    chat.browser.new_tab(chat.address)
    chat.ready()
    shown = chat.stream()
    chat.browser.close_tab(then=home)
    chat.open()
    chat.until(lambda texts: holds(texts, shown))
    chat.until_grown()


@pytest.mark.parametrize(
    "closes",
    [
        pytest.param(1, marks=pytest.mark.once),
        pytest.param(10, marks=[pytest.mark.slow, pytest.mark.once]),
        pytest.param(100, marks=[pytest.mark.prove, pytest.mark.timeout(1800)]),
    ],
)
def test_closed_at_any_moment_nothing_shown_is_lost(chat: ChatPage, closes: int) -> None:
    """As many times as it takes to believe it: the tab is killed, reloaded or closed while the answer streams."""
    home = chat.browser.driver.current_window_handle
    for round in range(closes):
        chat.browser.new_tab(chat.address)
        chat.ready()
        shown = chat.stream()
        chat.browser.pause(random.uniform(0, 2.3))
        shown = chat.texts()
        if round % 3 == 1:
            chat.reload_hard()
            assert holds(chat.texts(), shown), f"round {round}"
        (chat.browser.close_tab if round % 3 else chat.browser.crash_tab)(then=home)
        chat.open()
        # A killed tab stored nothing of its own: the answer is read from its stream.
        wait_for(partial(lambda shown: holds(chat.texts(), shown), shown))
        chat.press("Stop")
        chat.until_still()


@pytest.mark.once
@pytest.mark.slow
def test_clear_undo_clear(chat: ChatPage, stored: Callable[[], list[str]]) -> None:
    chat.open()
    chat.say("count to 3")
    chat.until(lambda texts: texts == ["count to 3", "1 2 3"])
    chat.until_still()
    chat.press("Clear session")
    chat.until(lambda texts: texts == [])
    assert chat.step() == "question"
    chat.press("Undo")
    chat.until(lambda texts: texts == ["count to 3", "1 2 3"])
    assert chat.step() == "brainstorm"
    chat.press("Clear session")
    chat.until(lambda texts: texts == [])
    chat.browser.until("return !document.getElementById('chat-undo').hidden;")
    chat.reload_hard()
    assert chat.texts() == []
    assert stored() == []


@pytest.mark.once
def test_a_cleared_session_offers_its_messages_after_a_reload(chat: ChatPage, stored: Callable[[], list[str]]) -> None:
    chat.open()
    chat.say("count to 3")
    chat.until(lambda texts: texts == ["count to 3", "1 2 3"])
    chat.until_still()
    chat.press("Clear session")
    wait_for(lambda: stored() == [])
    chat.reload_hard()
    chat.browser.until(f"return {NOTICES}.includes('The messages of this session were cleared.');")
    chat.press("Restore")
    chat.until(lambda texts: texts == ["count to 3", "1 2 3"])
    chat.browser.until(f"return {NOTICES} === '';")
    assert chat.step() == "brainstorm"
    assert stored() == ["count to 3", "1 2 3"]


@pytest.mark.once
def test_what_was_cleared_too_long_ago_is_said_to_be_gone(chat: ChatPage, stored: Callable[[], list[str]]) -> None:
    chat.open()
    chat.say("count to 3")
    chat.until_answered("1 2 3")
    chat.until_still()
    chat.press("Clear session")
    wait_for(lambda: stored() == [])
    Clearing.objects.update(cleared_at=now() - timedelta(days=31))
    chat.reload_hard()
    chat.press("Restore")
    chat.browser.until("return document.getElementById('chat-alert').textContent.startsWith('Nothing is left');")
    assert chat.browser.run(f"return {NOTICES};") == ""
    assert chat.texts() == []


@pytest.mark.once
@pytest.mark.slow
def test_a_stream_that_is_cleared_in_its_middle_stays_cleared(chat: ChatPage, stored: Callable[[], list[str]]) -> None:
    chat.open()
    chat.stream()
    chat.press("Clear session")
    chat.until(lambda texts: texts == [])
    chat.browser.pause(2.5)
    assert stored() == []
    chat.reload_hard()
    assert chat.texts() == []


@pytest.mark.once
def test_project_a_then_b_then_a(chat: ChatPage) -> None:
    chat.open()
    shown = chat.stream()
    field = chat.browser.textbox("Project")
    field.clear()
    field.send_keys(f"{chat.project}-b")
    chat.press("Open")
    chat.until(lambda texts: texts == [])
    chat.say("count to 2")
    chat.until(lambda texts: texts == ["count to 2", "1 2"])
    chat.until_still()
    field.clear()
    field.send_keys(chat.project)
    chat.press("Open")
    chat.until(lambda texts: holds(texts, shown))
    assert "count to 2" not in chat.texts()


@pytest.mark.once
@pytest.mark.slow
def test_the_three_steps_and_their_ways_back(chat: ChatPage) -> None:
    chat.open()
    assert chat.step() == "question"
    chat.say("A shop for old maps")
    chat.until_answered("A shop for old maps")
    chat.until_still()
    assert chat.step() == "brainstorm"
    chat.press("Make a plan")
    chat.until(lambda texts: texts[-1].endswith("A shop for old maps"))
    chat.until_still()
    assert chat.step() == "plan"
    chat.reload_hard()
    assert chat.step() == "plan"
    for name in ("Finish planning", "Back to question"):
        chat.press(name)
        chat.until(lambda texts: texts == [])
        assert chat.step() == "question"
        chat.press("Undo")
        chat.until(lambda texts: len(texts) == 3)
        assert chat.step() == "plan"
        assert chat.browser.run("return document.activeElement.id;") == "chat-message"
