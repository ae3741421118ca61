"""What Safari and Firefox do otherwise than Chromium, played in Chromium: an API is not there, or answers as theirs does."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium.webdriver.common.action_chains import ActionChains

from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, wait_for
from tests.memory.conftest import Memory
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
MARKDOWN = "a **b**\n\n- c"
# When it ends a composition, Safari tells of it as of any key, but for its code.
COMPOSED = """
    const [key, shiftKey = false] = args;
    const event = new KeyboardEvent("keydown", { key, shiftKey, keyCode: 229, bubbles: true, cancelable: true });
    document.activeElement.dispatchEvent(event);
    return event.defaultPrevented;
"""
# Safari before 26.2, and Firefox before 152.
NO_FIELD_SIZING = """
    const knows = CSS.supports.bind(CSS);
    CSS.supports = (name, value) => name !== "field-sizing" && knows(name, value);
    addEventListener("DOMContentLoaded", () => {
      const field = document.getElementById("chat-message");
      if (field) field.style.fieldSizing = "fixed";
    });
"""
# Safari: a page may copy while a click is handled, or give what it does not have yet then.
COPIES_IN_CLICKS = """
    const late = () => Promise.reject(new DOMException("Not now", "NotAllowedError"));
    let clicked = false;
    addEventListener("click", () => { clicked = true; setTimeout(() => { clicked = false; }); }, true);
    document.execCommand = () => false;
    for (const name of ["write", "writeText"]) {
      const act = navigator.clipboard[name].bind(navigator.clipboard);
      navigator.clipboard[name] = (content) => (clicked ? act(content) : late());
    }
"""
# A page that Safari freezes ends no transaction by itself.
COMMITTED = """
    window.begun = window.committed = 0;
    const { transaction } = IDBDatabase.prototype;
    const { commit } = IDBTransaction.prototype;
    IDBDatabase.prototype.transaction = function (...given) { begun += 1; return transaction.apply(this, given); };
    IDBTransaction.prototype.commit = function () { committed += 1; return commit.apply(this); };
"""
FIELD = "const field = document.getElementById('chat-message'); return [field.clientHeight, field.scrollHeight];"
TYPED = """
    const field = document.getElementById("chat-message");
    field.value = args[0];
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
"""
AT_THE_END = "const log = document.getElementById('chat-log'); return log.scrollHeight - log.scrollTop - log.clientHeight < 2;"
TOUCH = """
    const base = [...document.styleSheets].find(({ href }) => href.includes("base"));
    const [layer] = [...base.cssRules].filter((rule) => rule instanceof CSSLayerBlockRule);
    const [rule] = [...layer.cssRules].filter((rule) => rule.conditionText?.includes("-webkit-touch-callout"));
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`@layer base { ${[...rule.cssRules].map(({ cssText }) => cssText).join("")} }`);
    document.adoptedStyleSheets = [sheet];
"""
TRIED = """
    const { faultAt } = await import("/static/js/memory/json-fault.js");
    return args[0].map((text) => {
      try { JSON.parse(text); return [faultAt(text), true, null]; }
      catch ({ message }) { return [faultAt(text), false, message]; }
    });
