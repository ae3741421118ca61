"""Two tabs of one session: the same order everywhere, and a clear in one that costs the other's answer nothing."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User

from sessions_app.accounts.api_keys import create_key
from sessions_app.core.callers import caller_of_user
from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import Frontend, stored
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
FOLLOW = "chat.on('changed', ({ messages }) => { window.list = messages; });"
SHOWN = "return list.map(({ text }) => text);"
# Nothing gets through until it is released, nor by beacon: a tab that another one lies over sends one.
HOLD = (
    "navigator.sendBeacon = () => true;"
    "const get = window.fetch; window.held = [];"
    "window.fetch = async (url, asked) => {"
    " if (String(url).endsWith('/changes')) await new Promise((go) => window.held.push(go));"
    " return get(url, asked); };"
)
RELEASE = "for (const go of window.held) go(); window.held = { push: (go) => go() };"
# The most that was ever shown of the second answer.
WATCH = """
    window.longest = "";
    const look = () => {
      const text = [...document.querySelectorAll("[role=log] article .words")].at(3)?.textContent.trim() ?? "";
      if (text.length > longest.length) window.longest = text;
    };
    const all = { subtree: true, childList: true, characterData: true };
    new MutationObserver(look).observe(document.getElementById("chat-log"), all);
"""


def test_two_tabs_that_send_at_once_and_a_reload_show_one_order(
    browser: Browser, server: LiveServer, alice: User, api: Callable[..., Any]
) -> None:
    page = Frontend(browser, server, alice)
    page.load()
    page.say("m1", "first")
    page.settle()
    browser.run(FOLLOW + HOLD)
    one = browser.driver.current_window_handle
    two = browser.new_tab(f"{server.url}/healthz")
    page.begin()
    browser.run(FOLLOW + HOLD)
    page.say("b1", "from two")
    browser.go_to(one)
    page.say("a1", "from one")
    browser.until("return held.length > 0;")
    op = {"op": "upsert", "id": "x1", "role": "user", "text": "from elsewhere"}
    session = browser.run("return chat.session.id;")
    api(alice).post(f"/sessions/{session}/changes", {"epoch": 1, "writer_id": "another", "seq": 1, "ops": [op]})
    browser.until("return list.some(({ id }) => id === 'x1');")
    for tab in (one, two):
        browser.go_to(tab)
        browser.run(RELEASE)
    for tab in (one, two):
        browser.go_to(tab)
        page.settle()
    order = stored(api, page)
    assert order[:2] == ["first", "from elsewhere"]
    for tab in (one, two):
        browser.go_to(tab)
        wait_for(lambda: page.texts() == browser.run(SHOWN) == order, what=f"{order} in tab {tab}")
    assert [message["text"] for message in page.load()["messages"]] == order
    browser.forget()


def test_a_clear_in_one_tab_and_its_undo_cost_nothing_of_the_answer_in_the_other(
    signed_in: Browser, server: LiveServer, alice: User, api: Callable[..., Any]
) -> None:
    chat = ChatPage(signed_in, server.url)
    chat.open()
    one = signed_in.driver.current_window_handle
    chat.say("count to 3")
    chat.until(lambda texts: texts == ["count to 3", "1 2 3"])
    chat.until_still()
    two = signed_in.new_tab(chat.address)
    chat.ready()
    signed_in.go_to(one)
    signed_in.run(WATCH)
    chat.stream()
    signed_in.go_to(two)
    chat.press("Clear session")
    chat.until(lambda texts: texts == [])
    signed_in.go_to(one)
    chat.until(lambda texts: texts == [])
    longest = signed_in.run("return longest;")
    session = chat.session().rstrip("/").rpartition("/")[2]
    client = api(alice)
    # Handed over before the tab obeyed: the server has it, whether or not the tab lives on.
    wait_for(lambda: any(held(text, longest) for text in kept(client, session)), what=f"{longest} in {kept(client, session)}")
    signed_in.go_to(two)
    chat.press("Undo")
    for tab in (two, one):
        signed_in.go_to(tab)
        chat.until(lambda texts: len(texts) == 4 and texts[3].startswith(longest))
    wait_for(lambda: saved(client, chat.project)[-1].startswith(longest))


def test_what_others_saved_before_a_new_page_listens_is_read(
    browser: Browser, server: LiveServer, alice: User, api: Callable[..., Any]
) -> None:
    page = Frontend(browser, server, alice)
    browser.open(f"{server.url}/healthz")
    browser.run(HOLD.replace("/changes", "/ws-tickets"))
    page.begin(auth={"key": create_key(caller=caller_of_user(alice)).secret})
    page.say("m1", "first")
    page.settle()
    session = browser.run("return chat.session.id;")
    op = {"op": "upsert", "id": "x1", "role": "user", "text": "from elsewhere"}
    api(alice).post(f"/sessions/{session}/changes", {"epoch": 1, "writer_id": "another", "seq": 1, "ops": [op]})
    browser.run(RELEASE)
    wait_for(lambda: page.texts() == ["first", "from elsewhere"])
    browser.forget()


def kept(client: Any, session: str) -> list[str]:
    """What was cleared, and the words that came too late for it."""
    both = [client.get(f"/sessions/{session}/{what}").json()["items"] for what in ("removed", "conflicts")]
    return [item["text"] for items in both for item in items]


def held(text: str, words: str) -> bool:
    return text.strip().startswith(words)


def saved(client: Any, project: str) -> list[str]:
    return [message["text"].strip() for message in client.get(f"/resume?project={quote(project)}&quiet=1").json()["messages"]]


TYPED = "return document.getElementById('chat-message').value;"
EDIT = "document.querySelector('[role=log] [aria-label=\"Edit message\"]').click();"


@pytest.fixture
def agent(api: Callable[..., Any], alice: User) -> Chat:
    agent = Chat(api(alice))
    for number, role in enumerate(("user", "assistant", "user", "assistant")):
        agent.say(f"m{number}", f"message {number}", role=role)
    return agent


@pytest.fixture
def chat(signed_in: Browser, server: LiveServer, agent: Chat) -> ChatPage:
    chat = ChatPage(signed_in, server.url, agent.project)
    chat.open()
    chat.until_answered("message 3")
    return chat


def begin_edit(chat: ChatPage, more: str) -> None:
    chat.browser.run(EDIT)
    chat.browser.textbox("Message").send_keys(more)


def test_a_tab_that_is_loaded_again_has_what_was_typed_in_it(chat: ChatPage) -> None:
    """And not what the other one typed since. A tab of its own begins with the newest."""
    browser, tabs = chat.browser, [chat.browser.driver.current_window_handle]
    tabs.append(browser.new_tab(chat.address))
    chat.ready()
    for tab, words in zip(tabs, ("in one", "in two"), strict=True):
        browser.go_to(tab)
        browser.textbox("Message").send_keys(words)
        chat.until_draft_stored(words)
    for tab, words in zip(tabs, ("in one", "in two"), strict=True):
        browser.go_to(tab)
        for _ in range(2):
            chat.reload_hard()
            browser.until(f"{TYPED[:-1]} === args[0];", words)


def test_a_clear_elsewhere_leaves_what_a_question_was_edited_to(chat: ChatPage, agent: Chat) -> None:
    chat.browser.textbox("Message").send_keys("a draft")
    chat.until_draft_stored("a draft")
    begin_edit(chat, " at length")
    agent.clear()
    chat.until(lambda texts: texts == [])
    assert chat.browser.run(TYPED) == "a draft\n\nmessage 0 at length"


def test_an_edit_of_what_was_taken_out_elsewhere_is_a_new_message(chat: ChatPage, agent: Chat) -> None:
    begin_edit(chat, " once more")
    agent.ops({"op": "delete", "id": "m0", "if_ver": 1})
    chat.until(lambda texts: "message 0" not in texts)
    chat.press("Send")
    chat.until(lambda texts: texts[:4] == ["message 1", "message 2", "message 3", "message 0 once more"])
