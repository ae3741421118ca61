"""A browser whose database does not open, as while another page that upgrades it is frozen: everything works without it, and what
was kept meanwhile is stored once it opens."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import Frontend, stored
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
# The databases of the module are to be deleted, which waits for a page that has them open; who opens them then waits for that.
HOLD = """
    window.held = [];
    for (const name of ["stillhere", "stillhere-kept"]) {
      const database = await new Promise((resolve, reject) => {
        const opening = indexedDB.open(name, 1);
        opening.onsuccess = () => resolve(opening.result);
        opening.onerror = () => reject(opening.error);
      });
      window.held.push(database);
      await new Promise((resolve) => { indexedDB.deleteDatabase(name).onblocked = resolve; });
    }
"""
ENTRIES = """
    return new Promise((resolve, reject) => {
      const opening = indexedDB.open("stillhere", 1);
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => {
        const all = opening.result.transaction("queue").objectStore("queue").getAll();
        all.onsuccess = () => { opening.result.close(); resolve(all.result.length); };
      };
    });
"""


class Holder:
    """Another tab of the same site."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.browser = browser
        self.first = browser.driver.current_window_handle
        self.tab = browser.new_tab(url)
        browser.run(HOLD)
        browser.go_to(self.first)

    def release(self) -> None:
        self.browser.go_to(self.tab)
        self.browser.run("for (const database of window.held) database.close();")
        self.browser.go_to(self.first)


@pytest.fixture
def holder(signed_in: Browser, server: LiveServer) -> Iterator[Holder]:
    yield Holder(signed_in, f"{server.url}/robots.txt")
    signed_in.leave()


def test_the_module_saves_and_stores_what_is_unsent_once_it_can(
    holder: Holder, server: LiveServer, alice: User, api: Callable[..., Any]
) -> None:
    page = Frontend(holder.browser, server, alice)
    page.load()
    page.say("m1", "saved")
    page.settle()
    assert stored(api, page) == ["saved"]
    [warning] = page.heard("warning")
    assert (warning["code"], warning["where"]) == ("storage_blocked", "indexedDB")
    page.browser.block("*/api/*")
    page.say("m2", "unsent")
    holder.release()
    wait_for(lambda: page.browser.run(ENTRIES) > 0)
    page.browser.crash_tab(then=holder.tab)
    page.load()
    page.settle()
    wait_for(lambda: stored(api, page) == ["saved", "unsent"])


@pytest.mark.parametrize("by", ["a save", "a draft", "two drafts"])
def test_what_the_disk_has_in_an_older_form_is_sent_in_the_newer_one_only(
    signed_in: Browser, server: LiveServer, alice: User, api: Callable[..., Any], by: str
) -> None:
    """The page began a session without the network, found another one, and ended before the disk had it so."""
    page, account = Frontend(signed_in, server, alice), api(alice)
    last = signed_in.new_tab("about:blank")
    signed_in.go_to(signed_in.driver.window_handles[0])
    page.load()
    signed_in.offline()
    page.say("m1", "one", role="assistant", streaming=True)
    signed_in.run("await chat.stored();")
    session = account.post("/projects", {"path": page.project}).json()["id"]
    session = account.post(f"/projects/{session}/sessions", {}).json()["id"]
    signed_in.run("chat._sessionClient.parts.outbox.put = () => new Promise(() => {});")
    signed_in.online()
    wait_for(lambda: signed_in.run("return chat.session?.id;") == session)
    if by == "a save":
        wait_for(lambda: signed_in.run("return chat._sessionClient.parts.queue.waiting.length;"))
    else:
        page.say("m1", "one, and", role="assistant", streaming=True)
    if by == "two drafts":  # The first one is on its way to the disk.
        wait_for(lambda: signed_in.run("return chat._sessionClient.parts.queue.storing;"))
        page.say("m1", "one, and two", role="assistant", streaming=True)
    signed_in.crash_tab(then=last)
    page.load()
    page.settle()
    texts = [{"a save": "one", "a draft": "one, and", "two drafts": "one, and two"}[by]]
    wait_for(lambda: stored(api, page) == page.texts() == texts)
    assert [one["message_count"] for one in account.get("/sessions").json()["items"] if one["project"] == page.project] == [1]
    signed_in.leave()


@pytest.mark.slow
def test_the_chat_answers_and_keeps_a_draft_once_it_can(holder: Holder, server: LiveServer) -> None:
    chat = ChatPage(holder.browser, server.url)
    chat.open()
    chat.say("count to 3")
    chat.until_answered("1 2 3")
    chat.browser.textbox("Message").send_keys("typed")
    holder.release()
    chat.until_draft_stored("typed")
    chat.reload_hard()
    chat.browser.until("return document.getElementById('chat-message').value === 'typed';")
