"""The project's sessions beside the chat: by day, found, opened and renamed, by keyboard and on a phone."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium.webdriver.common.keys import Keys

from generation_app.generations.model.endpoint import Endpoint
from sessions_app.models import ChatSession
from sessions_app.models.times import now
from tests.browser.accessibility import assert_accessible
from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, wait_for
from tests.browser.keyboard import Keyboard
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
PROJECT = "/home/alice/shop"
ROWS = "return [...document.querySelectorAll('#chat-sessions-rows :is(h3, a > span)')].map((part) => part.textContent);"
TITLE = "return document.getElementById('chat-title').textContent;"
TYPED = "return document.getElementById('chat-message').value;"
FOCUSED = "return document.activeElement.id;"
OPEN = "return document.getElementById('chat-sessions').matches(':popover-open');"


@pytest.fixture
def older(api: Callable[..., Any], alice: User) -> Chat:
    """A session of yesterday, below the present one."""
    older = Chat(api(alice), project=PROJECT)
    older.say("m1", "words of yesterday")
    newer = Chat(older.api, project=PROJECT)
    newer.say("m1", "words of today")
    for chat, title, days in ((older, "Old questions", 1), (newer, "New questions", 0)):
        chat.api.patch(f"/sessions/{chat.id}", {"title": title})
        ChatSession.objects.filter(id=chat.id).update(updated_at=now() - timedelta(days=days))
    return older


@pytest.fixture
def page(signed_in: Browser, server: LiveServer, older: Chat) -> ChatPage:
    page = ChatPage(signed_in, server.url, project=PROJECT)
    page.open()
    page.browser.until(f"{ROWS[:-1]}.length > 1;")
    return page


@pytest.mark.slow
def test_a_session_is_opened_by_keyboard_with_its_draft(page: ChatPage, older: Chat) -> None:
    assert page.browser.run(ROWS) == ["Today", "New questions", "Yesterday", "Old questions"]
    page.browser.textbox("Message").send_keys("not sent")
    page.until_draft_stored("not sent")
    hands = Keyboard(page.browser)
    hands.choose("Old questions…", backwards=True)
    page.until(lambda texts: texts == ["words of yesterday"])
    assert page.browser.run(TITLE) == "Old questions"
    assert page.browser.run(FOCUSED) == "chat-message"
    assert page.browser.run(TYPED) == ""
    hands.choose("New questions…", backwards=True)
    page.until(lambda texts: texts == ["words of today"])
    page.browser.until(f"{TYPED[:-1]} === 'not sent';")
    hands.choose("Old questions…", backwards=True)
    page.until(lambda texts: texts == ["words of yesterday"])
    page.reload_hard()
    page.until(lambda texts: texts == ["words of yesterday"])
    page.say("count to 2")
    page.until_answered("1 2")
    assert older.texts()[:2] == ["words of yesterday", "count to 2"]


@pytest.mark.slow
def test_a_session_that_is_only_opened_keeps_its_place(page: ChatPage) -> None:
    before = page.browser.run(ROWS)
    Keyboard(page.browser).choose("Old questions…", backwards=True)
    page.until(lambda texts: texts == ["words of yesterday"])
    page.browser.until("return document.querySelector('#chat-sessions-rows [aria-current]')?.title === 'Old questions';")
    assert page.browser.run(ROWS) == before


def test_a_blank_name_of_a_project_opens_nothing(page: ChatPage) -> None:
    page.browser.textbox("Message").send_keys("not sent")
    page.browser.run("document.getElementById('chat-path').value = '  ';")
    page.press("Open")
    assert page.browser.run(TYPED) == "not sent"
    assert page.browser.complaints() == []


def test_the_list_is_read_again_wherever_the_focus_is(page: ChatPage, older: Chat) -> None:
    """On a message, and on the row of a session that is deleted elsewhere."""
    state = "return document.getElementById('chat-sessions-state').textContent;"
    page.browser.run("document.activeElement.blur();")
    Keyboard(page.browser).press("j")
    page.browser.until("return document.activeElement.matches('article');")
    older.api.patch(f"/sessions/{older.id}", {"title": "Older questions"})
    page.browser.until(f"return (() => {{ {ROWS} }})().includes('Older questions');")
    assert page.browser.run(state) == ""
    page.browser.run("document.querySelector('#chat-sessions-rows a[title=\"Older questions\"]').focus();")
    older.api.delete(f"/sessions/{older.id}")
    page.browser.until(f"return !(() => {{ {ROWS} }})().includes('Older questions');")
    assert (page.browser.run(state), page.browser.run(FOCUSED)) == ("", "chat-sessions-find")


def test_the_time_of_a_save_is_written_as_all_times_beside_it(page: ChatPage) -> None:
    """Also for a browser whose own language counts hours to twelve."""
    page.browser.driver.execute_cdp_cmd("Emulation.setLocaleOverride", {"locale": "en-US"})
    page.say("count to 2")
    page.until_answered("1 2")
    page.browser.until("return /^Saved \\d\\d:\\d\\d:\\d\\d\\.$/.test(document.getElementById('chat-quiet').textContent.trim());")
    page.browser.driver.execute_cdp_cmd("Emulation.setLocaleOverride", {})


def test_what_has_no_title_is_called_by_its_question_and_what_is_pinned_is_first(page: ChatPage, older: Chat) -> None:
    """As on the other pages."""
    project = older.read()["session"]["project_id"]
    untitled = older.api.post(f"/projects/{project}/sessions", {"title": ""}).json()["id"]
    Chat(older.api, session_id=untitled).say("m1", "Why does it fail?")
    older.api.patch(f"/sessions/{older.id}", {"pinned": True})
    page.open()
    page.browser.until(f"{TITLE[:-1]} === 'Why does it fail?';")
    # Another request brings the names.
    wait_for(lambda: page.browser.run(ROWS)[:4] == ["Pinned", "Old questions", "Today", "Why does it fail?"])


def test_a_new_session_is_not_said_to_be_saved_when_the_former_one_was(page: ChatPage) -> None:
    page.say("count to 2")
    page.until_answered("1 2")
    page.until_still()
    page.press("New session")
    page.until(lambda texts: texts == [])
    page.browser.until("return document.getElementById('chat-quiet').textContent.trim() === 'Nothing saved here yet.';")


@pytest.mark.slow
def test_a_session_is_renamed_in_place(page: ChatPage, older: Chat) -> None:
    page.press("Rename")
    hands = Keyboard(page.browser)
    hands.press("Decimals", Keys.ENTER)
    page.browser.until(f"{TITLE[:-1]} === 'Decimals';")
    page.browser.until(f"{ROWS[:-1]}.includes('Decimals');")
    assert page.browser.run(FOCUSED) == "chat-message"
    assert ChatSession.objects.filter(title="Decimals").exists()
    page.press("Rename")
    page.browser.offline()
    hands.press("Later", Keys.ENTER)
    page.browser.until("return document.getElementById('chat-alert').textContent === 'Not renamed: The server does not answer.';")
    page.browser.online()
    hands.press(Keys.ESCAPE)
    page.press("Rename")
    hands.press("Never", Keys.ESCAPE)
    assert page.browser.run(TITLE) == "Decimals"
    # Elsewhere.
    own = ChatSession.objects.get(title="Decimals")
    older.api.patch(f"/sessions/{own.id}", {"title": "Cents"})
    page.browser.until(f"{TITLE[:-1]} === 'Cents';")


@pytest.mark.slow
def test_a_title_that_somebody_else_gave_meanwhile_is_told_before_it_is_replaced(page: ChatPage, older: Chat) -> None:
    own = ChatSession.objects.get(title="New questions")
    page.press("Rename")
    hands = Keyboard(page.browser)
    hands.press("Decimals")
    older.api.patch(f"/sessions/{own.id}", {"title": "Cents"})
    hands.press(Keys.ENTER)
    page.browser.until("return document.getElementById('chat-alert').textContent.includes('it has the title “Cents”');")
    own.refresh_from_db()
    assert own.title == "Cents"
    hands.press(Keys.ENTER)
    page.browser.until(f"{TITLE[:-1]} === 'Decimals';")
    own.refresh_from_db()
    assert own.title == "Decimals"


@pytest.mark.slow
def test_a_title_that_is_being_written_stays_out_of_the_session_that_is_opened_meanwhile(page: ChatPage) -> None:
    page.press("Rename")
    hands = Keyboard(page.browser)
    hands.press("Decimals")
    hands.choose("Old questions…", backwards=True)
    page.until(lambda texts: texts == ["words of yesterday"])
    assert page.browser.run("return document.getElementById('chat-title-form').hidden;")
    assert page.browser.run(TITLE) == "Old questions"
    assert not ChatSession.objects.filter(title="Decimals").exists()


def test_the_list_follows_and_is_searched(page: ChatPage, older: Chat) -> None:
    other = Chat(older.api, project=PROJECT)
    other.api.patch(f"/sessions/{other.id}", {"title": "Third"})
    page.browser.until(f"{ROWS[:-1]}[1] === 'Third';")
    page.browser.textbox("Find a session").send_keys("yesterday")
    page.browser.until(f"{ROWS[:-1]}.join() === 'Yesterday,Old questions';")
    page.browser.textbox("Find a session").send_keys("!")
    page.browser.until("return document.getElementById('chat-sessions-state').textContent === 'No session says that.';")


@pytest.mark.slow
def test_on_a_phone_the_list_is_a_drawer(page: ChatPage) -> None:
    metrics = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    page.browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        page.press("Sessions")
        wait_for(lambda: page.browser.run(OPEN))
        assert_accessible(page.browser)
        Keyboard(page.browser).choose("Old questions…")
        page.until(lambda texts: texts == ["words of yesterday"])
        assert not page.browser.run(OPEN)
        assert page.browser.run("return document.documentElement.scrollWidth;") <= 360
    finally:
        page.browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.slow
def test_a_session_has_instructions_of_its_own(page: ChatPage, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def remembered(self: Any, *, model: str, messages: list[Any]) -> Any:
        told.append(messages[0]["content"])
        return ask(self, model=model, messages=messages)

    ask = Endpoint.ask
    monkeypatch.setattr(Endpoint, "ask", remembered)
    page.press("Instructions")
    assert_accessible(page.browser)
    Keyboard(page.browser).press("Answer in French.")
    page.press("Save instructions")
    page.say("count to 2")
    page.until_answered("1 2")
    page.until_still()
    assert told == ["Answer in French."]
    page.reload_hard()
    page.press("New session")
    page.browser.until(f"{FOCUSED[:-1]} === 'chat-message';")
    page.say("count to 3")
    page.until_answered("1 2 3")
    page.until_still()
    assert "French" not in told[-1]
    assert ChatSession.objects.filter(metadata__contains="Answer in French.").count() == 1


@pytest.mark.slow
def test_instructions_that_changed_elsewhere_are_used_and_shown_before_they_are_replaced(page: ChatPage, older: Chat) -> None:
    own = ChatSession.objects.get(title="New questions")
    older.api.patch(f"/sessions/{own.id}", {"metadata": {"instructions": "Answer in Latin."}})
    page.browser.until("return document.getElementById('chat-instruct').hasAttribute('data-on');")
    page.press("Instructions")
    field = page.browser.textbox("Instructions")
    assert field.get_attribute("value") == "Answer in Latin."
    field.send_keys(" Briefly.")
    older.api.patch(f"/sessions/{own.id}", {"metadata": {"instructions": "Answer in Greek."}})
    page.press("Save instructions")
    page.browser.until("return document.getElementById('chat-instructions-newer').textContent.includes('Answer in Greek.');")
    assert_accessible(page.browser)
    assert field.get_attribute("value") == "Answer in Latin. Briefly."
    assert instructions_of(own) == "Answer in Greek."
    page.press("Save instructions")
    wait_for(lambda: instructions_of(own) == "Answer in Latin. Briefly.")


def instructions_of(session: ChatSession) -> str:
    session.refresh_from_db()
    return str(json.loads(session.metadata or "{}")["instructions"])


def test_a_session_without_a_title_is_called_by_its_question(page: ChatPage, older: Chat) -> None:
    untitled = Chat(older.api, project=PROJECT)
    older.api.patch(f"/sessions/{older.id}", {"current": True})
    untitled.say("m1", "Which shoes go with a <blue> suit?")
    page.browser.until(f"{ROWS[:-1]}.includes('Which shoes go with a <blue> suit?');")
    untitled.api.patch(f"/sessions/{untitled.id}", {"title": "Shoes"})
    page.browser.until(f"{ROWS[:-1]}.includes('Shoes');")
