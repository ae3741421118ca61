"""Very long texts of messages are folded, and nothing is out of reach: search, links, copies, keys, and what one watches."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium.webdriver.common.keys import Keys

from tests.browser.accessibility import LIVE, assert_accessible
from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser
from tests.browser.keyboard import Keyboard
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
LONG = "\n\n".join(f"Paragraph {number}. " + "It says what was done and why. " * 8 for number in range(90))
BUTTON = "document.querySelector('article [data-all]')"
LABEL = f"return {BUTTON}?.ariaLabel;"
HEIGHT = "return document.querySelector('article .prose').clientHeight;"
FOLDED = "return document.querySelector('article .prose')?.clientHeight < 700;"
WHOLE = "return document.querySelector('article .prose')?.clientHeight > 2000;"
IN_SIGHT = """
    const box = document.querySelector("mark.present")?.getBoundingClientRect();
    return box && box.top >= 0 && box.bottom <= innerHeight && document.querySelector(".prose.whole") !== null;
"""


@pytest.fixture
def chat(server: LiveServer, api: Callable[..., Any], alice: User) -> Chat:
    return Chat(api(alice))


def session_page(browser: Browser, server: LiveServer, chat: Chat, more: str = "") -> None:
    browser.open(f"{server.url}/sessions/{chat.id}/{more}")
    browser.until("return document.getElementById('live-state') !== null;" if more else LIVE)


def test_a_very_long_text_is_folded_and_a_button_shows_all_of_it(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    chat.say("m1", LONG, role="assistant")
    chat.say("m2", "short")
    for address in (f"{server.url}/sessions/{chat.id}/", f"{server.url}/chat/?project={chat.project}"):
        signed_in.open(address)
        signed_in.until(FOLDED)
        assert signed_in.run(LABEL).startswith("Show all 2")
        assert signed_in.run("return document.querySelectorAll('[data-all]').length;") == 1
        assert_accessible(signed_in)
        signed_in.run(f"{BUTTON}.click();")
        assert signed_in.run(WHOLE)
        assert signed_in.run(LABEL) == "Fold"
        signed_in.run(f"{BUTTON}.click();")
        assert signed_in.run(FOLDED)
        assert signed_in.complaints() == []


def test_find_opens_instructions_whose_line_is_cut(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    raw = {"role": "system", "content": f"{'You help with the shop. ' * 6}Never give a discount."}
    chat.ops({"op": "upsert", "id": "m1", "format": "openai.chat", "raw": raw})
    session_page(signed_in, server, chat)
    Keyboard(signed_in).press("/", "discount", Keys.ENTER)
    signed_in.until("return document.querySelector('mark.present') !== null;")
    assert signed_in.run(
        "const mark = document.querySelector('mark.present'); return [mark.closest('summary'), mark.closest('details').open];"
    ) == [None, True]


@pytest.mark.slow
def test_find_unfolds_where_the_text_is(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    chat.say("m1", LONG, role="assistant")
    session_page(signed_in, server, chat)
    Keyboard(signed_in).press("/", "paragraph 80", Keys.ENTER)
    signed_in.until(IN_SIGHT)


def test_a_link_to_a_hit_unfolds_and_a_link_to_the_message_shows_its_beginning(
    signed_in: Browser, server: LiveServer, chat: Chat
) -> None:
    chat.say("m1", LONG, role="assistant")
    for number in range(3):
        chat.say(f"n{number}", "short\n\n" * 20)
    session_page(signed_in, server, chat, "?at=m1&q=paragraph+80#message-1")
    signed_in.until(IN_SIGHT)
    session_page(signed_in, server, chat, "?at=m1#message-1")
    signed_in.until(FOLDED)
    signed_in.until("const top = document.getElementById('message-1').getBoundingClientRect().top; return top >= 0 && top < 300;")


def test_what_brings_the_hidden_part_into_view_unfolds_it(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    chat.say("m1", f"{LONG}\n\nThe [last](https://example.org) word", role="assistant")
    session_page(signed_in, server, chat)
    signed_in.until(FOLDED)
    signed_in.run("document.querySelector('article .prose a').focus();")
    signed_in.until(WHOLE)
    signed_in.until("return document.querySelector('.prose').scrollTop === 0;")
    signed_in.until(
        "const box = document.querySelector('.prose a').getBoundingClientRect();return box.top >= 0 && box.bottom <= innerHeight;"
    )
    session_page(signed_in, server, chat)
    signed_in.until(FOLDED)
    signed_in.run("document.querySelectorAll('.prose p')[60].scrollIntoView();")  # As a browser's own search does.
    signed_in.until(WHOLE)


def test_all_of_a_folded_text_is_copied(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    chat.say("m1", LONG, role="assistant")
    granted = {"origin": server.url, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    signed_in.driver.execute_cdp_cmd("Browser.grantPermissions", granted)
    session_page(signed_in, server, chat)
    with signed_in.focused():
        signed_in.run("document.querySelector('[data-copy]').click();")
        signed_in.until("return (await navigator.clipboard.readText()).trim() === args[0];", LONG.strip())


@pytest.mark.slow
def test_a_key_unfolds_and_folds_a_message(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    chat.say("m1", LONG, role="assistant")
    session_page(signed_in, server, chat)
    signed_in.run("scrollTo(0, 0);")
    keys = Keyboard(signed_in)
    keys.press("j", "x")
    signed_in.until(WHOLE)
    keys.press("x")
    signed_in.until(FOLDED)


@pytest.mark.slow
def test_what_one_watches_grow_stays_open(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    chat.ops({"op": "upsert", "id": "m1", "role": "assistant", "text": LONG[:9000], "status": "streaming"})
    session_page(signed_in, server, chat)
    assert signed_in.run("return document.querySelector('.prose');") is None
    chat.ops({"op": "upsert", "id": "m1", "role": "assistant", "text": LONG, "status": "complete"})
    signed_in.until(WHOLE)
    chat.say("m2", "later")
    signed_in.until("return document.querySelectorAll('article').length === 2;")
    assert signed_in.run(WHOLE)
    page = ChatPage(signed_in, server.url, chat.project)
    chat.ops({"op": "upsert", "id": "m3", "role": "assistant", "text": LONG[:9000], "status": "streaming"})
    page.open()
    page.until_answered("Paragraph 20")
    chat.ops({"op": "upsert", "id": "m3", "role": "assistant", "text": LONG, "status": "complete"})
    signed_in.until("return document.querySelector('article[data-id=m3] .prose')?.clientHeight > 2000;")
    signed_in.run("document.getElementById('chat-log').scrollTop = 0;")
    signed_in.until("return document.querySelector('article[data-id=m1] .prose')?.clientHeight < 700;")