"""


@pytest.fixture
def beforehand(browser: Browser) -> Iterator[Callable[[str], None]]:
    """A script that runs in each new page, before all others."""
    added = []

    def run(source: str) -> None:
        added.append(browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source}))

    yield run
    for script in added:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


@pytest.fixture
def page(signed_in: Browser, server: LiveServer, settings: Any) -> ChatPage:
    settings.CHAT_WORD_MS = 0
    return ChatPage(signed_in, server.url)


@pytest.fixture
def memory(server: LiveServer, api: Callable[..., Any], alice: User, path: str) -> Memory:
    return Memory(api(alice), path)


def test_an_enter_that_ends_a_composition_sends_nothing(page: ChatPage) -> None:
    page.open()
    field = page.browser.textbox("Message")
    field.send_keys("にほん")
    assert page.browser.run(COMPOSED, "Enter") is False
    assert (page.texts(), field.get_property("value")) == ([], "にほん")
    field.send_keys("\n")
    page.until(lambda texts: texts[:1] == ["にほん"])


def test_keys_of_a_composition_do_nothing_in_lists_find_and_palette(
    signed_in: Browser, server: LiveServer, api: Callable[..., Any], alice: User
) -> None:
    chat = Chat(api(alice))
    chat.say("q1", "Why?")
    signed_in.open(f"{server.url}/sessions/")
    signed_in.until("document.querySelector('[data-rename]').click(); return document.activeElement.matches('.inline-title');")
    for key in ("Enter", "Escape"):
        assert signed_in.run(COMPOSED, key) is False
        assert signed_in.run("return document.activeElement.matches('.inline-title');")
    signed_in.run("document.querySelector('[data-palette]').click();")
    signed_in.until("return document.querySelectorAll('#palette [role=option]').length > 0;")
    assert signed_in.run(COMPOSED, "Enter") is False
    assert signed_in.run("return document.getElementById('palette').open;")
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.textbox("Find in this session").send_keys("wh")
    signed_in.until("return document.querySelector('article mark') !== null;")
    for key, shift in (("Enter", True), ("Escape", False)):
        assert signed_in.run(COMPOSED, key, shift) is False
        assert signed_in.run("return document.getElementById('find').value;") == "wh"


def test_the_composer_grows_with_its_text_without_field_sizing(page: ChatPage, beforehand: Callable[[str], None]) -> None:
    beforehand(NO_FIELD_SIZING)
    page.open()
    page.say("count to 300")
    page.until_still()
    [low, _] = page.browser.run(FIELD)
    page.browser.until(AT_THE_END)
    for lines in range(1, 6):
        page.browser.run(TYPED, "\n".join("line" for _ in range(lines)))
        page.browser.until(AT_THE_END)
    [height, needed] = page.browser.run(FIELD)
    assert height == needed > low * 2
    page.browser.run(TYPED, "\n" * 200)
    assert page.browser.run("return document.getElementById('chat-message').offsetHeight <= innerHeight * 0.4;")
    page.browser.run(TYPED, "short")
    assert page.browser.run(FIELD)[0] == low
    # Another project, where nothing is typed.
    page.browser.run(TYPED, "a\nb\nc\nd")
    path = page.browser.textbox("Project")
    path.clear()
    path.send_keys("/home/alice/elsewhere\n")
    page.browser.until("return document.getElementById('chat-message').value === '';")
    assert page.browser.run(FIELD)[0] == low
    assert page.browser.complaints() == []


def test_a_page_that_is_frozen_holds_up_no_other_page(page: ChatPage, beforehand: Callable[[str], None]) -> None:
    """Whatever it has begun in the database ends without it."""
    beforehand(COMMITTED)
    page.open()
    page.say("count to 2")
    page.until_answered("1 2")
    page.browser.textbox("Message").send_keys("a draft")
    page.until_draft_stored("a draft")
    # The test itself looks into the database by transactions that end by themselves.
    looked = page.browser.run("return begun - committed;")
    assert page.browser.run("return committed > 5;")
    page.browser.textbox("Message").send_keys(", longer")
    page.browser.pause(0.5)
    assert page.browser.run("return begun - committed;") == looked


def test_a_message_is_copied_though_its_text_comes_after_the_click(
    page: ChatPage, api: Callable[..., Any], alice: User, beforehand: Callable[[str], None]
) -> None:
    granted = {"origin": page.url, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    page.browser.driver.execute_cdp_cmd("Browser.grantPermissions", granted)
    beforehand(COPIES_IN_CLICKS)
    chat = Chat(api(alice))
    chat.say("q1", MARKDOWN)
    page.browser.open(f"{page.url}/sessions/{chat.id}/")
    with page.browser.focused():
        button = page.browser.driver.find_element("css selector", "article [data-copy]")
        ActionChains(page.browser.driver).move_to_element(button).click().perform()
        wait_for(lambda: page.browser.run("return document.getElementById('toasts').textContent.trim();") == "Copied.")
        assert page.browser.run("return navigator.clipboard.readText();") == MARKDOWN


def test_where_json_is_wrong_is_found_whatever_the_browser_says(
    signed_in: Browser, server: LiveServer, memory: Memory, beforehand: Callable[[str], None]
) -> None:
    beforehand("JSON.parse = () => { throw new SyntaxError(\"JSON Parse error: Expected '}'\"); };")
    memory.put("notes/a", {"x": 1, "y": 2})
    signed_in.open(f"{server.url}/projects/{memory.project}/memory/notes/a/edit/")
    text = '{\n  "x": 1,\n  "y" 2\n}'
    signed_in.run("document.querySelector('[data-json-editor] textarea').value = args[0];", text)
    signed_in.click("Save")
    signed_in.until("return document.getElementById('value-error').textContent.includes('line 3, column 7');")
    assert signed_in.run("return document.activeElement.selectionStart;") == text.index("2\n")


def test_a_fault_is_where_chromium_sees_it(signed_in: Browser, server: LiveServer) -> None:
    whole = '{"a": [1, -2.5e3, true, null, "x\\n\\u00e4 ä"], "b": {"c": {}, "d": []}, "": ""}'
    marks = ",:{}[]x "
    cut = [whole[:at] for at in range(len(whole))]
    with_more = [whole[:at] + mark + whole[at:] for at in range(len(whole)) for mark in marks]
    texts = [whole, *cut, *with_more, "", " 1 ", "[1,]", '{"a":1,}', "01", "[1.]", '"a\nb"', "nul", "{}}", "'a'"]
    signed_in.open(f"{server.url}/account/")
    for text, (fault, valid, message) in zip(texts, signed_in.run(TRIED, texts), strict=True):
        assert (fault is None) == valid, (text, fault, message)
        if "position" in (message or ""):
            # Chromium looks into a word or number that is wrong.
            assert 0 <= int(message.split("position ")[1].split()[0]) - fault < 8, (text, fault, message)


def test_safari_draws_no_field_of_its_own_and_ios_does_not_zoom_into_fields(signed_in: Browser, server: LiveServer) -> None:
    signed_in.open(f"{server.url}/")
    field = "getComputedStyle(document.querySelector('main [type=search]'))"
    assert signed_in.run(f"return {field}.appearance;") == "textfield"
    # The rule as iOS applies it.
    signed_in.run(TOUCH)
    assert signed_in.run(f"return parseFloat({field}.fontSize);") >= 16
