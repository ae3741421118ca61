"""Ways through a long session in a real browser: find, contents, and the messages around one."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium.webdriver.common.keys import Keys

from sessions_app.chats.reading import finding
from sessions_app.pages.session import outline_page
from tests.browser.accessibility import LIVE, assert_accessible
from tests.browser.driving import Browser
from tests.browser.keyboard import Keyboard
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
PRESENT = "return document.querySelector('mark.present')?.closest('article').dataset.id;"
COUNT = "return document.getElementById('find-count').textContent;"
LAST = "return [...document.querySelectorAll('[role=log] article')].at(-1).dataset.id;"
IN_SIGHT = (
    "const box = document.querySelector('mark.present').getBoundingClientRect();return box.top >= 0 && box.bottom <= innerHeight;"
)
SIGNS = "gpt-4 !\"#$%&'()*+,-./:;<=>?@[\\]^_{|}~"


@pytest.fixture
def chat(server: LiveServer, api: Callable[..., Any], alice: User) -> Chat:
    """180 messages; 20 and 90 have a needle."""
    chat = Chat(api(alice))
    texts = [f"a needle {number}" if number in {20, 90} else f"hay {number}\n\nmore" for number in range(180)]
    chat.ops(*({"op": "upsert", "id": f"m{number}", "role": "user", "text": text} for number, text in enumerate(texts)))
    return chat


def until(browser: Browser, script: str, value: str) -> None:
    browser.until(f"return (() => {{ {script} }})() === args[0];", value)


def test_a_text_is_found_far_from_what_is_shown(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    keys = Keyboard(signed_in)
    keys.press("/", "needle 9", Keys.ENTER)
    # A page of its own, on which it is marked.
    until(signed_in, PRESENT, "m90")
    until(signed_in, COUNT, "1 of 1")
    signed_in.until(IN_SIGHT)
    assert_accessible(signed_in)
    # Find goes on where it was used.
    signed_in.until("return document.activeElement.id === 'find';")
    signed_in.run("document.getElementById('find').select();")
    keys.press("needle", Keys.ENTER)
    until(signed_in, COUNT, "2 of 2")
    keys.press(Keys.ENTER)
    until(signed_in, PRESENT, "m20")
    until(signed_in, COUNT, "1 of 2")
    signed_in.run("document.getElementById('find').focus();")
    keys.press(Keys.ESCAPE)
    signed_in.until("return document.querySelector('mark') === null;")
    assert signed_in.run("return document.activeElement.dataset.id;") == "m20"  # From which one reads on by keys.
    keys.press("/")
    signed_in.until("return document.activeElement.id === 'find';")
    keys.press(Keys.ESCAPE)
    assert signed_in.run("return document.activeElement.dataset.id;") == "m20"
    assert signed_in.complaints() == []


@pytest.mark.parametrize(
    ("said", "looked_for"),
    [(SIGNS, SIGNS), ("Cafe\u0301", "caf\u00e9"), ("Caf\u00e9", "cafe\u0301")],
    ids=["signs", "two", "one"],
)
def test_every_sign_is_found_and_marked(signed_in: Browser, server: LiveServer, chat: Chat, said: str, looked_for: str) -> None:
    """Letters of one character or two, too."""
    chat.say("signs", f"with {said} in it")
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    Keyboard(signed_in).press("/", looked_for, Keys.ENTER)
    until(signed_in, COUNT, "1 of 1")
    until(signed_in, "return document.querySelector('mark.present')?.textContent ?? '';", said)


@pytest.mark.slow
def test_find_goes_on_beyond_the_hits_that_it_knows(
    signed_in: Browser, server: LiveServer, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outline_page, "HITS_A_PAGE", 1)
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    keys = Keyboard(signed_in)
    keys.press("/", "needle", Keys.ENTER)
    until(signed_in, PRESENT, "m90")
    until(signed_in, COUNT, "1 of 1+")
    signed_in.until("return document.activeElement.id === 'find';")
    signed_in.click("Previous hit")
    until(signed_in, PRESENT, "m20")
    until(signed_in, COUNT, "1 of 2")
    signed_in.until("return document.activeElement.id === 'find-previous';")


def test_after_the_newest_hit_comes_the_oldest_one_of_all(
    signed_in: Browser, server: LiveServer, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outline_page, "HITS_A_PAGE", 1)
    signed_in.open(f"{server.url}/sessions/{chat.id}/?at=m90&q=needle#message-91")
    until(signed_in, COUNT, "1 of 1+")
    signed_in.click("Next hit")
    until(signed_in, PRESENT, "m20")
    until(signed_in, COUNT, "1 of 2")


def test_what_is_far_back_is_found_though_the_server_looks_at_the_newest_messages_first(
    signed_in: Browser, server: LiveServer, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "MOST_SEARCHED", 50)
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    Keyboard(signed_in).press("/", "needle 20")
    until(signed_in, COUNT, "1 found")
    signed_in.click("Previous hit")
    until(signed_in, PRESENT, "m20")


def test_a_hit_that_comes_while_one_looks_is_counted(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    keys = Keyboard(signed_in)
    keys.press("/", "thimble")
    until(signed_in, COUNT, "Not found")
    chat.say("m180", "a thimble")
    until(signed_in, COUNT, "1 found")
    keys.press(Keys.ENTER)
    until(signed_in, COUNT, "1 of 1")
    chat.say("m181", "one more thimble")
    until(signed_in, COUNT, "1 of 2")
    keys.press(Keys.ENTER)
    until(signed_in, PRESENT, "m181")


def test_older_messages_come_though_all_that_were_shown_are_gone(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    shown = signed_in.run("return [...document.querySelectorAll('[role=log] article')].map((one) => one.dataset.id);")
    assert len(shown) < 180
    chat.ops(*({"op": "delete", "id": message} for message in shown))
    before = f"m{int(shown[0][1:]) - 1}"
    signed_in.until(
        "return [...document.querySelectorAll('[role=log] article')].some((one) => one.dataset.id === args[0]);", before
    )
    assert signed_in.run("return document.querySelectorAll('.toast').length;") == 0


@pytest.mark.slow
def test_contents_lead_to_a_message_from_which_one_reads_on_to_what_comes_now(
    signed_in: Browser, server: LiveServer, chat: Chat
) -> None:
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    keys = Keyboard(signed_in)
    keys.press("o")
    signed_in.until("return document.querySelector('dialog[open] #outline-lines') !== null;")
    assert_accessible(signed_in)
    signed_in.run("document.getElementById('go-to').focus();")
    keys.press("101", Keys.ENTER)
    signed_in.until("return document.querySelector('article:target')?.dataset.id === 'm100';")
    top = signed_in.run("return document.querySelector('article:target').getBoundingClientRect().top;")
    bar = signed_in.run("return document.querySelector('.session-bar').getBoundingClientRect().bottom;")
    assert top >= min(bar, 0)
    assert signed_in.run("return document.getElementById('live-state').textContent;") == ""
    for _ in range(10):
        signed_in.run("scrollTo(0, document.documentElement.scrollHeight);")
        if signed_in.run(LAST) == "m179":
            break
        signed_in.pause(0.1)
    signed_in.until(LIVE)
    chat.say("m180", "New here")
    until(signed_in, LAST, "m180")
    assert signed_in.complaints() == []


@pytest.mark.slow
def test_the_title_stays_in_sight(signed_in: Browser, server: LiveServer, api: Callable[..., Any], alice: User) -> None:
    chat = Chat(api(alice))
    chat.ops(*({"op": "upsert", "id": f"m{number}", "role": "user", "text": "hay " * 400} for number in range(8)))
    chat.api.patch(f"/sessions/{chat.id}", {"title": "Hay and needles"})
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    name = "const name = document.querySelector('.session-name').getBoundingClientRect();"
    signed_in.until(f"{name} return scrollY > 500 && name.width > 50 && name.top >= 0 && name.bottom < 60;")
    first = "return document.querySelector('[role=log] article').getBoundingClientRect().top + scrollY;"
    placed = signed_in.run(first)
    signed_in.run("scrollTo(0, 0);")
    signed_in.until(f"{name} return name.width === 0;")
    assert signed_in.run(first) == placed, "nothing moves because of it"
    assert_accessible(signed_in)


def test_a_reader_who_leaves_the_end_is_not_taken_back_by_what_comes(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    below = "Math.round(document.documentElement.scrollHeight - scrollY - innerHeight)"
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    chat.say("m180", "comes while the end is shown")
    until(signed_in, LAST, "m180")
    signed_in.until(f"return {below} <= 1;")
    place = signed_in.run("scrollBy(0, -60); return scrollY;")
    chat.say("m181", "comes while somebody reads")
    until(signed_in, LAST, "m181")
    assert signed_in.run("return scrollY;") == place
    signed_in.run("scrollTo(0, document.documentElement.scrollHeight);")
    chat.say("m182", "comes at the end again")
    until(signed_in, LAST, "m182")
    signed_in.until(f"return {below} <= 1;")
