"""The chat page holds a plan beside the talk, as an agent does; a reload paints it again."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from selenium.webdriver.common.keys import Keys

from sessions_app.models import AgentState, PendingAction
from tests.browser.accessibility import assert_accessible
from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, wait_for
from tests.browser.keyboard import Keyboard
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
# The plan is an answer with a list in it.
RENDERED = "return document.querySelectorAll('[role=log] article .words li').length === 2;"
STEPS = "return [...document.querySelectorAll('#panel-steps li')].map((step) => `${step.textContent}:${step.dataset.status}`);"


@pytest.fixture
def chat(signed_in: Browser, server: LiveServer, settings: Any) -> ChatPage:
    settings.CHAT_WORD_MS = 0
    return ChatPage(signed_in, server.url)


@pytest.fixture
def agent(api: Callable[..., Any], alice: User) -> Any:
    return api(alice)


def stored(agent: Any, chat: ChatPage) -> Any:
    return agent.get(f"/resume?project={quote(chat.project)}&quiet=1").json()


def plan(chat: ChatPage) -> None:
    chat.open()
    chat.say("Sell old maps")
    chat.until(lambda texts: len(texts) == 2)
    chat.until_still()
    chat.say("Ship them flat")
    chat.until(lambda texts: len(texts) == 4)
    chat.until_still()
    chat.press("Make a plan")
    chat.browser.until(f"{STEPS[:-1]}.length === 2;")


def test_a_plan_outlives_a_hard_reload_with_what_is_done_of_it(chat: ChatPage, agent: Any) -> None:
    plan(chat)
    keyboard = Keyboard(chat.browser)
    keyboard.go_to("Sell old maps")
    keyboard.press(" ")
    chat.browser.until(f"{STEPS[:-1]}[0] === 'Sell old maps:completed';")
    wait_for(lambda: stored(agent, chat)["agent_state"]["plan"]["steps"][0]["status"] == "completed")
    assert_accessible(chat.browser)
    chat.reload_hard()
    assert chat.browser.run(STEPS) == ["Sell old maps:completed", "Ship them flat:pending"]
    assert chat.step() == "plan"
    state = stored(agent, chat)["agent_state"]
    assert (state["context"]["step"], state["context"]["turns"]) == ("plan", 5)
    assert chat.browser.complaints() == []


@pytest.mark.slow
def test_the_immortality_test_with_a_plan(chat: ChatPage) -> None:
    """Seed 001: say the code, trigger a plan, reload hard; history and plan are back, and the code is known."""
    chat.open()
    chat.say("My secret code is 777.")
    chat.until_answered("secret code is 777.")
    chat.until_still()
    chat.say("Create file secret.txt")
    chat.until(lambda texts: len(texts) == 4)
    chat.until_still()
    chat.press("Make a plan")
    chat.browser.until(f"{STEPS[:-1]}.length === 2;")
    chat.until_still()
    chat.browser.until(RENDERED)
    shown = chat.texts()
    chat.browser.until("return /^Saved /.test(document.getElementById('chat-quiet').textContent);")
    chat.reload_hard()
    chat.until(lambda texts: texts == shown)
    assert chat.browser.run(STEPS) == ["My secret code is 777.:pending", "Create file secret.txt:pending"]
    chat.say("What is my code?")
    chat.until(lambda texts: texts[-1] == "Your secret code is 777.")
    assert len(chat.browser.run(STEPS)) == 2


@pytest.mark.slow
def test_what_an_agent_changes_in_the_plan_is_seen_at_once(chat: ChatPage, agent: Any) -> None:
    plan(chat)
    session = stored(agent, chat)["session"]["id"]
    agent.patch(f"/sessions/{session}/agent-state/plan/steps/s2", {"status": "in_progress"})
    chat.browser.until(f"{STEPS[:-1]}[1] === 'Ship them flat:in_progress';")
    agent.patch(f"/sessions/{session}/agent-state", {"pending_action": {"id": "a1", "kind": "print", "payload": "500 maps"}})
    chat.browser.until("return document.querySelector('#panel-approve:enabled')?.checkVisibility();")
    chat.browser.run("document.getElementById('panel-approve').focus();")
    # Another question at the same place: what was pressed for the one before answers nothing.
    agent.patch(f"/sessions/{session}/agent-state", {"pending_action": {"id": "a2", "kind": "drop", "payload": "all maps"}})
    chat.browser.until("return document.getElementById('panel-kind').textContent === 'drop';")
    Keyboard(chat.browser).press(Keys.ENTER)
    assert chat.browser.run("return document.activeElement.id;") == "panel-question-title"
    assert chat.browser.run("return document.getElementById('panel-approve').disabled;")
    assert agent.get(f"/sessions/{session}/agent-state/pending-action/a2").json()["status"] == "pending"
    agent.patch(f"/sessions/{session}/agent-state", {"pending_action": {"id": "a1", "kind": "print", "payload": "500 maps"}})
    chat.browser.until("return document.getElementById('panel-kind').textContent === 'print';")
    chat.browser.until("return document.querySelector('#panel-approve:enabled');")
    chat.press("Approve")
    chat.browser.until("return document.getElementById('panel-answer').textContent === 'alice: approve';")
    asked = f"/sessions/{session}/agent-state/pending-action/a1"
    assert agent.get(asked).json()["resolution"]["decision"] == "approve"


def test_a_question_that_the_agent_changes_while_it_is_read_is_not_approved(chat: ChatPage, agent: Any) -> None:
    chat.open()
    chat.say("Sell old maps")
    chat.until(lambda texts: len(texts) == 2)
    chat.until_still()
    at = f"/sessions/{stored(agent, chat)['session']['id']}/agent-state"
    question = {"id": "a1", "kind": "delete", "payload": "all drafts"}
    agent.patch(at, {"pending_action": question})
    chat.browser.until("return document.querySelector('#panel-approve:enabled')?.checkVisibility();")
    # The news of it is not yet there when the button is pressed.
    state, asked = AgentState.objects.get(), PendingAction.objects.get()
    assert state.content is not None
    other = {**question, "payload": "all users"}
    asked.content = json.dumps(other)
    asked.save()
    state.content, state.rev = json.dumps({**json.loads(state.content), "pending_action": other}), state.rev + 1
    state.save()
    chat.press("Approve")
    chat.browser.until("return document.body.innerText.includes('The agent changed its question meanwhile.');")
    chat.browser.until("return document.getElementById('panel-payload').textContent === 'all users';")
    assert agent.get(f"{at}/pending-action/a1").json()["status"] == "pending"
    chat.browser.until("return document.querySelector('#panel-approve:enabled');")
    chat.press("Approve")
    chat.browser.until("return document.getElementById('panel-answer').textContent === 'alice: approve';")


def test_a_question_shows_its_fields_and_is_answered_with_a_note(chat: ChatPage, agent: Any) -> None:
    """As on the session's page."""
    chat.open()
    chat.say("Sell old maps")
    chat.until(lambda texts: len(texts) == 2)
    chat.until_still()
    at = f"/sessions/{stored(agent, chat)['session']['id']}/agent-state"
    agent.patch(at, {"pending_action": {"id": "a1", "kind": "deploy", "payload": {"to": "<b>all</b>", "shops": [1, 2]}}})
    chat.browser.until("return document.querySelector('#panel-approve:enabled')?.checkVisibility();")
    fields = "return [...document.querySelectorAll('#panel-fields > div')].map((pair) => pair.innerText);"
    assert chat.browser.run(fields) == ["to\n<b>all</b>", "shops\n[\n  1,\n  2\n]"]
    assert not chat.browser.run("return document.getElementById('panel-payload').checkVisibility();")
    chat.browser.run("document.getElementById('panel-note').focus();")
    Keyboard(chat.browser).press(" After six. ")
    chat.press("Reject")
    chat.browser.until("return document.getElementById('panel-answer').textContent === 'alice: reject – After six.';")
    resolution = agent.get(f"{at}/pending-action/a1").json()["resolution"]
    assert (resolution["decision"], resolution["note"]) == ("reject", "After six.")
    agent.patch(at, {"pending_action": {"id": "a2", "kind": "print", "payload": "500 maps"}})
    chat.browser.until("return document.getElementById('panel-payload').textContent === '500 maps';")
    assert chat.browser.run("return document.getElementById('panel-note').value;") == ""


