"""Parts of messages in a browser: nothing hostile runs, nothing is loaded from elsewhere, and buttons do what they say."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from scripts.screenshots.sample_parts import generated
from tests.browser.accessibility import LIVE, assert_accessible
from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser
from tests.support.chat import Chat
from tests.support.files import PNG
from tests.support.hostile.markup import CORPUS, parts
from tests.support.live_server import LiveServer
from tests.support.suite import some_of

pytestmark = [pytest.mark.browser, pytest.mark.once]
OPEN = "for (const fold of document.querySelectorAll('[role=log] details')) fold.open = true;"
RAN = "return window.ran ?? null;"
ELSEWHERE = """
    const loaded = performance.getEntriesByType('resource').map(({name}) => name);
    return loaded.filter((name) => !name.startsWith(location.origin) && !name.startsWith('data:'));
"""
PIECES = ["h3", "td.right", "math", "pre[data-language] .kn", ".tool"]
RENDERED = "return document.querySelectorAll('[role=log] article .tool').length >= args[0];"
# Elements that an attack would need, and handlers in attributes.
INJECTED = """
    const log = document.querySelector('[role=log]');
    const handlers = [...log.querySelectorAll('*')].flatMap((one) => [...one.attributes].map(({name}) => name));
    return [log.querySelectorAll('script, iframe, svg, object, embed, style, base, link, mglyph, annotation-xml').length,
      handlers.filter((name) => name.startsWith('on') || ['style', 'srcdoc', 'formaction'].includes(name))];
"""

RIGHT_TO_LEFT = (
    "# מה\n\nשלום, world.\n\n- אחת\n\n  ```\n  code\n  ```\n\n1. שתיים\n\n> ציטוט\n\n"
    "| שם | b |\n|---|---|\n| אחת | 2 |\n\nAnd English"
)
# At which side of its element's content a text begins.
SIDES = """
    return args[0].map((name) => {
      const element = document.querySelector(`.message > .words ${name}`);
      const style = getComputedStyle(element.closest('pre') ?? element);
      const box = (element.closest('pre') ?? element).getBoundingClientRect();
      const range = document.createRange();
      range.selectNodeContents(name === 'ul > li' ? element.firstElementChild : element);
      const text = [...range.getClientRects()].at(-1);
      const left = text.left - box.left - parseFloat(style.paddingLeft);
      return left < box.right - parseFloat(style.paddingRight) - text.right ? 'left' : 'right';
    });
"""
HEADINGS = """
    const styles = [...document.querySelectorAll('.words :is(h3, h4, h5, h6)')].map((one) => getComputedStyle(one));
    return [styles.map((style) => parseFloat(style.fontSize)), styles.map((style) => parseFloat(style.marginTop))];
