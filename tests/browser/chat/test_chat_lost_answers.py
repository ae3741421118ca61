"""A read that the server does not answer once, as while it is restarted: the page reads again and shows what it would have."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.browser.chat_page import ChatPage, following
from tests.browser.driving import Browser
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
# The first request to such an address has no answer, or one with this status.
LOSE_FIRST = """
    const { fetch } = window;
    const address = new RegExp(args[0]);
    window.lost = 0;
    window.fetch = async (...given) => {
      if (window.lost || !address.test(String(given[0]))) return fetch(...given);
      window.lost = 1;
      if (!args[1]) throw new TypeError('Failed to fetch');
      return new Response(JSON.stringify({ error: { code: 'busy', message: 'Later.' } }), { status: args[1] });
    };
"""
LOST = "return window.lost === 1;"


@pytest.fixture
def agent(server: LiveServer, api: Callable[..., Any], alice: User) -> Chat:
    chat = Chat(api(alice))
    chat.say("m1", "at first")
    return chat


@pytest.fixture
def page(signed_in: Browser, server: LiveServer, agent: Chat) -> ChatPage:
    return following(signed_in, server.url, agent)


@pytest.mark.parametrize("status", [0, 503])
def test_an_agent_s_question_is_shown(page: ChatPage, agent: Chat, status: int) -> None:
    page.browser.run(LOSE_FIRST, "/agent-state$", status)
    agent.api.put(f"/sessions/{agent.id}/agent-state", {"pending_action": {"id": "a1", "kind": "deploy", "payload": "Now?"}})
    page.browser.until(LOST)
    page.browser.until("return document.getElementById('panel-payload').textContent === 'Now?';")


@pytest.mark.parametrize("status", [0, 503])
def test_a_title_is_shown(page: ChatPage, agent: Chat, status: int) -> None:
    page.browser.run(LOSE_FIRST, f"/sessions/{agent.id}\\?messages=0$", status)
    agent.api.patch(f"/sessions/{agent.id}", {"title": "Another title"})
    page.browser.until(LOST)
    page.browser.until("return document.getElementById('chat-title').textContent === 'Another title';")


@pytest.mark.parametrize("status", [0, 503])
def test_a_message_is_rendered(page: ChatPage, agent: Chat, status: int) -> None:
    page.browser.run(LOSE_FIRST, "/chat/words$", status)
    agent.say("m3", "| a | b |\n|---|---|\n| 1 | 2 |", role="assistant")
    page.browser.until(LOST)
    page.browser.until("return document.querySelector('[data-id=m3] table') !== null;")


@pytest.mark.parametrize("status", [0, 503])
def test_another_session_is_offered(page: ChatPage, agent: Chat, status: int) -> None:
    page.browser.run(LOSE_FIRST, "/projects/[^/]*$", status)
    assert agent.api.post(f"/sessions/{agent.id}/fork", {"up_to": "m1"}).status_code == 201
    page.browser.until(LOST)
    page.browser.until("return document.getElementById('chat-notices').textContent.includes('Another session');")
