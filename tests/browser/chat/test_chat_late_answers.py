"""Answers that arrive after the page has gone on: to another project or session, or to what a newer answer said."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.browser.chat_page import ChatPage, following
from tests.browser.driving import Browser, wait_for
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
# The first request to this method and address (a pattern) is answered, but the page gets the answer when it is released.
HOLD_FIRST = """
    const { fetch } = window;
    const [method, address] = [args[0], new RegExp(args[1])];
    const released = new Promise((resolve) => { window.release = resolve; });
    window.held = 0;
    window.fetch = async (...given) => {
      const answer = await fetch(...given);
      if (window.held || (given[1]?.method ?? 'GET') !== method || !address.test(String(given[0]))) return answer;
      window.held = 1;
      const text = await answer.text();
      await released;
      const { status, headers } = answer;
      return new Response(text, { status, headers });
    };
"""
HELD = "return window.held === 1;"
CHOOSE = "document.querySelector(`#chat-sessions-rows [data-id='${args[0]}']`).click();"
LISTED = "return Boolean(document.querySelector(`#chat-sessions-rows [data-id='${args[0]}']`));"
OPEN = "document.getElementById('chat-path').value = args[0]; document.getElementById('chat-project').requestSubmit();"


@pytest.fixture
def agent(server: LiveServer, api: Callable[..., Any], alice: User) -> Chat:
    chat = Chat(api(alice))
    chat.say("m1", "at first")
    chat.say("m2", "the answer", role="assistant")
    return chat


@pytest.fixture
def page(signed_in: Browser, server: LiveServer, agent: Chat) -> ChatPage:
    return following(signed_in, server.url, agent)


def beside(agent: Chat, text: str, *, project: str = "") -> Chat:
    """Another session, which does not become the current one."""
    project = project or agent.project
    other = Chat(agent.api, project=project, session_id=str(uuid.uuid4()))
    agent.api.put(f"/sessions/{other.id}", {"project": project, "current": False}, **{"If-None-Match": "*"})
    other.say(f"of {text}", text, role="assistant")
    return other


def test_a_project_that_was_left_before_it_was_read_is_not_shown_in_the_next_one(page: ChatPage, agent: Chat) -> None:
    Chat(agent.api, project="/slow").say("s1", "in the slow one")
    Chat(agent.api, project="/next").say("n1", "in the next one")
    page.browser.run(HOLD_FIRST, "GET", "/resume\\?project=%2Fslow")
    page.browser.run(OPEN, "/slow")
    page.browser.until(HELD)
    page.browser.run(OPEN, "/next")
    page.until(lambda texts: texts == ["in the next one"])
    page.browser.run("window.release();")
    page.browser.pause(0.5)
    assert page.texts() == ["in the next one"]


def test_the_session_that_was_chosen_last_is_shown(page: ChatPage, agent: Chat) -> None:
    first, last = beside(agent, "in the first one"), beside(agent, "in the last one")
    for one in (first, last):
        page.browser.until(LISTED, one.id)
    page.browser.run(HOLD_FIRST, "GET", "/resume\\?")
    page.browser.run(CHOOSE, first.id)
    page.browser.until(HELD)
    page.browser.run(CHOOSE, last.id)
    page.until(lambda texts: texts == ["in the last one"])
    page.browser.run("window.release();")
    page.browser.pause(0.5)
    assert page.texts() == ["in the last one"]


def test_older_messages_that_come_late_are_not_shown_in_another_project(page: ChatPage, agent: Chat) -> None:
    Chat(agent.api, project="/next").say("n1", "in the next one")
    long = Chat(agent.api, project="/long")
    long.ops(*({"op": "upsert", "id": f"l{n}", "role": "user", "text": f"line {n}"} for n in range(199)))
    long.ops(*({"op": "upsert", "id": f"m{n}", "role": "user", "text": f"last {n}"} for n in range(199)))
    page.browser.run(HOLD_FIRST, "GET", "/messages\\?before=")
    page.browser.run(OPEN, "/long")
    page.until(lambda texts: "last 198" in texts)
    page.browser.run("document.querySelector('#chat-log .older button').click();")
    page.browser.until(HELD)
    page.browser.run(OPEN, "/next")
    page.until(lambda texts: texts == ["in the next one"])
    page.browser.run("window.release();")
    page.browser.pause(0.5)
    assert page.texts() == ["in the next one"]


TITLES = "return document.getElementById('panel-title').textContent;"


def test_of_two_states_the_newer_one_is_shown(page: ChatPage, agent: Chat) -> None:
    page.browser.run(HOLD_FIRST, "GET", "/agent-state$")
    agent.api.put(f"/sessions/{agent.id}/agent-state", {"plan": {"title": "Older", "steps": []}})
    page.browser.until(HELD)
    agent.api.put(f"/sessions/{agent.id}/agent-state", {"plan": {"title": "Newer", "steps": []}})
    page.browser.until(f"{TITLES[:-1]} === 'Newer';")
    page.browser.run("window.release();")
    page.browser.pause(0.5)
    assert page.browser.run(TITLES) == "Newer"


def test_of_two_titles_the_newer_one_is_shown(page: ChatPage, agent: Chat) -> None:
    title = "return document.getElementById('chat-title').textContent;"
    page.browser.run(HOLD_FIRST, "GET", f"/sessions/{agent.id}\\?messages=0$")
    agent.api.patch(f"/sessions/{agent.id}", {"title": "Older"})
    page.browser.until(HELD)
    agent.api.patch(f"/sessions/{agent.id}", {"title": "Newer"})
    page.browser.until(f"{title[:-1]} === 'Newer';")
    page.browser.run("window.release();")
    page.browser.pause(0.5)
    assert page.browser.run(title) == "Newer"


def test_a_state_that_is_saved_while_its_session_is_opened_is_shown(page: ChatPage, agent: Chat) -> None:
    other = beside(agent, "in the other one")
    page.browser.until(LISTED, other.id)
    page.browser.run(HOLD_FIRST, "GET", "/resume\\?")
    page.browser.run(CHOOSE, other.id)
    page.browser.until(HELD)
    agent.api.put(f"/sessions/{other.id}/agent-state", {"plan": {"title": "Meanwhile", "steps": []}})
    page.browser.pause(1)
    page.browser.run("window.release();")
    page.until(lambda texts: texts == ["in the other one"])
    page.browser.until(f"{TITLES[:-1]} === 'Meanwhile';")


def test_instructions_of_a_session_that_was_left_stay_out_of_the_next_one(page: ChatPage, agent: Chat) -> None:
    other = beside(agent, "in the other one")
    page.browser.until(LISTED, other.id)
    page.browser.run(HOLD_FIRST, "PATCH", f"/sessions/{agent.id}$")
    page.browser.run("document.getElementById('chat-instruct').click();")
    page.browser.run("""const field = document.getElementById('chat-instructions-text');
        field.value = 'Of the first one'; field.dispatchEvent(new Event('input'));
        document.getElementById('chat-instructions').close('save');""")
    page.browser.until(HELD)
    page.browser.run(CHOOSE, other.id)
    page.until(lambda texts: texts == ["in the other one"])
    page.browser.run("document.getElementById('chat-instruct').click();")
    page.browser.run("""const field = document.getElementById('chat-instructions-text');
        field.value = 'Of the other one'; field.dispatchEvent(new Event('input'));""")
    page.browser.run("window.release();")
    page.browser.pause(0.5)
    page.browser.run("document.getElementById('chat-instructions').close('save');")
    wait_for(lambda: other.read()["session"]["metadata"].get("instructions"))
    assert other.read()["session"]["metadata"] == {"instructions": "Of the other one"}
    assert agent.read()["session"]["metadata"] == {"instructions": "Of the first one"}
    assert not page.browser.run("return document.getElementById('chat-instructions').open;")


def test_the_clear_of_another_session_is_not_undone_in_the_one_that_is_shown(page: ChatPage, agent: Chat) -> None:
    other = beside(agent, "cleared in the other one")
    other.clear()
    page.browser.until(LISTED, other.id)
    page.browser.run(HOLD_FIRST, "POST", f"/sessions/{agent.id}/clear$")
    page.press("Clear session")
    page.browser.until(HELD)
    page.press("Undo")
    page.browser.run(CHOOSE, other.id)
    page.browser.until("return document.getElementById('chat-session').href.includes(args[0]);", other.id)
    page.browser.run("window.release();")
    page.browser.pause(0.7)
    assert (page.texts(), other.texts()) == ([], [])


def test_the_end_of_an_answer_is_not_noted_in_another_session(page: ChatPage, agent: Chat) -> None:
    other = beside(agent, "in the other one")
    page.browser.until(LISTED, other.id)
    page.browser.run(HOLD_FIRST, "GET", f"/sessions/{agent.id}/messages\\?limit=500&since_rev=")
    page.say("count to 3")
    page.browser.until(HELD)
    wait_for(lambda: agent.read()["messages"][-1]["status"] == "complete" and agent.texts()[-1] == "1 2 3")
    page.browser.run(CHOOSE, other.id)
    page.until(lambda texts: texts == ["in the other one"])
    page.browser.run("window.release();")
    page.browser.pause(1)
    assert other.get("agent-state").status_code == 404
