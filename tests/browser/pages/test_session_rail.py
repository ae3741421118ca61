"""Beside a transcript, in a real browser: an agent's question is answered with the keyboard alone; all of it is live."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium.webdriver.common.keys import Keys

from sessions_app.core.storage.sql import rfc3339
from sessions_app.models.times import now
from tests.browser.accessibility import LIVE, assert_accessible
from tests.browser.driving import Browser
from tests.browser.keyboard import Keyboard
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
STEPS = "return [...document.querySelectorAll('#rail-plan-steps li')].map((step) => step.dataset.status).join(' ');"

TITLES = """
    const shown = document.querySelectorAll('h1, .session-name, .crumbs [aria-current]');
    return document.title.includes(args[0]) && [...shown].every((one) => one.textContent === args[0]);
"""


@pytest.fixture
def chat(server: LiveServer, api: Callable[..., Any], alice: User) -> Chat:
    chat = Chat(api(alice))
    chat.say("m1", "Why?")
    ask(chat)
    chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"working_notes": "first", "todos": []})
    return chat


def ask(chat: Chat, **question: Any) -> None:
    steps = [{"id": f"s{number}", "title": f"Step {number}", "status": "pending"} for number in (1, 2)]
    state = {"plan": {"title": "A plan", "steps": steps}, "pending_action": {"id": "a1", "kind": "deploy", **question}}
    assert chat.api.put(f"/sessions/{chat.id}/agent-state", state).status_code < 300


def open_page(browser: Browser, server: LiveServer, chat: Chat) -> None:
    browser.open(f"{server.url}/sessions/{chat.id}/")
    browser.until(LIVE)


def test_a_question_is_answered_with_the_keyboard_alone(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    open_page(signed_in, server, chat)
    assert signed_in.driver.title.startswith("● ")
    keyboard = Keyboard(signed_in)
    keyboard.write("Note to the agent", "Go on")
    keyboard.choose("Approve")
    signed_in.until("return document.querySelector('#toasts-status').textContent.includes('Approved');")
    signed_in.until("return document.querySelector('#rail-question').textContent.includes('by alice');")
    assert chat.get("agent-state/pending-action/a1").json()["resolution"]["note"] == "Go on"
    assert not signed_in.driver.title.startswith("● ")
    assert keyboard.at.get_attribute("id") == "rail-question"
    assert_accessible(signed_in)


def test_enter_in_the_note_decides_nothing_and_another_question_has_to_be_read_first(
    signed_in: Browser, server: LiveServer, chat: Chat
) -> None:
    ask(chat, kind="list_files")
    open_page(signed_in, server, chat)
    keyboard = Keyboard(signed_in)
    keyboard.write("Note to the agent", "No, stop")
    keyboard.press(Keys.ENTER)
    keyboard.go_to("Approve")
    ask(chat, id="a2", kind="drop_database")
    signed_in.until("return document.querySelector('#rail-question h2').textContent.includes('drop_database');")
    assert signed_in.run("return document.activeElement.id;") == "rail-question-title"
    keyboard.press(Keys.ENTER)
    assert signed_in.run("return document.querySelector('#rail-question [name=note]').value;") == ""
    assert signed_in.run("return document.querySelector('#rail-question [value=approve]').disabled;")
    signed_in.until("return document.querySelector('#rail-question [value=approve]:enabled');")
    # The same question with another payload is another one, too; its note stays.
    keyboard.write("Note to the agent", "half a wo")
    keyboard.go_to("Approve")
    ask(chat, id="a2", kind="drop_database", payload="all of them")
    signed_in.until("return document.querySelector('#rail-question').textContent.includes('all of them');")
    assert signed_in.run("return document.activeElement.id;") == "rail-question-title"
    assert signed_in.run("return document.querySelector('#rail-question [name=note]').value;") == "half a wo"
    assert {chat.get(f"agent-state/pending-action/{one}").json()["status"] for one in ("a1", "a2")} == {"pending"}


def test_the_rail_follows_what_agents_save_and_keeps_what_one_does_there(
    signed_in: Browser, server: LiveServer, chat: Chat
) -> None:
    open_page(signed_in, server, chat)
    signed_in.run("document.querySelector('#rail-ai-claude-notes').open = true;")
    Keyboard(signed_in).write("Note to the agent", "half a wo")
    chat.api.patch(f"/sessions/{chat.id}/agent-state/plan/steps/s1", {"status": "completed"})
    signed_in.until(f"{STEPS[:-1]} === 'completed pending';")
    chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"working_notes": "second", "todos": []})
    signed_in.until("return document.querySelector('#rail-ai-claude-notes').textContent.includes('second');")
    ask(chat, payload="another text")
    signed_in.until("return document.querySelector('#rail-question').textContent.includes('another text');")
    assert signed_in.run("return document.querySelector('#rail-ai-claude-notes').open;")
    keyboard = Keyboard(signed_in)
    assert keyboard.name() == "Note to the agent"
    keyboard.press("rd")
    assert signed_in.run("return document.activeElement.value;") == "half a word"
    answer = f"/sessions/{chat.id}/agent-state/pending-action/a1/resolve"
    assert chat.api.post(answer, {"decision": "reject"}).status_code == 200
    signed_in.until("return document.querySelector('#rail-question').textContent.includes('rejected');")
    assert signed_in.complaints() == []


@pytest.mark.slow
def test_what_one_does_there_leaves_the_transcript_where_it_is(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    chat.ops(*({"op": "upsert", "id": f"n{number}", "role": "user", "text": f"Line {number}"} for number in range(150)))
    Chat(chat.api)  # The current one.
    signed_in.open(f"{server.url}/sessions/{chat.id}/?at=n40&q=Line#message-42")
    place = (
        "return [Math.round(document.querySelector('#message-42').getBoundingClientRect().top), location.search, location.hash];"
    )
    signed_in.until("return document.querySelector('#message-42 mark.present') !== null;")
    before = signed_in.run(place)
    signed_in.run("document.querySelector('#title').focus({ preventScroll: true });")
    Keyboard(signed_in).press("A name", Keys.ENTER)
    signed_in.until(TITLES, "A name")
    signed_in.run("document.querySelector('#rail-acts [data-key=r]').click();")
    signed_in.until("return !document.querySelector('#rail-acts').textContent.includes('Make current');")
    assert signed_in.run(place) == before
    # A form that loads the page again leads back to the message.
    signed_in.run("document.querySelector('#rail-acts [action$=\"/archive/\"] button').click();")
    signed_in.until("return document.querySelector('#rail-acts').textContent.includes('Unarchive');")
    signed_in.run("[...document.querySelectorAll('#toasts-status form')].at(-1).requestSubmit();")
    signed_in.until("return document.querySelector('#rail-acts')?.textContent.includes('Make current') === false;")
    signed_in.until("return document.querySelector('#message-42 mark.present') !== null;")
    assert signed_in.run(place)[1:] == before[1:]
    assert signed_in.complaints() == []


@pytest.mark.slow
def test_the_bar_of_a_plan_is_a_line(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    for address in (f"/sessions/{chat.id}/", f"/chat/?project={chat.project}"):
        signed_in.open(f"{server.url}{address}")
        height = "return document.querySelector('progress')?.getBoundingClientRect().height"
        assert 0 < signed_in.until(f"{height};") < 12


@pytest.mark.slow
def test_a_question_that_expires_while_one_looks_at_it_takes_its_buttons_along(
    signed_in: Browser, server: LiveServer, chat: Chat
) -> None:
    ask(chat, expires_at=rfc3339(now() + timedelta(seconds=3)))
    open_page(signed_in, server, chat)
    assert signed_in.run("return Boolean(document.querySelector('#rail-question [value=approve]'));")
    signed_in.until("return !document.querySelector('#rail-question [value=approve]');")


@pytest.mark.slow
def test_on_a_small_screen_the_rail_is_a_drawer(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    size = {"width": 360, "height": 780, "deviceScaleFactor": 1, "mobile": False}
    signed_in.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        open_page(signed_in, server, chat)
        assert signed_in.run("return document.documentElement.scrollWidth <= innerWidth;")
        assert not signed_in.run("return document.querySelector('#rail').checkVisibility();")
        # The badge of waiting messages has the class that marks the button.
        assert signed_in.run("return getComputedStyle(document.querySelector('.rail-open.waiting')).paddingTop;") == "0px"
        keyboard = Keyboard(signed_in)
        keyboard.choose("Details an agent waits for you")
        keyboard.choose("Reject")
        signed_in.until("return document.querySelector('#rail-question').textContent.includes('rejected');")
        assert_accessible(signed_in)
        keyboard.press("\ue00c")
        assert not signed_in.run("return document.querySelector('#rail').checkVisibility();")
        assert keyboard.name() == "Details"
    finally:
        signed_in.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_link_to_what_is_to_settle_opens_the_drawer(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    chat.ops({"op": "upsert", "id": "m1", "role": "user", "text": "of another tab"}, writer_id="w2")
    size = {"width": 360, "height": 780, "deviceScaleFactor": 1, "mobile": False}
    signed_in.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        signed_in.open(f"{server.url}/sessions/?has=conflicts")
        keyboard = Keyboard(signed_in)
        keyboard.choose("1 to settle")
        signed_in.until("return document.activeElement.id === 'rail-conflicts';")
        assert signed_in.run("return document.querySelector('#rail-conflicts').checkVisibility();")
        assert_accessible(signed_in)
        keyboard.choose("Use this")
        signed_in.until("return !document.querySelector('#rail-conflicts');")
        assert chat.texts() == ["of another tab"]
    finally:
        signed_in.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.slow
def test_a_title_that_somebody_else_gave_meanwhile_is_told_before_it_is_replaced(
    signed_in: Browser, server: LiveServer, chat: Chat
) -> None:
    open_page(signed_in, server, chat)
    rename = "document.querySelector('#rail-title button').click();"  # The notice may cover it.
    seen = "return document.querySelector('#rail-title [name=seen]').value;"
    signed_in.run("document.getElementById('title').value = 'mine';")
    chat.api.patch(f"/sessions/{chat.id}", {"title": "theirs"})
    signed_in.until(TITLES, "theirs")
    assert signed_in.run("return document.getElementById('title').value;") == "mine"
    signed_in.run(rename)
    signed_in.until("return document.querySelector('#toasts').innerText.includes('it has the title “theirs”');")
    signed_in.until(f"{seen[:-1]} === 'theirs';")
    assert chat.read()["session"]["title"] == "theirs"
    assert signed_in.run("return document.getElementById('title').value;") == "mine"
    signed_in.run(rename)
    signed_in.until(TITLES, "mine")
    # What was sent is no longer half-written.
    chat.api.patch(f"/sessions/{chat.id}", {"title": "theirs again"})
    signed_in.until("return document.getElementById('title').value === 'theirs again';")
    assert signed_in.run(seen) == "theirs again"


def test_an_earlier_session_is_opened_in_the_chat_and_what_is_said_of_it_leaves_the_composer_free(
    signed_in: Browser, server: LiveServer, chat: Chat, emulated: Callable[..., None]
) -> None:
    chat.say("m1", "words of before")
    Chat(chat.api)  # The current one.
    apart = """
        const toast = document.querySelector('#toasts .toast')?.getBoundingClientRect();
        return toast?.height > 0 && toast.bottom <= document.getElementById('chat-say').getBoundingClientRect().top;
    """
    for width, height in ((360, 740), (1280, 800)):
        emulated("setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        open_page(signed_in, server, chat)
        signed_in.run("document.querySelector('#rail-acts [action$=\"/chat/\"]').requestSubmit();")
        signed_in.until("return document.getElementById('chat')?.textContent.includes('words of before');")
        assert signed_in.run(apart), width
        signed_in.run("document.querySelector('#toasts form').requestSubmit();")
        signed_in.until("return document.getElementById('chat')?.textContent.includes('words of before') === false;")
    assert signed_in.complaints() == []


def test_a_row_of_a_live_list_leads_to_the_chat_too(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    """Its other buttons leave the list on the screen."""
    chat.say("m1", "words of before")
    Chat(chat.api)  # The current one.
    signed_in.open(f"{server.url}/projects/{chat.read()['session']['project_id']}/")
    signed_in.until(LIVE)
    row = f"session-{chat.id}"
    signed_in.run("document.querySelector(`#${args[0]} .menu summary`).click();", row)
    signed_in.run("document.querySelector(`#${args[0]} [action$='/chat/'] button`).click();", row)
    signed_in.until("return document.getElementById('chat')?.textContent.includes('words of before');")


def test_the_button_of_the_archive_keeps_the_focus(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    open_page(signed_in, server, chat)
    signed_in.run("document.querySelector('#rail-acts [action$=\"/archive/\"] button').focus();")
    Keyboard(signed_in).press(Keys.ENTER)
    signed_in.until("return document.querySelector('#rail-acts').textContent.includes('Unarchive');")
    signed_in.until("return document.activeElement.textContent === 'Unarchive';")


@pytest.mark.parametrize("what", ["moved", "cleared"])
def test_what_is_half_written_outlives_a_change_that_needs_another_page(
    signed_in: Browser, server: LiveServer, chat: Chat, what: str
) -> None:
    Chat(chat.api, project="/home/alice/other")
    open_page(signed_in, server, chat)
    keyboard = Keyboard(signed_in)
    keyboard.write("Note to the agent", "Go on")
    _ = chat.post_plain("move", {"to_project": "/home/alice/other"}) if what == "moved" else chat.clear()
    signed_in.until(f"return document.getElementById('toasts-alert').textContent.includes('{what}');")
    signed_in.until(f"return document.getElementById('live-state').textContent.includes('{what}');")
    signed_in.run("window.kept = true;")
    keyboard.choose("Approve")
    signed_in.until("return window.kept === undefined && document.readyState === 'complete';")
    assert chat.get("agent-state/pending-action/a1").json()["resolution"]["note"] == "Go on"


# The page reads it when it begins to listen.
READ_ONCE = "return performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/rail/'));"
LOSE_FIRST = """
    const { fetch } = window;
    window.lost = 0;
    window.fetch = async (...given) => {
      if (window.lost || !String(given[0]).includes('/rail/')) return fetch(...given);
      window.lost = 1;
      if (!args[0]) throw new TypeError('Failed to fetch');
      return new Response('', { status: args[0] });
    };
"""


@pytest.mark.parametrize("status", [0, 503])
def test_a_panel_that_the_server_did_not_answer_once_is_read_again(
    signed_in: Browser, server: LiveServer, chat: Chat, status: int
) -> None:
    open_page(signed_in, server, chat)
    signed_in.until(READ_ONCE)
    signed_in.run(LOSE_FIRST, status)
    ask(chat, id="a2", kind="drop_database")
    signed_in.until("return window.lost === 1;")
    signed_in.until("return document.querySelector('#rail-question h2').textContent.includes('drop_database');")
    assert "not up to date" in signed_in.run("return document.querySelector('#toasts-status').textContent;")
