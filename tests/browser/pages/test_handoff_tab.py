"""The Handoff tab in a real browser, with the keyboard alone: decide, freeze, compare; and two people who edit at once."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.browser.accessibility import LIVE, assert_accessible
from tests.browser.driving import Browser
from tests.browser.keyboard import Keyboard
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
SAYS = "return [...document.querySelectorAll('.item .says')].map((item) => item.textContent.trim());"


class Tab:
    """One project's Handoff tab, and the API as an agent that writes to the same."""

    def __init__(self, browser: Browser, url: str, api: Any, user: User) -> None:
        self.browser, self.api, self.keyboard, self.url, self.user = browser, api, Keyboard(browser), url, user
        self.project = api.post("/projects", {"path": "/home/alice/shop"}).json()["id"]
        self.address = f"{url}/projects/{self.project}/handoff/"

    def sign_in(self) -> None:
        self.browser.sign_in_as(self.user, self.url)

    def open(self) -> None:
        self.browser.open(self.address)
        self.browser.until(LIVE)

    def add(self, text: str) -> str:
        item: str = self.api.post(f"/projects/{self.project}/handoff/decisions", {"text": text}).json()["item"]["id"]
        return item

    def until_toast(self, words: str, region: str = "status") -> None:
        self.browser.until("return document.getElementById(args[0]).textContent.includes(args[1]);", f"toasts-{region}", words)

    def until_says(self, *texts: str) -> None:
        self.browser.until(f"return JSON.stringify({SAYS[7:-1]}) === JSON.stringify(args);", *texts)

    def edit(self, says: str) -> None:
        """Opens its form, in which the first field has the focus."""
        self.keyboard.choose(f"Edit {says}")
        self.browser.until(
            "return document.activeElement.closest('[data-editing]')?.querySelector('textarea') === document.activeElement;"
        )

    def live(self) -> Any:
        return self.api.get(f"/projects/{self.project}/handoff").json()


@pytest.fixture
def tab(signed_in: Browser, server: LiveServer, api: Callable[..., Any], alice: User) -> Tab:
    return Tab(signed_in, server.url, api(alice), alice)


@pytest.mark.slow
def test_decide_freeze_and_compare_with_the_keyboard_alone(tab: Tab) -> None:
    tab.open()
    keys = tab.keyboard
    keys.choose("Add decision")
    keys.write("Decision", "Ship on Monday")
    keys.choose("Save new decision")
    tab.until_toast("Added the decision.")
    tab.until_says("Ship on Monday")
    keys.choose("Freeze", backwards=True)
    tab.until_toast("Frozen as snapshot 1")
    tab.edit("Ship on Monday")
    keys.write("Decision", " at noon")
    keys.choose("Save decision")
    tab.until_says("Ship on Monday at noon")
    assert tab.live()["decisions"][0]["text"] == "Ship on Monday at noon"
    assert_accessible(tab.browser)
    keys.choose("Compare snapshot 1 to live")
    tab.browser.until("return document.querySelector('.changes ins')?.textContent === ' at noon';")
    assert_accessible(tab.browser)
    keys.choose("Handoff")
    tab.browser.until(LIVE)
    keys.choose("Snapshot 1")
    tab.browser.until("return document.getElementById('markdown')?.textContent.includes('Ship on Monday');")
    assert_accessible(tab.browser)
    assert tab.browser.complaints() == []


@pytest.mark.slow
def test_what_an_agent_writes_appears_and_what_one_writes_oneself_stays(tab: Tab) -> None:
    item = tab.add("old")
    tab.open()
    keys = tab.keyboard
    tab.edit("old")
    keys.write("Decision", " and mine")
    tab.add("another")
    tab.browser.until(f"{SAYS[:-1]}.includes('another');")
    assert keys.name() == "Decision"
    tab.api.patch(f"/projects/{tab.project}/handoff/decisions/{item}", {"text": "theirs"})
    tab.browser.pause(0.5)
    assert tab.browser.run("return document.activeElement.value;") == "old and mine"
    keys.choose("Save decision")
    tab.until_toast("Somebody else changed this", "alert")
    tab.browser.until(f"{SAYS[:-1]}.includes('theirs');")
    assert tab.browser.run("return document.querySelectorAll('#toasts-alert .toast').length;") == 1
    assert tab.live()["decisions"][0]["text"] == "theirs"
    keys.go_to("Decision", backwards=True)
    assert tab.browser.run("return document.activeElement.value;") == "old and mine"
    keys.choose("Save decision")
    tab.until_says("old and mine", "another")
    assert tab.live()["decisions"][0]["text"] == "old and mine"


@pytest.mark.slow
def test_an_edit_is_given_up(tab: Tab) -> None:
    tab.add("Ship on Monday")
    tab.open()
    tab.edit("Ship on Monday")
    tab.keyboard.write("Decision", " at noon")
    tab.keyboard.choose("Cancel")
    tab.until_says("Ship on Monday")
    assert tab.keyboard.name() == "Edit Ship on Monday"
    assert tab.live()["rev"] == 1


@pytest.mark.slow
def test_take_out_and_undo(tab: Tab) -> None:
    tab.add("Ship on Monday")
    tab.open()
    tab.edit("Ship on Monday")
    tab.keyboard.choose("Take out Ship on Monday")
    tab.until_toast("Removed the decision.")
    tab.until_says()
    tab.keyboard.choose("Undo")
    tab.until_says("Ship on Monday")


@pytest.mark.slow
def test_a_snapshot_is_copied_as_markdown(tab: Tab) -> None:
    tab.add("Ship on Monday")
    tab.api.post(f"/projects/{tab.project}/handoff/freeze")
    granted = {"origin": tab.address.split("/projects")[0], "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    tab.browser.driver.execute_cdp_cmd("Browser.grantPermissions", granted)
    tab.open()
    tab.keyboard.choose("Copy snapshot 1 as Markdown")
    tab.until_toast("Copied.")
    assert "- Ship on Monday" in tab.browser.run("return navigator.clipboard.readText();")


@pytest.mark.slow
def test_words_that_could_not_be_saved_stay_in_their_form(tab: Tab) -> None:
    tab.add("old")
    tab.open()
    tab.edit("old")
    tab.keyboard.write("Decision", " and mine")
    tab.browser.offline()
    tab.keyboard.choose("Save decision")
    tab.until_toast("The server does not answer", "alert")
    tab.browser.online()
    tab.browser.driver.execute_cdp_cmd("Network.deleteCookies", {"name": "sessionid", "url": tab.url})
    tab.keyboard.choose("Save decision")
    tab.until_toast("You are signed out", "alert")
    tab.sign_in()
    tab.keyboard.choose("Save decision")
    tab.until_says("old and mine")
    assert tab.live()["decisions"][0]["text"] == "old and mine"


def test_the_tab_says_why_it_is_no_longer_up_to_date(tab: Tab) -> None:
    tab.open()
    tab.api.delete(f"/projects/{tab.project}")
    tab.browser.run("document.body.dispatchEvent(new CustomEvent('changed'));")
    tab.until_toast("This page is not up to date: This project is in the trash. Restore it to use it.")
