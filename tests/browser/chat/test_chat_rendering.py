"""What a message looks like in the chat: as on the session's page, by the same renderer; copied as it was written."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium.webdriver.common.action_chains import ActionChains

from sessions_app.core.web.template_tags.formatting import SPEAKERS
from sessions_app.models.message import ROLES, common_role
from tests.browser.accessibility import assert_accessible
from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, wait_for
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
MARKDOWN = (
    "## Why\n\n- one\n- two\n\n1. first\n2. second\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[a link](https://example.org/) and "
    "https://example.org/path\n\n```python\nprint(1)  # one\n```\n\nThe integral $a**b**c$ is *short*."
)
PARTS = [
    {"type": "reasoning", "text": "Let me **think**."},
    {"type": "text", "text": "I looked."},
    {"type": "tool-search", "toolCallId": "t1", "state": "output-available", "input": {"q": "maps"}, "output": "found"},
    {"type": "tool-write", "toolCallId": "t2", "state": "output-error", "input": {"path": "a"}, "errorText": "disk full"},
    {"type": "file", "mediaType": "text/csv", "filename": "maps.csv", "url": "https://example.org/maps.csv"},
    {"type": "source-url", "sourceId": "s1", "url": "https://example.org/", "title": "Maps"},
]
# The HTML of every message's words, without names that only one page has.
WORDS = """
    return [...document.querySelectorAll('[role=log] article .words')].map((words) => {
      const copy = words.cloneNode(true);
      for (const element of copy.querySelectorAll('[id]')) element.removeAttribute('id');
      return copy.innerHTML.replace(/\\s+/g, ' ').replace(/ ?(<|>) ?/g, '$1').trim();
    });
"""
DIFF = "  Look:\n--- a/m.py\n+++ b/m.py\n@@ -1,2 +1,2 @@\n   def __init__(self):\n-    *old*\n+    **new**\n\n\nand this"
LAST_TEXT = "return document.querySelector('article[data-id=m5] .words').innerText;"
RENDERED_AS_WRITTEN = "return document.querySelector('article[data-id=m5] .words > p.plain') !== null;"
RENDERED = "return document.querySelectorAll('[role=log] article .words table').length > 0;"
GROWING = """
    const { show } = await import('/static/js/chat/messages/streaming-markup.js');
    const box = document.createElement('div');
    show(box, args[0], { bold: true });
    return [box.textContent, box.querySelectorAll('strong, code, em').length];
"""
OF = """
    const articles = [...document.querySelectorAll('[role=log] article')];
    return articles.find((one) => one.textContent.includes(args[0])).querySelector('[aria-label="Copy message"]');