"""


@pytest.fixture
def chat(server: LiveServer, api: Callable[..., Any], alice: User) -> Chat:
    return Chat(api(alice))


def everything(chat: Chat) -> None:
    for number, message in enumerate(generated(PNG)):
        chat.ops({"op": "upsert", "id": f"m{number}", **message})


# The pieces of which a growing text is rendered one by one.
SPLITS = [
    ("one", ["one"]),
    ("one\n\ntwo", ["one\n\n", "two"]),
    ("- a\n\n- b\n\n  c\n\n1. d\n\nend", ["- a\n\n- b\n\n  c\n\n1. d\n\n", "end"]),
    ("```\na\n\nb\n```\n\nc", ["```\na\n\nb\n```\n\n", "c"]),
    ("~~~~\na\n\n~~~\n\nb", ["~~~~\na\n\n~~~\n\nb"]),
    ("> a\n\n> b\n\n[^1]: c\n\n    d", ["> a\n\n> b\n\n[^1]: c\n\n    d"]),
    ("\n\none", ["\n\none"]),
]


def session_page(browser: Browser, server: LiveServer, chat: Chat) -> None:
    browser.open(f"{server.url}/sessions/{chat.id}/")
    browser.until(LIVE)


@pytest.mark.parametrize("where", ["session", pytest.param("chat", marks=pytest.mark.slow)])
def test_the_corpus_runs_nothing(signed_in: Browser, server: LiveServer, chat: Chat, where: str) -> None:
    corpus = some_of(CORPUS, one_in=3)
    for number, text in enumerate(corpus):
        chat.ops({"op": "upsert", "id": f"m{number}", "role": "assistant", "text": text, "parts": parts(text)})
    if where == "session":
        session_page(signed_in, server, chat)
    else:
        ChatPage(signed_in, server.url, chat.project).open()
        for number in range(len(corpus)):
            signed_in.run("document.querySelectorAll('[role=log] article')[args[0]].scrollIntoView();", number)
            script = "return document.querySelectorAll('[role=log] article')[args[0]].querySelector('.tool') !== null;"
            signed_in.until(script, number)
    signed_in.run(OPEN)
    # Each button lays out the whole long page, so only some of the many alike are pressed.
    every_so_many = "[...document.querySelectorAll(`[role=log] ${args[0]}`)].filter((_, number) => number % args[1] === 0)"
    for name, step in (("details > summary", 1), ("[data-picture]", 1), (".code button", 13)):
        signed_in.run(f"for (const one of {every_so_many}) one.click();", name, step)
    assert signed_in.run(RAN) is None
    assert signed_in.run(INJECTED) == [0, []]
    assert signed_in.run(ELSEWHERE) == []


@pytest.mark.parametrize("scheme", ["dark", pytest.param("light", marks=pytest.mark.slow)])
def test_every_kind_of_part_is_accessible(signed_in: Browser, server: LiveServer, chat: Chat, scheme: str) -> None:
    everything(chat)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    signed_in.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    session_page(signed_in, server, chat)
    signed_in.run(OPEN)
    assert_accessible(signed_in)
    assert signed_in.run(ELSEWHERE) == []
    assert signed_in.complaints() == []
    page = ChatPage(signed_in, server.url, chat.project)
    page.open()
    signed_in.run("document.querySelectorAll('[role=log] article')[1].scrollIntoView();")
    signed_in.until(RENDERED, 10)
    signed_in.run(OPEN)
    assert_accessible(signed_in)
    assert signed_in.complaints() == []


def test_long_code_is_unfolded_and_wrapped(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    chat.say("m1", "```python\n" + "value = 1  # of a long line\n" * 40 + "```", role="assistant")
    session_page(signed_in, server, chat)
    height = "return document.querySelector('.code > pre').clientHeight;"
    folded = signed_in.run(height)
    assert folded < 400
    assert signed_in.run("return getComputedStyle(document.querySelector('.words pre'), '::before').content;") == '"python"'
    signed_in.run("document.querySelector('.code').scrollIntoView();")
    signed_in.click("Show all 40 lines")
    assert signed_in.run(height) > 2 * folded
    signed_in.click("Show all 40 lines")
    assert signed_in.run(height) == folded
    space = "return getComputedStyle(document.querySelector('.words pre')).whiteSpace;"
    assert signed_in.run(space) == "pre"
    signed_in.click("Wrap lines")
    assert signed_in.run(space) == "pre-wrap"


def test_code_in_a_fold_gets_its_buttons_when_it_is_opened(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    everything(chat)
    session_page(signed_in, server, chat)
    folded = "return document.querySelectorAll('.tool .code, .reasoning .code').length;"
    assert signed_in.run(folded) == 0
    assert signed_in.run("return document.querySelectorAll('.words > .prose .code, .words > .code').length;") > 0
    signed_in.run("document.querySelector('.tool > summary').click();")
    signed_in.until("return document.querySelectorAll('.tool[open] .code').length === 2;")
    signed_in.run("document.querySelector('.tool > summary').click(); document.querySelector('.tool > summary').click();")
    signed_in.until("return document.querySelector('.tool').open;")
    assert signed_in.run("return document.querySelectorAll('.tool .code .code').length;") == 0


@pytest.mark.slow
def test_images_are_shown_large_one_after_the_other(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    everything(chat)
    session_page(signed_in, server, chat)
    first = signed_in.driver.find_element(By.CSS_SELECTOR, "[data-picture]")
    first.send_keys(Keys.ENTER)
    named = "return document.querySelector('dialog.lightbox')?.ariaLabel ?? null;"
    signed_in.until(f"{named.removesuffix(' ?? null;')} === 'shelf.png';")
    assert_accessible(signed_in)
    for key, name in ((Keys.ARROW_RIGHT, "door.png"), (Keys.ARROW_LEFT, "shelf.png"), (Keys.ARROW_LEFT, "Image 1")):
        signed_in.driver.switch_to.active_element.send_keys(key)
        assert signed_in.run(named) == name
    signed_in.click("Close")
    signed_in.until("return document.querySelector('dialog.lightbox') === null;")
    signed_in.until("return document.activeElement?.matches('[data-picture]');")


def test_a_growing_answer_is_rendered_piece_by_piece(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    page = ChatPage(signed_in, server.url, chat.project)
    text = "## One\n\n- a\n\n- b\n\n| x |\n|--:|\n| 1 |\n\nThe sum $a^2$ of\n\n```python\nimport os\n\nx = 1\n```\n\nNow **fo"
    tool = {"type": "tool-run", "toolCallId": "t", "state": "input-available", "input": {"command": "ls"}}

    def grow(more: str, state: str, status: str = "streaming") -> None:
        given = [{**tool, "state": state, "output": "a.py"}, {"type": "text", "text": text + more}]
        chat.ops({"op": "upsert", "id": "m1", "role": "assistant", "parts": given, "status": status})

    chat.say("m0", "A question")
    grow("", "input-available")
    page.open()
    is_split_where_both_sides_stay_the_same(signed_in)
    last = "const words = document.querySelector('[role=log] article:last-of-type .words');"
    signed_in.until(f"{last} return args[0].every((one) => words.querySelector(one));", PIECES)
    signed_in.run(f"{last} words.querySelector('h3').dataset.kept = '1'; words.querySelector('.tool').open = true;")
    assert signed_in.run(f"{last} return words.querySelectorAll('ul > li').length;") == 2
    grow("ur** and", "output-available")
    signed_in.until(f"{last} return words.innerText.includes('four and');")
    signed_in.until(f"{last} return words.querySelector('.terminal:not(.command)')?.innerText === 'a.py';")
    kept = f"{last} return [words.querySelector('h3').dataset.kept, words.querySelector('.tool').open];"
    assert signed_in.run(kept) == ["1", True]
    height = signed_in.run(f"{last} return words.offsetHeight;")
    grow("ur** and", "output-available", "complete")
    signed_in.until(f"{last} return words.querySelector('.piece') === null;")
    assert signed_in.run(f"{last} return words.querySelector('.tool').open;")
    assert abs(signed_in.run(f"{last} return words.offsetHeight;") - height) <= 8
    assert signed_in.complaints() == []


def is_split_where_both_sides_stay_the_same(browser: Browser) -> None:
    split = "const { split } = await import('/static/js/chat/messages/growing.js'); return split(args[0]);"
    for text, pieces in SPLITS:
        assert browser.run(split, text) == pieces


def test_each_block_goes_in_the_direction_of_what_is_written_in_it(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    chat.api.patch(f"/sessions/{chat.id}", {"title": "שלום"})
    chat.say("m1", RIGHT_TO_LEFT, role="assistant")
    session_page(signed_in, server, chat)
    sides = signed_in.run(SIDES, ["p", "h3", "ul > li", "ol > li", "blockquote > p", "td", "li code", "> p:last-child"])
    assert sides == ["right", "right", "right", "right", "right", "right", "left", "left"]
    directions = "return args[0].map((name) => getComputedStyle(document.querySelector(name)).direction);"
    turned = [f".words > {name}" for name in ("ul", "ol", "blockquote", "table")]
    assert signed_in.run(directions, [*turned, "#title"]) == ["rtl"] * 5
    assert signed_in.run(directions, ["#find", "ul pre", ".words"]) == ["ltr"] * 3


@pytest.mark.slow
def test_a_smaller_heading_is_smaller_and_nearer_to_what_is_before_it(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    chat.say("m1", "a\n\n# b\n\na\n\n## b\n\na\n\n### b\n\na\n\n#### b\n\na", role="assistant")
    session_page(signed_in, server, chat)
    sizes, margins = signed_in.run(HEADINGS)
    assert sizes == sorted(set(sizes), reverse=True)
    assert margins == sorted(margins, reverse=True)
    assert margins[0] <= 12