@pytest.mark.slow
def test_a_question_with_numbers_that_browsers_round_is_answered(chat: ChatPage, agent: Any) -> None:
    plan(chat)
    at = f"/sessions/{stored(agent, chat)['session']['id']}/agent-state"
    agent.patch(at, {"pending_action": {"id": "a1", "kind": "delete", "payload": {"row": 2**60 + 1, "of": 1.50}}})
    chat.browser.until("return document.querySelector('#panel-approve:enabled')?.checkVisibility();")
    chat.press("Approve")
    chat.browser.until("return document.getElementById('panel-answer').textContent === 'alice: approve';")


# Responses that hold a session's state come late.
SLOW_STATES = """
    const fetched = window.fetch;
    window.fetch = async (request, options = {}) => {
      const response = await fetched(request, options);
      const reads = (options.method ?? "GET") === "GET" && String(request.url ?? request).includes("/agent-state");
      if (reads) await new Promise((go) => setTimeout(go, 1000));
      if (reads) setTimeout(() => (window.slowStates = (window.slowStates ?? 0) + 1), 100);
      return response;
    };
"""


@pytest.mark.slow
def test_a_state_that_comes_late_is_not_shown_in_another_project(chat: ChatPage, agent: Any) -> None:
    plan(chat)
    session = stored(agent, chat)["session"]["id"]
    chat.browser.run(SLOW_STATES)
    agent.patch(f"/sessions/{session}/agent-state/plan/steps/s2", {"status": "in_progress"})
    chat.browser.until("return performance.getEntriesByType('resource').at(-1).name.includes('/agent-state');")
    field = chat.browser.textbox("Project")
    field.clear()
    field.send_keys(f"{chat.project}-b")
    chat.press("Open")
    chat.until(lambda texts: texts == [])
    chat.browser.until("return window.slowStates > 0;")
    assert chat.browser.run("return document.getElementById('agent-panel').hidden;")