"""


@pytest.fixture
def agent(server: LiveServer, api: Callable[..., Any], alice: User) -> Chat:
    chat = Chat(api(alice))
    chat.say("m1", "Two lines\nof a question")
    chat.say("m2", MARKDOWN, role="assistant")
    chat.ops({"op": "upsert", "id": "m3", "role": "assistant", "parts": PARTS})
    chat.ops({"op": "upsert", "id": "m4", "role": "assistant", "text": "", "parts": PARTS[2:4]})
    return chat


@pytest.fixture
def page(signed_in: Browser, server: LiveServer, agent: Chat) -> ChatPage:
    page = ChatPage(signed_in, server.url, agent.project)
    page.open()
    return page


def test_the_chat_shows_what_the_session_s_page_shows(page: ChatPage, agent: Chat) -> None:
    page.browser.until(RENDERED)
    wait_for(lambda: "disk full" in "".join(page.browser.run(WORDS)[2:3]))
    shown = page.browser.run(WORDS)
    assert_accessible(page.browser)
    assert page.browser.complaints() == []
    page.browser.open(f"{page.url}/sessions/{agent.id}/")
    assert shown == page.browser.run(WORDS)


@pytest.mark.slow
def test_what_a_user_wrote_keeps_its_lines_and_blanks_on_both_pages(page: ChatPage, agent: Chat) -> None:
    agent.say("m5", DIFF)
    for address in (page.address, f"{page.url}/sessions/{agent.id}/"):
        page.browser.open(address)
        page.browser.until(RENDERED_AS_WRITTEN)
        assert page.browser.run(LAST_TEXT) == DIFF


@pytest.mark.slow
def test_an_answer_keeps_its_lines_on_both_pages(page: ChatPage, agent: Chat) -> None:
    agent.say("m5", "Roses are **red**,\nviolets are blue.  \nSo it goes.", role="assistant")
    lines = "Roses are red,\nviolets are blue.\nSo it goes."
    page.browser.until("return document.querySelector('article[data-id=m5] br') !== null;")
    assert page.browser.run(LAST_TEXT) == lines
    page.browser.open(f"{page.url}/sessions/{agent.id}/")
    assert page.browser.run("return [...document.querySelectorAll('article .words')].at(-1).innerText;") == lines


def test_while_no_words_are_rendered_a_message_is_not_empty_and_what_a_user_wrote_is_no_markdown(page: ChatPage) -> None:
    page.browser.until(RENDERED)
    page.browser.block("*/chat/words")
    page.reload_hard()
    page.until(lambda texts: "write" in texts[3] and "search" in texts[3])
    page.say("a **b** c")
    page.until(lambda texts: texts[-1] == "a **b** c")


def test_an_answer_is_rendered_when_it_is_whole(page: ChatPage, agent: Chat) -> None:
    agent.ops({"op": "upsert", "id": "m5", "role": "assistant", "text": "- one\n- tw", "status": "streaming"})
    page.until(lambda texts: texts[-1] == "- one\n- tw")
    agent.ops({"op": "upsert", "id": "m5", "role": "assistant", "text": "- one\n- two", "status": "complete"})
    page.browser.until("return document.querySelectorAll('[role=log] article:last-child .words li').length === 2;")


@pytest.mark.slow
def test_formulas_are_left_alone_while_they_come(page: ChatPage) -> None:
    for text in ("$a**b**c$", "so $$x `y` **z**$$ ends", r"\(a**b**\)", "\\[\na**b**\n\\]"):
        assert page.browser.run(GROWING, text) == [text, 0]
        assert page.browser.run(GROWING, f"{text} **b**")[1] == 1


def test_a_message_is_copied_as_it_was_written(page: ChatPage, agent: Chat) -> None:
    granted = {"origin": page.url, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    page.browser.driver.execute_cdp_cmd("Browser.grantPermissions", granted)
    for address in (page.address, f"{page.url}/sessions/{agent.id}/"):
        page.browser.open(address)
        page.browser.until(RENDERED)
        with page.browser.focused():
            for broken in ("", "navigator.clipboard.writeText = undefined;"):  # As a page without HTTPS has it.
                page.browser.run(f"await navigator.clipboard.writeText('nothing'); {broken}")
                ActionChains(page.browser.driver).move_to_element(page.browser.run(OF, "short")).click().perform()
                wait_for(lambda: page.browser.run("return navigator.clipboard.readText();") == MARKDOWN)


@pytest.mark.slow
def test_what_is_wide_scrolls_in_its_message_and_not_the_page(page: ChatPage, agent: Chat) -> None:
    agent.ops({"op": "upsert", "id": "m9", "role": "assistant", "text": f"```\n{'a very long line ' * 60}\n```"})
    page.browser.until("return document.querySelector('article[data-id=m9] pre') !== null;")
    assert page.browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth;") <= 0


def test_what_a_program_notes_is_called_as_on_the_session_s_page(page: ChatPage, agent: Chat) -> None:
    for name, form in (("n1", "claude-code"), ("n2", "openai.chat")):
        agent.ops({"op": "upsert", "id": name, "role": "system", "format": form, "raw": {}, "text": "Look at the shop"})
    names = "return [...document.querySelectorAll('article h2')].slice(-2).map((name) => name.textContent);"
    for address in (page.address, f"{page.url}/sessions/{agent.id}/"):
        page.browser.open(address)
        wait_for(lambda: page.browser.run(names) == ["Note", "Instructions"])


def test_who_says_a_message_is_called_as_on_the_session_s_page(page: ChatPage, agent: Chat) -> None:
    """Whatever its format calls the role."""
    roles = sorted(ROLES)
    for role in roles:
        agent.ops({"op": "upsert", "id": f"as {role}", "role": role, "format": "own", "raw": {}, "text": "Look at the shop"})
    names = "return [...document.querySelectorAll('article h2')].slice(-arguments[0]).map((name) => name.textContent);"
    for address in (page.address, f"{page.url}/sessions/{agent.id}/"):
        page.browser.open(address)
        wait_for(lambda: page.browser.run(names, len(roles)) == [SPEAKERS[common_role(role)] for role in roles])
