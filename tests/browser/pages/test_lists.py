"""Lists in a real browser: rows are ticked and changed together, and renamed where their title is."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from memory_app.models import ErrorReport
from sessions_app.models import ChatSession
from tests.browser.driving import Browser
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
BAR = """const bar = document.getElementById('bulk');
return bar.checkVisibility() ? bar.querySelector('[data-bulk-count]').innerText : '';"""
TICK = "document.getElementById('tick-' + args[0]).click();"
ROWS = "return [...document.querySelectorAll('.list .title')].map((title) => title.innerText);"
SHOWN = "return [...document.querySelectorAll('.list .title')].some((title) => title.innerText === args[0]);"
NOT_SHOWN = SHOWN.replace("return", "return !")
UNTIL_SAID = "return [...document.querySelectorAll('.toast')].some((toast) => toast.innerText.includes(args[0]));"


class List:
    """A project's list of sessions, open in alice's browser."""

    def __init__(self, browser: Browser, server: LiveServer, api: Any) -> None:
        self.browser, self.url, self.api = browser, server.url, api
        self.project = api.post("/projects", {"path": "lists"}).json()["id"]

    def make(self, *titles: str) -> list[str]:
        return [self.api.post(f"/projects/{self.project}/sessions", {"title": title}).json()["id"] for title in titles]

    def open(self, tab: str = "") -> None:
        self.browser.open(f"{self.url}/projects/{self.project}/{tab}")
        self.browser.until("return document.querySelector('[data-bulk-all]')?.hidden === false;")

    def tick(self, *rows: str) -> None:
        for row in rows:
            self.browser.run(TICK, row)

    def bar(self) -> str:
        return str(self.browser.run(BAR))

    def said(self, words: str) -> None:
        self.browser.until(UNTIL_SAID, words)

    def press(self, *keys: str) -> None:
        for key in keys:
            ActionChains(self.browser.driver).send_keys(key).perform()


@pytest.fixture
def lists(signed_in: Browser, server: LiveServer, api: Callable[..., Any], alice: User) -> List:
    return List(signed_in, server, api(alice))


def test_ticked_sessions_are_changed_together_with_one_undo(lists: List) -> None:
    one, two, _ = lists.make("one", "two", "three")
    lists.open()
    assert lists.bar() == ""
    lists.tick(one, two)
    assert lists.bar() == "2 sessions selected"
    lists.browser.click("Select all shown")
    assert lists.bar() == "3 sessions selected"
    lists.browser.click("Select none")
    assert lists.bar() == ""
    lists.tick(one, two)
    lists.browser.click("Delete")
    lists.said("2 sessions in the trash")
    assert ChatSession.objects.exclude(deleted_at=None).count() == 2
    lists.browser.click("Undo")
    lists.said("Undone for 2 sessions")
    assert ChatSession.objects.exclude(deleted_at=None).count() == 0


@pytest.mark.slow
def test_ticks_stay_while_the_list_is_updated(lists: List) -> None:
    one, two = lists.make("one", "two")
    lists.open()
    lists.tick(one)
    for session in (one, two):
        lists.api.patch(f"/sessions/{session}", {"title": f"{session} renamed"})
    lists.browser.until("return [...document.querySelectorAll('.title')].every((title) => title.innerText.includes('renamed'));")
    assert lists.browser.run("return document.getElementById('tick-' + args[0]).checked;", one)
    assert lists.bar() == "1 session selected"
    lists.api.delete(f"/sessions/{one}")
    lists.browser.until("return document.getElementById('tick-' + args[0]) === null;", one)
    lists.browser.until("return !document.getElementById('bulk').checkVisibility();")


@pytest.mark.slow
def test_ticks_stay_though_a_filter_hides_their_rows(lists: List) -> None:
    one, two, three = lists.make("apple", "pear", "plum")
    for address in (f"projects/{lists.project}/", "sessions/"):
        lists.browser.open(f"{lists.url}/{address}")
        lists.browser.until("return document.querySelector('[data-bulk-all]')?.hidden === false;")
        field = "document.querySelector('main input[type=search]')"
        lists.tick(one)
        lists.browser.run(f"{field}.focus();")
        lists.press(*"pear")
        lists.browser.until(NOT_SHOWN, "apple")
        assert lists.bar() == "1 session selected, 1 not shown"
        lists.tick(two)
        assert lists.bar() == "2 sessions selected, 1 not shown"
        lists.browser.run(f"{field}.select();")
        lists.press(Keys.DELETE)
        lists.browser.until(SHOWN, "apple")
        assert lists.bar() == "2 sessions selected"
        lists.browser.run(f"{field}.focus();")
        lists.press(*"plum")
        lists.browser.until(NOT_SHOWN, "pear")
        lists.browser.click("Pin")
        lists.said("2 sessions pinned")
        assert set(ChatSession.objects.exclude(pinned=None).values_list("title", flat=True)) == {"apple", "pear"}
        lists.browser.click("Undo")
        lists.said("Undone for 2 sessions")
    lists.tick(three)
    lists.browser.click("Select none")
    assert lists.bar() == ""


def test_the_first_tick_moves_no_row(lists: List) -> None:
    one, _ = lists.make("one", "two")
    lists.open()
    top = "return document.getElementById('tick-' + args[0]).getBoundingClientRect().top;"
    before = lists.browser.run(top, one)
    lists.tick(one)
    assert lists.bar() == "1 session selected"
    assert lists.browser.run(top, one) == before


@pytest.mark.slow
def test_chips_beside_a_title_stand_in_one_line(lists: List) -> None:
    lists.api.patch(f"/sessions/{lists.make('one')[0]}", {"tags": ["urgent"]})
    lists.open()
    top = "(chip) => chip.getBoundingClientRect().top"
    tops = lists.browser.run(f"return [...document.querySelectorAll('.heading .chip')].map({top});")
    assert len(tops) == 2
    assert max(tops) - min(tops) < 1


def test_enter_in_a_field_of_the_bar_does_what_is_beside_it(lists: List) -> None:
    one, _ = lists.make("one", "two")
    lists.open()
    lists.tick(one)
    lists.browser.run("document.getElementById('bulk-tag').closest('details').open = true;")
    lists.browser.click("Add tags")
    missing = "return document.getElementById(args[0]).validationMessage;"
    assert lists.browser.run(missing, "bulk-tag") == "Write the tags first, with commas between them."
    lists.browser.run("document.getElementById('bulk-tag').focus();")
    lists.press(*"urgent", Keys.ENTER)
    lists.said("1 session tagged")
    session = ChatSession.objects.get(title="one")
    assert (session.pinned, "urgent" in str(session.tags)) == (None, True)


def test_a_session_is_renamed_where_its_title_is(lists: List) -> None:
    lists.make("before")
    lists.open()
    lists.press("j", "e")
    lists.browser.until("return document.activeElement.ariaLabel === 'Title';")
    lists.press("x", Keys.ESCAPE)
    assert lists.browser.run("return document.activeElement.innerText;") == "before"
    lists.press("e", *"after <b>", Keys.ENTER)
    lists.said("Renamed.")
    assert ChatSession.objects.get().title == "after <b>"
    assert lists.browser.run("return document.querySelector('.title').innerText;") == "after <b>"
    told = lists.browser.run("return [...document.querySelectorAll('li .visually-hidden')].map((name) => name.textContent);")
    assert [name for name in told if "before" in name] == []
    ActionChains(lists.browser.driver).double_click(lists.browser.driver.find_element("css selector", "li .facts")).perform()
    lists.browser.until("return document.activeElement.ariaLabel === 'Title' && document.activeElement.value === 'after <b>';")
    lists.press(*"third")
    lists.browser.run("document.activeElement.blur();")
    lists.browser.until("return document.querySelector('.title').innerText === 'third';")
    assert ChatSession.objects.get().title == "third"


@pytest.mark.slow
def test_a_rename_that_fails_keeps_what_was_written(lists: List) -> None:
    lists.make("before")
    lists.open()
    lists.browser.offline()
    lists.press("j", "e", *"kept", Keys.ENTER)
    lists.said("The server does not answer")
    assert lists.browser.run("return document.querySelector('.inline-title').value;") == "kept"
    lists.browser.online()
    lists.browser.run("document.querySelector('.inline-title').focus();")
    lists.press(Keys.ENTER)
    lists.said("Renamed.")
    assert ChatSession.objects.get().title == "kept"


def test_a_title_that_somebody_else_gave_meanwhile_is_replaced_on_purpose_only(lists: List) -> None:
    [session] = lists.make("before")
    lists.open()
    lists.press("j", "e", *"mine")
    lists.api.patch(f"/sessions/{session}", {"title": "theirs"})
    lists.press(Keys.ENTER)
    lists.said("it has the title “theirs”")
    lists.browser.run("document.querySelector('.inline-title').blur();")
    lists.browser.run("document.querySelector('.inline-title').focus();")
    assert ChatSession.objects.get().title == "theirs"
    lists.press(Keys.ENTER)
    lists.said("Renamed.")
    assert ChatSession.objects.get().title == "mine"


@pytest.mark.slow
def test_a_row_s_button_leaves_rows_scroll_and_focus_where_they_are(lists: List) -> None:
    made = lists.make(*(f"talk {number:02}" for number in range(45)))
    lists.open()
    lists.browser.run("scrollTo(0, document.documentElement.scrollHeight);")
    lists.browser.until("return document.querySelectorAll('.list .title').length === 45;")
    button = "const row = document.getElementById(`session-${args[0]}`);"
    script = "row.scrollIntoView(); row.querySelector('.danger').focus(); window.kept = row.nextElementSibling.id;"
    lists.browser.run(f"{button} {script}", made[5])
    lists.press(Keys.ENTER)
    lists.said("In the trash for 30 days.")
    lists.browser.until(NOT_SHOWN, "talk 05")
    assert lists.browser.run("return scrollY > 1000 && document.activeElement.closest('li').id === window.kept;")
    assert len(lists.browser.run(ROWS)) == 44
    tag = "row.querySelector('details.menu').open = true; row.querySelector('[name=tag]').focus();"
    lists.browser.run(f"{button} {tag}", made[3])
    lists.press(*"late", Keys.ENTER)
    lists.browser.until("return document.querySelector('.list > li .chip.clip')?.innerText === 'late';")
    # What somebody else takes away, far below the first page.
    lists.api.delete(f"/sessions/{made[1]}")
    lists.browser.until(NOT_SHOWN, "talk 01")
    rows = lists.browser.run(ROWS)
    assert (len(rows), len(set(rows)), rows[0]) == (43, 43, "talk 03")
    assert lists.browser.complaints() == []


def test_a_list_is_live_though_the_page_began_with_nothing_found(lists: List) -> None:
    [one] = lists.make("one")
    lists.open("?q=three")
    lists.api.patch(f"/sessions/{one}", {"title": "three"})
    lists.browser.until(SHOWN, "three")


@pytest.mark.slow
def test_a_list_is_live_once_its_filter_finds_something(lists: List) -> None:
    lists.make("one")
    lists.open("?q=nowhere")
    lists.browser.run("document.getElementById('filter').select();")
    lists.press(Keys.DELETE)
    lists.browser.until(SHOWN, "one")
    lists.make("two")
    lists.browser.until(SHOWN, "two")


@pytest.mark.slow
def test_a_list_says_why_it_is_no_longer_up_to_date(lists: List) -> None:
    lists.make("one")
    lists.open()
    lists.browser.until("return document.getElementById('live-state').textContent === 'Live';")
    lists.browser.run("""
        const state = document.getElementById('live-state');
        const look = () => (window.told ||= state.textContent.startsWith('Not up to date: This project is in the trash.'));
        new MutationObserver(look).observe(state, { childList: true, characterData: true, subtree: true });
    """)
    lists.api.delete(f"/projects/{lists.project}")
    lists.browser.until("return window.told;")


def test_the_list_of_all_sessions_is_filtered_as_one_types_and_is_live(lists: List) -> None:
    one, _ = lists.make("apple one", "pear")
    lists.browser.open(f"{lists.url}/sessions/?state=")
    lists.browser.run("document.getElementById('sessions-q').focus();")
    lists.press(*"apple")
    lists.browser.until(NOT_SHOWN, "pear")
    assert "q=apple" in lists.browser.run("return location.search;")
    lists.browser.run("window.kept = true;")
    lists.browser.click("Pin")
    lists.said("Pinned")
    lists.api.patch(f"/sessions/{one}", {"title": "apple two"})
    lists.browser.until(SHOWN, "apple two")
    assert lists.browser.run("return window.kept;")
    lists.browser.open(f"{lists.url}/keys/")
    lists.api.patch(f"/sessions/{one}", {"title": "apple three"})
    lists.browser.driver.back()
    lists.browser.until(SHOWN, "apple three")


@pytest.mark.slow
def test_ticked_errors_are_resolved_together(lists: List) -> None:
    errors = [{"message": word, "kind": "ValueError"} for word in ("one", "two", "three")]
    found = lists.api.post(f"/projects/{lists.project}/errors", {"errors": errors}).json()["fingerprints"]
    lists.open("errors/")
    lists.tick(*found[:2])
    assert lists.bar() == "2 errors selected"
    lists.browser.run("document.querySelector('#bulk [value=resolve]').click();")
    lists.said("2 errors resolved")
    assert ErrorReport.objects.exclude(resolved_at=None).count() == 2
    lists.browser.click("Undo")
    lists.said("2 errors open again")
    assert ErrorReport.objects.exclude(resolved_at=None).count() == 0
