"""The tabs Memory, Errors and Performance in a real browser: by keys alone, live, and accessible with much on them."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium.webdriver.common.keys import Keys

from memory_app.models import MemoryEntry
from tests.browser.accessibility import LIVE, assert_accessible
from tests.browser.driving import Browser
from tests.browser.keyboard import Keyboard
from tests.memory.conftest import Memory
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
ERRORS = "[...document.querySelectorAll('#errors .preview')].map((line) => line.textContent)"
TOAST = "return [...document.querySelectorAll('#toasts .toast')].some((toast) => toast.textContent.includes(args[0]));"


@pytest.fixture
def memory(server: LiveServer, api: Callable[..., Any], alice: User, path: str) -> Memory:
    return Memory(api(alice), path)


def happen(memory: Memory, *messages: str) -> None:
    stack = [{"file": "a.py", "function": "f", "line": 1}]
    errors = [{"message": message, "kind": "ValueError", "stack": stack} for message in messages]
    assert memory.api.post(memory.address("errors"), {"errors": errors}).status_code == 200


def listening(signed_in: Browser) -> None:
    """The page's socket is there: what happens from now on reaches it."""
    signed_in.until(LIVE)


def test_an_entry_is_edited_by_keys_and_bad_json_is_not_sent(signed_in: Browser, server: LiveServer, memory: Memory) -> None:
    memory.put("notes/a", {"x": 1})
    signed_in.open(f"{server.url}/projects/{memory.project}/memory/")
    hands = Keyboard(signed_in)
    hands.press("j")
    hands.press(Keys.ENTER)
    signed_in.until("return document.querySelector('#keys .title') !== null;")
    hands.press("j")
    hands.press(Keys.ENTER)
    signed_in.until("return document.querySelector('.json') !== null;")
    hands.choose("Edit")
    signed_in.until("return document.querySelector('[data-json-editor]') !== null;")
    hands.go_to("Value as JSON")
    hands.press(Keys.END, ",")
    signed_in.requests()
    hands.choose("Save")
    signed_in.until("return document.getElementById('value-error').textContent.includes('line');")
    assert hands.at.accessible_name == "Value as JSON"
    assert [sent["method"] for sent in signed_in.requests() if sent["method"] == "POST"] == []
    assert_accessible(signed_in)
    hands.press(Keys.DELETE)  # The caret is where the error is.
    memory.put("notes/a", {"x": 2})
    signed_in.until("return !document.querySelector('#meanwhile > span').hidden;")
    hands.choose("Save")
    signed_in.until("return document.getElementById('value-error').textContent.includes('has changed since');")
    hands.choose("Save")
    signed_in.until(TOAST, "Saved as rev 3.")
    assert memory.get("notes/a").json()["value"] == {"x": 1}
    assert [line for line in signed_in.complaints() if "status of 412" not in line] == []


@pytest.mark.slow
def test_a_key_among_thousands_is_found_and_a_deleted_one_brought_back(
    signed_in: Browser, server: LiveServer, memory: Memory
) -> None:
    MemoryEntry.objects.bulk_create(
        MemoryEntry(project_id=memory.project, namespace="many", key=f"k{number:04}", value="1", rev=1, size_bytes=1)
        for number in range(5_000)
    )
    memory.put("many/zz", "last")
    shown = "return document.querySelectorAll('#keys .title').length;"
    signed_in.open(f"{server.url}/projects/{memory.project}/memory/many/")
    signed_in.until(f"{shown[:-1]} >= 100;")
    signed_in.run("scrollTo(0, document.documentElement.scrollHeight);")
    signed_in.until(f"{shown[:-1]} >= 200;")
    signed_in.textbox("Keys that begin with").send_keys("zz")
    signed_in.until(f"{shown[:-1]} === 1;")
    signed_in.run("document.querySelector('#keys .title').click();")
    signed_in.click("Delete")
    signed_in.until(TOAST, "can be restored")
    signed_in.click("Undo")
    signed_in.until(TOAST, "many / zz is back.")
    assert memory.get("many/zz").json()["value"] == "last"
    assert signed_in.complaints() == []


