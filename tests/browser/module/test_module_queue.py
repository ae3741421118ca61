"""What was said and is not acknowledged is on the browser's disk: each request by itself, in order, and the tail of an answer."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.models import ChatSession, ConflictCopy
from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import Frontend, stored
from tests.support.live_server import LiveServer
from tests.support.machine_speed import allowed

pytestmark = [pytest.mark.browser, pytest.mark.once]
# Past the module: the rows as IndexedDB has them.
ROWS = """
    window.rows = () => new Promise((resolve, reject) => {
      const opening = indexedDB.open("stillhere");
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => {
        const all = opening.result.transaction("queue").objectStore("queue").getAll();
        all.onsuccess = () => { opening.result.close(); resolve(all.result); };
      };
    });
"""
SAVED = "return (await rows()).map(({ seq, draft, body }) => [seq, Boolean(draft), (body.ops ?? []).map(({ text }) => text)]);"
# How many milliseconds it takes until a text is there.
UNTIL_KEPT = """
    const [message, options] = args;
    const begun = performance.now();
    chat.save((list = [...list.filter(({ id }) => id !== message.id), message]), options);
    const has = (row) => (row.body.ops ?? []).some(({ text }) => text === message.text);
    while (!(await rows()).some(has)) if (performance.now() - begun > 10000) throw new Error("It is not kept.");
    return performance.now() - begun;
"""
# Requests to the server are held until `release()`; `flying`: how many at once.
HELD = """
    const get = window.fetch; window.held = []; window.sent = [];
    window.fetch = async (url, asked) => {
      if (String(url).endsWith('/changes')) {
        window.sent.push(JSON.parse(asked.body).ops.map(({ text }) => text).join());
        await new Promise((go) => window.held.push(go));
      }
      return get(url, asked);
    };
"""


@pytest.fixture
def page(browser: Browser, server: LiveServer, alice: User) -> Iterator[Frontend]:
    """A page with one message saved."""
    page = Frontend(browser, server, alice)
    page.load()
    page.say("m1", "first")
    page.settle()
    browser.run(ROWS)
    yield page
    browser.leave()


def test_each_request_is_kept_by_itself_while_the_first_is_under_way(page: Frontend) -> None:
    page.browser.run(HELD)
    for number in range(3):
        page.say(f"q{number}", f"question {number}")
    page.say("a1", "half an ans", role="assistant", streaming=True)
    wait_for(lambda: len(page.browser.run(SAVED)) == 4)
    kept = sorted(page.browser.run(SAVED))
    assert [(draft, texts) for _, draft, texts in kept] == [
        (False, ["question 0"]),
        (False, ["question 1"]),
        (False, ["question 2"]),
        (True, ["half an ans"]),
    ]
    assert len({seq for seq, *_ in kept}) == 4
    assert page.browser.run("return sent;") == ["question 0"]


def test_requests_go_one_at_a_time_in_their_order(page: Frontend, api: Callable[..., Any]) -> None:
    page.browser.run(HELD)
    for number in range(4):
        page.say(f"q{number}", f"question {number}")
    for number in range(4):
        page.browser.until("return held.length === 1;")
        assert page.browser.run("return sent;") == [f"question {one}" for one in range(number + 1)]
        page.browser.run("held.pop()();")
    page.settle()
    assert stored(api, page) == ["first", *(f"question {number}" for number in range(4))]


@pytest.mark.slow
def test_a_page_that_nobody_sends_for_sends_in_its_order_too(page: Frontend, api: Callable[..., Any]) -> None:
    """As when the tab that sends for all is asleep."""
    page.browser.run(
        "const name = `stillhere:sender:${chat._sessionClient.parts.identity.scope}`; chat.close();"
        "await new Promise((held) => navigator.locks.request(name, () => (held(), new Promise(() => {}))));"
    )
    page.begin()
    page.browser.run(HELD)
    for number in range(3):
        page.say(f"q{number}", f"question {number}")
    for number in range(3):
        page.browser.until("return held.length === 1;")
        assert page.browser.run("return sent;") == [f"question {one}" for one in range(number + 1)]
        page.browser.run("held.pop()();")
    wait_for(lambda: stored(api, page) == ["first", *(f"question {number}" for number in range(3))])


def test_a_page_that_comes_to_send_for_all_sends_nothing_twice(page: Frontend) -> None:
    """It had begun to send its own requests, because nobody did for a while: what is under way is waited for."""
    page.browser.run(
        "const name = `stillhere:sender:${chat._sessionClient.parts.identity.scope}`; chat.close();"
        "await new Promise((held) => navigator.locks.request(name, () => (held(), new Promise((free) => (window.free = free)))));"
        "const wait = setTimeout; window.setTimeout = (act, ms, ...rest) => wait(act, ms === 4_000 ? 500 : ms, ...rest);"
    )
    page.begin()
    page.browser.run(HELD)
    page.say("q0", "question 0")
    page.browser.until("return held.length === 1;")
    page.browser.run("free();")
    page.browser.until("return (await navigator.locks.query()).held.some(({ name }) => name.startsWith('stillhere:sender:'));")
    page.say("q1", "question 1")
    page.browser.pause(1)
    assert page.browser.run("return sent;") == ["question 0"]
    page.browser.run("held.pop()();")
    page.browser.until("return held.length === 1;")
    page.browser.run("held.pop()();")
    page.settle()
    assert page.browser.run("return sent;") == ["question 0", "question 1"]


def test_what_is_written_is_on_the_disk(page: Frontend) -> None:
    """Not only in the browser's memory: `durability` says so of every transaction."""
    page.browser.run(
        "window.durabilities = []; const begin = IDBDatabase.prototype.transaction;"
        "IDBDatabase.prototype.transaction = function (stores, mode, options) {"
        "  if (mode === 'readwrite') window.durabilities.push(options?.durability);"
        "  return begin.call(this, stores, mode, options); };"
    )
    page.say("m2", "growing", role="assistant", streaming=True)
    page.say("m3", "asked")
    page.browser.run("chat.saveDraft('typed');")
    page.settle()
    page.browser.until("return durabilities.length > 2;")  # The messages, their removal, the draft.
    assert set(page.browser.run("return durabilities;")) == {"strict"}


