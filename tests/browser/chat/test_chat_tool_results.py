"""A tool's result that is a message of its own is shown in the call that it answers, in the chat as on the session's page."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
WORDS = """
    return [...document.querySelectorAll('[role=log] article')].map((article) => {
      const copy = article.querySelector('.words').cloneNode(true);
      for (const element of copy.querySelectorAll('[id]')) element.removeAttribute('id');
      return [article.dataset.id, copy.innerHTML.replace(/\\s+/g, ' ').replace(/ ?(<|>) ?/g, '$1').trim()];
    });
"""
RENDERED = "return document.querySelectorAll('[role=log] article .tool').length === args[0];"


@pytest.fixture
def agent(server: LiveServer, api: Callable[..., Any], alice: User) -> Chat:
    return Chat(api(alice))


@pytest.fixture
def page(signed_in: Browser, server: LiveServer, agent: Chat) -> ChatPage:
    return ChatPage(signed_in, server.url, agent.project)


def raw(message_id: str, **said: Any) -> dict[str, Any]:
    return {"op": "upsert", "id": message_id, "format": "openai.chat", "raw": said}


def call(id_: str, arguments: str) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": "shell", "arguments": arguments}}


@pytest.mark.slow
def test_results_are_in_their_calls_as_on_the_sessions_page(page: ChatPage, agent: Chat) -> None:
    agent.say("q1", "List **both** folders")
    calls = [call("c1", '{"command": "ls a"}'), call("c2", '{"command": "ls b"}')]
    agent.ops(raw("a1", role="assistant", content="I *look*.", tool_calls=calls))
    agent.ops(raw("t1", role="tool", tool_call_id="c1", content="one.txt"))
    agent.ops(raw("t2", role="tool", tool_call_id="c2", content="two.txt"))
    agent.ops(raw("t3", role="tool", tool_call_id="nobody", content="a result without its call"))
    agent.ops(raw("a2", role="assistant", content="- one\n- two"))
    seen = []
    for address in (page.address, f"{page.url}/sessions/{agent.id}/"):
        page.browser.open(address)
        page.browser.until(RENDERED, 3)
        page.browser.until("return document.querySelector('[role=log] article[data-id=a2] li') !== null;")
        seen.append(page.browser.run(WORDS))
    assert [name for name, _ in seen[0]] == ["q1", "a1", "t3", "a2"]
    assert seen[0] == seen[1]
    assert "one.txt" in dict(seen[0])["a1"]
    assert page.browser.complaints() == []


@pytest.mark.slow
def test_a_result_that_comes_later_joins_the_call_that_is_shown(page: ChatPage, agent: Chat) -> None:
    agent.say("q1", "Go")
    agent.ops(raw("a1", role="assistant", content="I look.", tool_calls=[call("c1", '{"command": "ls"}')]))
    page.open()
    page.browser.until(RENDERED, 1)
    agent.ops(raw("t1", role="tool", tool_call_id="c1", content="late.txt"))
    page.until_answered("late.txt")
    assert page.browser.run("return document.querySelectorAll('[role=log] article').length;") == 2
    agent.ops({"op": "delete", "id": "t1"})
    page.until(lambda texts: not any("late.txt" in text for text in texts))


@pytest.mark.slow
def test_a_result_joins_its_call_when_older_messages_are_loaded(page: ChatPage, agent: Chat) -> None:
    agent.ops(raw("a1", role="assistant", content="I look.", tool_calls=[call("c1", '{"command": "ls"}')]))
    agent.ops(raw("t1", role="tool", tool_call_id="c1", content="early.txt"))
    agent.ops(*({"op": "upsert", "id": f"m{number}", "role": "user", "text": f"line {number}"} for number in range(199)))
    page.open()
    assert page.browser.run("return document.querySelector('[role=log] article').dataset.id;") == "t1"
    page.browser.run("document.getElementById('chat-log').scrollTop = 0;")
    page.browser.until("return document.querySelector('[role=log] article').dataset.id === 'a1';")
    assert page.browser.run("return document.querySelector('[data-id=t1]');") is None
    page.until_answered("early.txt")