@pytest.mark.slow
def test_errors_come_by_themselves_and_are_resolved_in_place(signed_in: Browser, server: LiveServer, memory: Memory) -> None:
    memory.put("noise/config", {"rules": [{"id": "r", "pattern": "x+", "kind": "regex", "source": "auto", "enabled": False}]})
    happen(memory, "the first")
    signed_in.open(f"{server.url}/projects/{memory.project}/errors/")
    listening(signed_in)
    signed_in.run("document.querySelector('.stack-fold summary').click();")
    signed_in.until("return document.querySelector('.stack-fold .stack-text')?.textContent.includes('a.py:1');")
    happen(memory, "the first", "the second")
    signed_in.until(f"return {ERRORS}.includes('the second');")
    first = "[...document.querySelectorAll('#errors > li')].find((row) => row.textContent.includes('the first'))"
    signed_in.until(f"return {first}.querySelector('.facts').textContent.includes('2 times');")
    assert signed_in.run(f"return {first}.querySelector('details').open;")
    assert_accessible(signed_in)
    signed_in.run("[...document.querySelectorAll('#errors button')].at(-1).click();")
    signed_in.until("return document.querySelectorAll('#errors .chip.good').length === 1;")
    signed_in.until("return document.getElementById('states').textContent.includes('Resolved 1');")
    signed_in.click("Undo")
    signed_in.until("return document.querySelectorAll('#errors .chip.good').length === 0;")
    assert signed_in.complaints() == []


@pytest.mark.slow
def test_the_words_of_a_filter_stay_where_its_state_changes(signed_in: Browser, server: LiveServer, memory: Memory) -> None:
    happen(memory, "the first", "the second")
    signed_in.open(f"{server.url}/projects/{memory.project}/errors/")
    listening(signed_in)
    states = "document.getElementById('states').innerText"
    signed_in.until(f"return {states}.includes('All 2');")
    signed_in.textbox("Filter errors").send_keys("second")
    signed_in.until(f"return !{states}.includes('2') && document.querySelectorAll('#errors > li').length === 1;")
    signed_in.run("document.querySelector('#states a:nth-child(2)').click();")
    signed_in.until(
        "return location.search === '?state=unresolved&q=second' && document.querySelectorAll('#errors > li').length === 1;"
    )
    assert signed_in.complaints() == []


def test_a_rule_is_added_and_a_wrong_one_told_without_leaving_the_page(
    signed_in: Browser, server: LiveServer, memory: Memory
) -> None:
    signed_in.open(f"{server.url}/projects/{memory.project}/errors/")
    listening(signed_in)
    field = signed_in.textbox("Keep out what matches")
    signed_in.run("document.querySelector('input[value=regex]').click();")
    field.send_keys("(")
    signed_in.click("Add rule")
    signed_in.until(TOAST, "not an RE2 regular expression")
    assert field.get_attribute("value") == "("
    field.send_keys("a|b)")
    signed_in.click("Add rule")
    signed_in.until("return document.querySelector('#rules .pattern')?.textContent === '(a|b)';")
    assert signed_in.run("return document.getElementById('pattern').value;") == ""
    assert not signed_in.run(TOAST, "not an RE2 regular expression")
    signed_in.click("Disable rule 1")
    signed_in.until("return document.querySelector('#rules .pattern.off') !== null;")
    assert [line for line in signed_in.complaints() if "status of 422" not in line] == []


@pytest.mark.slow
def test_the_focus_stays_where_what_had_it_is_gone(signed_in: Browser, server: LiveServer, memory: Memory) -> None:
    happen(memory, "the first")
    [error] = memory.api.get(memory.address("errors")).json()["items"]
    signed_in.open(f"{server.url}/projects/{memory.project}/errors/{error['fingerprint']}/")
    listening(signed_in)
    keyboard = Keyboard(signed_in)
    keyboard.choose("Mute")
    signed_in.until("return document.getElementById('muting').textContent.includes('Unmute');")
    assert keyboard.name() == "Unmute"
    keyboard.press(Keys.ENTER)
    signed_in.until("return document.getElementById('mute-times') !== null;")
    assert keyboard.name() == "Mute"
    memory.put("noise/config", {"rules": [{"id": "r", "pattern": "x+", "kind": "regex", "source": "auto", "enabled": True}]})
    signed_in.open(f"{server.url}/projects/{memory.project}/errors/")
    listening(signed_in)
    keyboard.choose("Delete rule 1")
    signed_in.until("return document.querySelectorAll('#rules li').length === 0;")
    assert signed_in.run("return document.activeElement.id;") == "noise-title"


@pytest.mark.slow
def test_performance_and_the_lease_are_shown_as_they_change(signed_in: Browser, server: LiveServer, memory: Memory) -> None:
    signed_in.open(f"{server.url}/projects/{memory.project}/performance/")
    listening(signed_in)
    for duration in (100, 300):
        run = memory.start("claude")["run_id"]
        sent = {"samples": [{"endpoint": f"GET /{'long' * 30}", "duration_ms": duration}]}
        memory.api.post(memory.address("performance"), sent, **{"Stillhere-Run": run})
        memory.run(run, "end")
    signed_in.until("return document.querySelector('#endpoints .chip.bad') !== null;")
    assert_accessible(signed_in)
    signed_in.open(f"{server.url}/projects/{memory.project}/settings/")
    listening(signed_in)
    memory.start("reviewer")
    signed_in.until("return document.querySelector('#runs .chip.good') !== null;")
    assert_accessible(signed_in)
    signed_in.click("Free the lease")
    signed_in.until(TOAST, "Run 3 (reviewer) is read-only now.")
    assert signed_in.complaints() == []


