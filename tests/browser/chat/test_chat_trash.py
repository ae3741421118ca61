"""What was written in a session that is in the trash by then, on a page that shows another one."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, wait_for
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
NOTICES = "return [...document.querySelectorAll('.chat-notice:not([hidden])')].map((line) => line.firstElementChild.textContent);"
ALERT = "return document.getElementById('chat-alert').textContent;"
REFUSED = """
    return new Promise((resolve, reject) => {
      const opening = indexedDB.open("stillhere");
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => {
        const all = opening.result.transaction("queue").objectStore("queue").getAll();
        all.onsuccess = () => { opening.result.close(); resolve(all.result.some(({ refused }) => refused)); };
      };
    });
"""
# As the list of waiting messages does.
RETRY = "document.dispatchEvent(new CustomEvent('stillhere:retry', { detail: args[0], cancelable: true }));"
LISTED = "return Boolean(document.querySelector(`#chat-sessions-rows [data-id='${args[0]}']`));"


@pytest.fixture
def agent(server: LiveServer, api: Callable[..., Any], alice: User) -> Chat:
    chat = Chat(api(alice))
    chat.say("m1", "at first")
    return chat


@pytest.fixture
def page(signed_in: Browser, server: LiveServer, agent: Chat) -> ChatPage:
    """In another session now: what was said in the first one was refused, because it is in the trash."""
    page = ChatPage(signed_in, server.url, agent.project)
    page.open()
    page.until_answered("at first")
    agent.say("m2", "heard of", role="assistant")
    page.until_answered("heard of")
    agent.api.delete(f"/sessions/{agent.id}")
    wait_for(lambda: told(page, "in the trash"))
    page.say("not in the trash")
    page.browser.until(REFUSED)
    page.press("New session")
    page.until(lambda texts: texts == [])
    page.say("count to 2")
    page.until(lambda texts: texts == ["count to 2", "1 2"])
    page.until_still()
    return page


def told(page: ChatPage, words: str) -> bool:
    return any(words in line for line in page.browser.run(NOTICES))


def saves(page: ChatPage, chat: Chat) -> int:
    return sum(chat.id in sent["url"] and sent["url"].endswith("/changes") for sent in page.browser.requests())


def test_the_session_that_is_shown_is_not_said_to_be_in_the_trash_or_erased(page: ChatPage, agent: Chat) -> None:
    page.open()
    page.browser.until(f"{ALERT[:-1]}.startsWith('Not saved until you restore its session from the trash.');")
    page.browser.until(LISTED, page.session().split("/")[-2])
    assert page.browser.run(NOTICES) == []
    assert page.texts() == ["count to 2", "1 2"]


def test_it_is_not_sent_again_and_again(page: ChatPage, agent: Chat) -> None:
    page.browser.requests()
    page.browser.run(RETRY, agent.project)
    page.browser.until(f"{ALERT[:-1]} !== '';")
    page.browser.pause(1)
    assert saves(page, agent) == 1
    assert page.browser.run(NOTICES) == []


def test_it_is_saved_once_the_session_is_back(page: ChatPage, agent: Chat) -> None:
    agent.api.post(f"/sessions/{agent.id}/undelete")
    wait_for(lambda: agent.texts()[:3] == ["at first", "heard of", "not in the trash"])
    assert page.texts() == ["count to 2", "1 2"]
    assert page.browser.run(NOTICES) == []


def test_it_is_saved_though_the_session_came_back_while_no_page_was_open(page: ChatPage, agent: Chat) -> None:
    page.browser.open(f"{page.url}/healthz")
    agent.api.post(f"/sessions/{agent.id}/undelete")
    agent.api.patch(f"/sessions/{agent.id}", {"current": True})
    page.open()
    wait_for(lambda: agent.texts()[:3] == ["at first", "heard of", "not in the trash"])
    page.until(lambda texts: texts[:3] == ["at first", "heard of", "not in the trash"])
    # Its question is answered too.
    wait_for(lambda: (page.browser.run(NOTICES), page.browser.run(ALERT)) == ([], ""))