@pytest.mark.timed
def test_words_are_kept_within_100_ms_and_the_tail_of_an_answer_within_250_ms(page: Frontend) -> None:
    page.browser.offline()
    asked = [page.browser.run(UNTIL_KEPT, {"id": f"q{n}", "role": "user", "text": f"q{n}"}, {}) for n in range(5)]
    grown = [
        page.browser.run(UNTIL_KEPT, {"id": "a1", "role": "assistant", "text": "word " * (n + 1)}, {"streaming": True})
        for n in range(10)
    ]
    page.browser.online()
    assert sorted(asked)[len(asked) // 2] <= allowed(100)
    assert sorted(grown)[len(grown) // 2] <= allowed(250)


def test_the_tail_of_an_answer_is_kept_after_the_clock_went_back(page: Frontend) -> None:
    page.browser.run(HELD)
    page.say("q1", "asked")
    page.browser.until("return held.length === 1;")
    page.browser.run(UNTIL_KEPT, {"id": "a1", "role": "assistant", "text": "word"}, {"streaming": True})
    page.browser.run("const now = Date.now; Date.now = () => now() - 3600000;")
    page.browser.run(UNTIL_KEPT, {"id": "a1", "role": "assistant", "text": "word word"}, {"streaming": True})
    page.browser.run("held.pop()();")  # It was an error if that took ten seconds.


def test_words_without_a_session_are_kept_before_there_is_one(
    browser: Browser, server: LiveServer, alice: User, api: Callable[..., Any]
) -> None:
    page = Frontend(browser, server, alice)
    page.load()
    browser.run(ROWS)
    browser.offline()
    page.say("m1", "into the void")
    wait_for(lambda: any(texts == ["into the void"] for *_, texts in browser.run(SAVED)))
    browser.run("localStorage.clear(); chat._sessionClient.parts.outbox.stash = () => true;")
    browser.online()
    page.load()
    page.settle()
    wait_for(lambda: stored(api, page) == ["into the void"])
    browser.run(ROWS)
    browser.until("return (await rows()).length === 0;")
    browser.forget()


@pytest.mark.slow
def test_a_tab_that_ends_before_it_tells_the_answer_holds_nothing_up(page: Frontend, api: Callable[..., Any]) -> None:
    """It sent for the others, too."""
    page.load()
    page.say("m1", "one")
    page.settle()
    first = page.browser.driver.current_window_handle
    second = page.browser.new_tab("about:blank")
    page.load()
    page.browser.go_to(first)
    page.browser.run(
        "const { sender, outbox } = chat._sessionClient.parts;"
        "sender._finish = async (entry) => { await outbox.remove(entry); window.sent = true; await new Promise(() => {}); };"
    )
    page.browser.go_to(second)
    page.say("m2", "two")
    page.browser.go_to(first)
    wait_for(lambda: page.browser.run("return window.sent;"))
    page.browser.crash_tab(then=second)
    page.settle()
    page.say("m3", "three", role="assistant")
    page.settle()
    assert stored(api, page) == ["one", "two", "three"]


@pytest.mark.slow
def test_a_page_without_the_network_changes_what_another_tab_sent_for_the_one_before(
    page: Frontend, api: Callable[..., Any]
) -> None:
    """Which ended before it heard the answer: its request is gone, and the browser's copy has no version of the message."""
    page.load()
    page.say("m1", "one")
    page.settle()
    first = page.browser.driver.current_window_handle
    second = page.browser.new_tab("about:blank")
    page.browser.go_to(first)
    page.browser.run(
        "const send = window.fetch;"
        "window.fetch = async (...asked) => { await send(...asked); window.sent = true; await new Promise(() => {}); };"
    )
    page.say("m2", "two")
    wait_for(lambda: page.browser.run("return window.sent;"))
    page.browser.run("const { outbox } = chat._sessionClient.parts; for (const one of await outbox.all()) outbox.remove(one);")
    page.browser.pause(0.6)  # The browser's copy is written.
    page.browser.crash_tab(then=second)
    page.browser.block("*/api/*")
    page.load()
    assert page.texts() == ["one", "two"]
    page.say("m2", "two, edited")
    page.browser.block()
    page.browser.run("window.dispatchEvent(new Event('online'));")
    page.settle()
    session = page.browser.run("return chat.session.id;")
    assert stored(api, page) == ["one", "two, edited"]
    assert api(page.user).get(f"/sessions/{session}/conflicts").json()["items"] == []


def test_a_beacon_does_not_overtake_what_it_was_said_on_top_of(page: Frontend) -> None:
    """What an earlier page did not get rid of would find the newer text there, and be a conflict."""
    page.browser.block("*/changes", "*/sessions/*/flush")
    page.say("m2", "one")
    page.browser.run("await chat.stored();")
    assert page.load()["messages"][-1]["text"] == "one"
    page.browser.block("*/changes")
    page.say("m2", "one, and two")
    page.browser.run("await chat.stored();")
    page.browser.open("about:blank")
    page.browser.block()
    page.load()
    page.settle()
    assert page.texts() == ["first", "one, and two"]
    assert not ConflictCopy.objects.exists()


@pytest.mark.slow
def test_a_session_that_could_not_be_made_goes_on_after_a_reload(
    browser: Browser, server: LiveServer, alice: User, api: Callable[..., Any]
) -> None:
    """The server says that the project has none; what was said belongs together all the same."""
    page = Frontend(browser, server, alice)
    page.load()
    browser.block("*/sessions/*")
    page.say("m1", "one")
    browser.run("await chat.stored();")
    assert [message["text"] for message in page.load()["messages"]] == ["one"]
    page.say("m2", "two")
    browser.run("await chat.stored();")
    browser.block()
    page.settle()
    assert stored(api, page) == page.texts() == ["one", "two"]
    assert ChatSession.objects.count() == 1
    browser.leave()


@pytest.mark.slow
def test_a_page_that_is_killed_before_it_wrote_its_copy_goes_on_in_its_session(
    browser: Browser, server: LiveServer, alice: User, api: Callable[..., Any]
) -> None:
    page = Frontend(browser, server, alice)
    page.load()
    browser.block("*/api/*")
    for word in ("one", "two"):
        page.say(f"m-{word}", word)
        browser.run("await chat.stored();")
        browser.open(f"{server.url}/healthz")
        browser.run("for (const name in localStorage) if (name.includes(':mirror:')) delete localStorage[name];")
        page.begin()
    browser.block()
    wait_for(lambda: stored(api, page) == page.texts() == ["one", "two"])
    assert ChatSession.objects.count() == 1
    browser.leave()