def test_save_and_what_is_wrong_with_a_value_are_in_view_on_a_phone(
    signed_in: Browser, server: LiveServer, memory: Memory, emulated: Callable[..., None]
) -> None:
    """A long value fills several screens; the button and the reason why nothing is saved stay in the first one."""
    memory.put("notes/a", {f"key {number}": number for number in range(60)})
    emulated("setDeviceMetricsOverride", width=360, height=640, deviceScaleFactor=1, mobile=True)
    in_view = (
        "const box = document.querySelector(args[0]).getBoundingClientRect(); return box.height && box.bottom <= innerHeight;"
    )
    for address in ("memory/notes/a/edit/", "memory-new/"):
        signed_in.open(f"{server.url}/projects/{memory.project}/{address}")
        assert signed_in.run(in_view, "[data-json-editor] [type=submit]"), address
    signed_in.textbox("Value as JSON").send_keys(",")
    signed_in.until(in_view, "#value-error")
    assert_accessible(signed_in)


def test_an_empty_list_looks_as_all_empty_pages_do(signed_in: Browser, server: LiveServer, memory: Memory) -> None:
    style = (
        "const style = getComputedStyle(document.querySelector(args[0])); return [style.borderTopStyle, style.backgroundColor];"
    )
    gap = "return getComputedStyle(document.querySelector('.empty')).rowGap;"
    signed_in.open(f"{server.url}/projects/{memory.project}/memory/")
    wanted = signed_in.run(style, "div.empty"), signed_in.run(gap)
    for tab in ("errors", "performance"):
        signed_in.open(f"{server.url}/projects/{memory.project}/{tab}/")
        assert (signed_in.run(style, "ul:has(> .empty)"), signed_in.run(gap)) == wanted, tab


def test_a_value_that_could_not_be_sent_stays_in_its_form(
    signed_in: Browser, server: LiveServer, memory: Memory, alice: User
) -> None:
    """Neither the browser's error page nor the one to sign in takes its place."""
    signed_in.open(f"{server.url}/projects/{memory.project}/memory-new/?namespace=notes")
    hands = Keyboard(signed_in)
    hands.write("Key", "a")
    signed_in.run("document.getElementById('value').value = '[1]';")
    signed_in.offline()
    hands.choose("Save")
    signed_in.until(TOAST, "The server does not answer")
    signed_in.online()
    signed_in.driver.execute_cdp_cmd("Network.deleteCookies", {"name": "sessionid", "url": server.url})
    hands.choose("Save")
    signed_in.until(TOAST, "You are signed out")
    signed_in.sign_in_as(alice, server.url)
    signed_in.run("for (const _ of [1, 2]) document.querySelector('[data-json-editor] [type=submit]').click();")
    signed_in.until(TOAST, "Saved as rev 1.")
    assert memory.get("notes/a").json()["value"] == [1]


def test_a_value_that_is_too_large_for_a_form_stays_in_it(
    signed_in: Browser, server: LiveServer, memory: Memory, settings: Any
) -> None:
    settings.MAX_BODY_BYTES = 20_000
    signed_in.open(f"{server.url}/projects/{memory.project}/memory-new/?namespace=notes")
    signed_in.requests()
    signed_in.run("""
        document.getElementById("key").value = "a";
        document.getElementById("value").value = JSON.stringify("x".repeat(25_000));
        document.querySelector("[data-json-editor] [type=submit]").click();
    """)
    signed_in.until("return document.getElementById('value-error')?.textContent.includes('too much for a form');")
    assert [sent["method"] for sent in signed_in.requests() if sent["method"] == "POST"] == []
    assert signed_in.run("return document.getElementById('value').value.length;") == 25_002


def test_an_entry_that_somebody_deletes_is_said_to_be_deleted(signed_in: Browser, server: LiveServer, memory: Memory) -> None:
    """What leads to its current value would lead to nothing."""
    said = "return document.getElementById('meanwhile').innerText;"
    memory.put("notes/a", {"x": 1})
    signed_in.open(f"{server.url}/projects/{memory.project}/memory/notes/a/")
    listening(signed_in)
    memory.put("notes/a", {"x": 2})
    signed_in.until(f"{said[:-1]} === 'Somebody else has changed this entry. Show the current value';")
    memory.delete("notes/a")
    signed_in.until(f"{said[:-1]}.startsWith('Somebody else has deleted this entry.');")
    assert_accessible(signed_in)
    Keyboard(signed_in).choose("Show the project's memory")
    signed_in.until("return document.getElementById('deleted') !== null;")
