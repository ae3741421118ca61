"""A browser whose database does not open, as while another page that upgrades it is frozen: everything works without it, and what
was kept meanwhile is stored once it opens."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import Frontend, stored
from tests.browser.waits import short_waits
from tests.support.live_server import LiveServer
from tests.support.suite import first_of

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
SHORT_OPENING = {3_000: 500}


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


def with_one_saved(holder: Holder, server: LiveServer, alice: User) -> Frontend:
    page = Frontend(holder.browser, server, alice)
    with short_waits(holder.browser, SHORT_OPENING):
        page.load()
    page.say("m1", "saved")
    page.settle()
    return page


@pytest.mark.slow
def test_the_module_saves_and_stores_what_is_unsent_once_it_can(
    holder: Holder, server: LiveServer, alice: User, api: Callable[..., Any]
) -> None:
    page = with_one_saved(holder, server, alice)
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


def test_what_the_disk_did_not_take_over_is_still_there_for_the_next_page(
    holder: Holder, server: LiveServer, alice: User, api: Callable[..., Any]
) -> None:
    """The page between the two could neither store nor send it."""
    page = with_one_saved(holder, server, alice)
    page.browser.block("*/api/*")
    page.say("m2", "unsent")
    page.browser.crash_tab(then=holder.tab)
    holder.browser.new_tab("about:blank")
    page.browser.block("*/api/*")
    with short_waits(holder.browser, SHORT_OPENING):
        page.load()
    assert page.texts() == ["saved", "unsent"]
    page.browser.crash_tab(then=holder.tab)
    page.browser.run("for (const database of window.held) database.close();")
    page.load()
    page.settle()
    wait_for(lambda: stored(api, page) == ["saved", "unsent"])


NEVER, FAILED = "() => { puts += 1; return new Promise(() => {}); }", "async () => { puts += 1; return false; }"
OLDER_FORMS = {
    "nothing more is said": (NEVER, "one"),
    "a save": (NEVER, "one"),
    "a draft": (NEVER, "one, and"),
    "two drafts": (NEVER, "one, and two"),
    "two drafts that failed": (FAILED, "one, and two"),
    "one draft that failed before, and one after": (FAILED, "one, and two"),
}


@pytest.mark.parametrize("by", first_of(OLDER_FORMS, 1))
def test_what_the_disk_has_in_an_older_form_is_sent_in_the_newer_one_only(
    signed_in: Browser, server: LiveServer, alice: User, api: Callable[..., Any], by: str
) -> None:
    """The page began a session without the network, found another one, and ended before the disk had it so."""
    put, text = OLDER_FORMS[by]
    page, account = Frontend(signed_in, server, alice), api(alice)
    last = signed_in.new_tab("about:blank")
    signed_in.go_to(signed_in.driver.window_handles[0])
    page.load()
    signed_in.offline()
    page.say("m1", "one", role="assistant", streaming=True)
    signed_in.run("await chat.stored();")
    session = account.post("/projects", {"path": page.project}).json()["id"]
    session = account.post(f"/projects/{session}/sessions", {}).json()["id"]
    signed_in.run(f"window.puts = 0; chat._sessionClient.parts.outbox.put = {put};")
    if "before" in by:
        page.say("m1", "one, and", role="assistant", streaming=True)
        wait_for(lambda: signed_in.run("return puts;"))
    signed_in.online()
    wait_for(lambda: signed_in.run("return chat.session?.id;") == session)
    if by == "a save":
        wait_for(lambda: signed_in.run("return chat._sessionClient.parts.queue.waiting.length;"))
    if "draft" in by and "before" not in by:
        page.say("m1", "one, and", role="assistant", streaming=True)
    if text == "one, and two":
        wait_for(lambda: signed_in.run("return puts;"))
        page.say("m1", "one, and two", role="assistant", streaming=True)
    signed_in.crash_tab(then=last)
    page.load()
    page.settle()
    wait_for(lambda: stored(api, page) == page.texts() == [text])
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


NEXT = """
    const { outbox } = chat._sessionClient.parts;
    const put = outbox.put.bind(outbox);
    outbox.put = (...given) => new Promise((go) => setTimeout(go, 200)).then(() => put(...given));
    let text = "An";
    const grow = () => {
      text += " answer";
      chat.save([...list, { id: "m2", role: "assistant", text }], { streaming: true });
    };
    grow();
    const growing = setInterval(grow, 20);
    await chat.newSession();
    clearInterval(growing);
    return chat.session.id;
"""


@pytest.mark.slow
def test_an_answer_that_grows_while_another_session_begins_stays_in_its_own(
    signed_in: Browser, server: LiveServer, alice: User, api: Callable[..., Any]
) -> None:
    """However long the disk takes."""
    page, account = Frontend(signed_in, server, alice), api(alice)
    page.load()
    page.say("m1", "one")
    page.settle()
    former = signed_in.run("return chat.session.id;")
    session = signed_in.run(NEXT)
    page.settle()
    assert session != former
    assert account.get(f"/sessions/{session}/messages").json()["items"] == []
    question, answer = account.get(f"/sessions/{former}/messages").json()["items"]
    assert (question["text"], answer["id"]) == ("one", "m2")
    assert answer["text"].startswith("An answer answer")
