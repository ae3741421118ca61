"""A long session in the chat: the newest messages at once, the older ones while somebody scrolls up, and nothing jumps."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.models import ChatSession, Message
from tests.browser import driving
from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, wait_for
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
QUIET = "return document.getElementById('chat-quiet').textContent;"
COUNT = "return document.querySelectorAll('[role=log] article').length;"
ALL_LOADED = "return document.querySelector('[role=log] .older').hidden;"
# Scroll to where older messages are read, and watch the message in view in every frame until they and their forms are in.
SCROLL_UP = """
    const log = document.getElementById('chat-log');
    const articles = () => [...log.querySelectorAll('article')];
    const before = articles().length;
    const frame = () => new Promise(requestAnimationFrame);
    log.scrollTop = 500;
    await frame();
    const line = log.getBoundingClientRect().top;
    const anchor = articles().find((article) => article.getBoundingClientRect().bottom > line);
    const top = anchor.getBoundingClientRect().top;
    let jumped = 0;
    for (let late = 0, at = performance.now(); late < 20 && performance.now() - at < 10000; ) {
      await frame();
      jumped = Math.max(jumped, Math.abs(anchor.getBoundingClientRect().top - top));
      if (articles().length > before) late += 1;
    }
    return { jumped, loaded: articles().length - before };
"""


# A list of its own: what grows in the same moment in which somebody scrolls.
SCROLLED = """
    const { SteadyScroll } = await import("/static/js/chat/messages/steady-scroll.js");
    const log = document.createElement("div");
    const grow = () => Object.assign(document.createElement("p"), { style: "height: 300px; margin: 0" });
    log.style = "height: 400px; overflow: auto; overflow-anchor: none";
    log.append(document.createElement("span"), ...Array.from({ length: 10 }, grow));
    document.body.append(log);
    const scroll = new SteadyScroll(log);
    const positions = [];
    scroll.keep(() => log.append(grow()));
    positions.push(log.scrollHeight - log.scrollTop - log.clientHeight);
    log.scrollTop = 650;
    scroll.keep(() => log.append(grow()));
    positions.push(log.scrollTop);
    scroll.toTheEnd();
    positions.push(log.scrollHeight - log.scrollTop - log.clientHeight);
    return positions;
"""


@pytest.fixture
def agent(server: LiveServer, api: Callable[..., Any], alice: User) -> Chat:
    return Chat(api(alice))


@pytest.fixture
def page(signed_in: Browser, server: LiveServer, agent: Chat) -> ChatPage:
    return ChatPage(signed_in, server.url, agent.project)


def fill(agent: Chat, messages: int) -> None:
    """Of different heights, some of them in another form once they are rendered."""
    forms = ("line {n}", "- one of {n}\n- two\n- three", "# Head {n}\n\nwords " + "and more words " * 60, "`{n}`")
    roles = ("user", "assistant")
    every = [(f"m{n}", roles[n % 2], forms[n % 4].format(n=n)) for n in range(messages)]
    for start in range(0, messages, 500):
        piece = every[start : start + 500]
        agent.ops(*({"op": "upsert", "id": name, "role": role, "text": text} for name, role, text in piece))


@pytest.mark.parametrize(
    "messages",
    [240, pytest.param(310, marks=pytest.mark.slow), pytest.param(5000, marks=[pytest.mark.prove, pytest.mark.timeout(600)])],
)
def test_older_messages_load_upwards_without_a_jump(
    page: ChatPage, agent: Chat, messages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The driver takes its time to name a button beside thousands of messages.
    monkeypatch.setattr(driving, "PATIENCE_SECONDS", 120.0)
    fill(agent, messages)
    page.open()
    assert page.browser.run(QUIET).startswith(f"Restored: 200 of {messages:,} messages")
    assert page.browser.run(COUNT) == 200
    while not page.browser.run(ALL_LOADED):
        seen = page.browser.run(SCROLL_UP)
        assert seen["loaded"] > 0
        assert seen["jumped"] < 2
    assert page.browser.run(COUNT) == messages
    assert page.texts()[0] == "line 0"
    page.say("What is new?")
    page.until(lambda texts: len(texts) == messages + 2)
    page.until_still()
    wait_for(lambda: Message.objects.filter(removed="").count() == messages + 2)
    assert ChatSession.objects.get().message_count == messages + 2


@pytest.mark.slow
def test_a_change_to_an_older_message_is_shown_in_its_place(page: ChatPage, agent: Chat) -> None:
    fill(agent, 230)
    page.open()
    assert page.browser.run(COUNT) == 200
    agent.ops({"op": "upsert", "id": "m0", "role": "user", "text": "changed by somebody", "if_ver": 1})
    agent.say("last", "the newest")
    page.until_answered("the newest")
    assert page.browser.run(COUNT) == 201  # What is not loaded is not put in front of what is.
    page.browser.run("document.getElementById('chat-log').scrollTop = 0;")
    page.until_answered("changed by somebody")
    assert page.texts()[0] == "changed by somebody"
    agent.ops({"op": "upsert", "id": "m0", "role": "user", "text": "and again", "if_ver": 2})
    page.until(lambda texts: texts[0] == "and again")


def test_who_scrolls_while_something_grows_is_not_taken_back_to_the_end(page: ChatPage) -> None:
    page.open()
    assert page.browser.run(SCROLLED) == [0, 650, 0]