@pytest.mark.slow
def test_a_plan_is_dismissed_and_brought_back(chat: ChatPage, agent: Any) -> None:
    plan(chat)
    chat.press("Dismiss plan")
    wait_for(lambda: "plan" not in stored(agent, chat)["agent_state"])
    assert chat.browser.run("return document.getElementById('agent-panel').hidden;")
    chat.press("Undo")
    wait_for(lambda: "plan" in stored(agent, chat)["agent_state"])


@pytest.mark.slow
def test_each_project_has_its_own_plan(chat: ChatPage) -> None:
    plan(chat)
    field = chat.browser.textbox("Project")
    field.clear()
    field.send_keys(f"{chat.project}-b")
    chat.press("Open")
    chat.until(lambda texts: texts == [])
    assert chat.browser.run("return document.getElementById('agent-panel').hidden;")
    field.clear()
    field.send_keys(chat.project)
    chat.press("Open")
    chat.browser.until(f"{STEPS[:-1]}.length === 2;")


def test_a_dismissed_plan_takes_the_place_of_no_newer_one(chat: ChatPage, agent: Any) -> None:
    plan(chat)
    chat.press("Dismiss plan")
    wait_for(lambda: "plan" not in stored(agent, chat)["agent_state"])
    newer = {"title": "Newer", "steps": [{"id": "n", "title": "Sell new maps", "status": "pending"}]}
    address = f"/sessions/{stored(agent, chat)['session']['id']}/agent-state"
    assert agent.patch(address, {"plan": newer}).status_code == 200
    chat.browser.until(f"{STEPS[:-1]}[0] === 'Sell new maps:pending';")
    chat.press("Undo")
    chat.browser.until("return document.getElementById('chat-toast').textContent.includes('another plan by now');")
    assert chat.browser.run(STEPS) == ["Sell new maps:pending"]
    assert stored(agent, chat)["agent_state"]["plan"]["title"] == "Newer"


def test_a_question_of_a_long_kind_widens_nothing(chat: ChatPage, agent: Any) -> None:
    chat.open()
    chat.say("one")
    chat.until(lambda texts: len(texts) == 2)
    chat.until_still()
    session = stored(agent, chat)["session"]["id"]
    asked = {"pending_action": {"id": "a1", "kind": "deploy" * 10, "payload": {"to": "staging"}}}
    assert agent.put(f"/sessions/{session}/agent-state", asked).status_code in {200, 201}
    chat.browser.until("return document.getElementById('panel-kind').textContent !== '';")
    chip = (
        "const [chip, card] = ['panel-kind', 'panel-question'].map((id) => document.getElementById(id).getBoundingClientRect());"
    )
    assert chat.browser.run(f"{chip} return chip.right < card.right;")
    # Who approves it reads all of it.
    assert chat.browser.run("const kind = document.getElementById('panel-kind'); return kind.scrollWidth <= kind.clientWidth;")
