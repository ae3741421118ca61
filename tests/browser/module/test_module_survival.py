"""The browser module where things end badly: killed tabs, several tabs, no room, another project, a chat that was cleared."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import Frontend, stored
from tests.support.live_server import LiveServer
from tests.support.machine_speed import allowed

pytestmark = [pytest.mark.browser, pytest.mark.once]


@pytest.fixture
def page(browser: Browser, server: LiveServer, alice: User) -> Iterator[Frontend]:
    """A page with one message saved."""
    page = Frontend(browser, server, alice)
    page.load()
    page.say("m1", "first")
    page.settle()
    browser.requests()
    yield page
    browser.leave()


def in_a_tab(page: Frontend) -> tuple[str, str]:
    """A further tab with the same chat: the first one's and its own name."""
    first = page.browser.driver.current_window_handle
    second = page.browser.new_tab(f"{page.server.url}/healthz")
    page.begin()
    return first, second


@pytest.mark.slow
def test_what_a_killed_tab_left_goes_again_as_it_was_before_anything_new(page: Frontend, api: Callable[..., Any]) -> None:
    first, second = in_a_tab(page)
    page.browser.go_to(first)
    page.browser.offline()
    page.say("m2", "said as it died")
    [body] = wait_for(page.waiting)
    page.say("m3", "and a word more")
    page.browser.requests()
    page.browser.crash_tab(then=second)
    page.load()
    page.say("m4", "again")
    page.settle()
    saves = [save for save in page.saves() if save["tab"] != first]
    sent = [(save["writer_id"], save["seq"], [op["id"] for op in save["ops"]]) for save in saves]
    # Once at least: the tab that sends was itself reloaded just then.
    in_order = list(dict.fromkeys((writer, seq, *ids) for writer, seq, ids in sent))
    assert in_order[:2] == [(body["writer_id"], body["seq"], "m2"), (body["writer_id"], body["seq"] + 1, "m3")]
    assert in_order[2][0] != body["writer_id"]
    assert stored(api, page) == ["first", "said as it died", "and a word more", "again"]


def test_a_closing_page_hands_over_what_it_holds_by_beacon(page: Frontend, api: Callable[..., Any]) -> None:
    page.say("m2", "growing", role="assistant", streaming=True)
    page.browser.open("about:blank")
    # Nobody is left who could have sent it but the beacon.
    wait_for(lambda: stored(api, page) == ["first", "growing"])


def test_more_than_a_beacon_holds_waits_for_the_next_page(page: Frontend, api: Callable[..., Any]) -> None:
    big = "for (let i = 0; i < 3; i += 1) list.push({ id: `big${i}`, role: 'assistant', text: 'x'.repeat(40000) + i });"
    page.browser.run(f"{big} chat.save(list, {{ streaming: true }});")
    page.browser.open("about:blank")
    page.load()
    page.settle()
    wait_for(lambda: [len(text) for text in stored(api, page)] == [5, 40001, 40001, 40001])


def test_one_tab_sends_for_both_and_both_show_it(page: Frontend, api: Callable[..., Any]) -> None:
    first, second = in_a_tab(page)
    page.say("m2", "from the second")
    page.settle()
    assert {save["tab"] for save in page.saves()} == {first}
    page.browser.go_to(first)
    wait_for(lambda: page.texts() == ["first", "from the second"])
    assert page.heard("changed")
    page.browser.close_tab(then=second)
    page.say("m3", "alone")
    page.settle()
    assert {save["tab"] for save in page.saves()} == {second}
    assert stored(api, page) == ["first", "from the second", "alone"]


def test_a_full_storage_is_a_warning_and_no_loss(page: Frontend, api: Callable[..., Any]) -> None:
    page.browser.run(
        "let size = 5_000_000; let n = 0;"
        "while (size > 0) { try { localStorage.setItem(`full${n++}`, 'x'.repeat(size)); } catch { size = size >> 1; } }"
    )
    try:
        page.say("m2", "y" * 5000)
        page.settle()
        assert {warning["code"] for warning in page.heard("warning")} == {"storage_full"}
        assert stored(api, page) == ["first", "y" * 5000]
    finally:
        page.browser.run("localStorage.clear();")


@pytest.mark.slow
def test_a_late_save_lands_in_the_project_it_was_said_in(page: Frontend, api: Callable[..., Any]) -> None:
    page.say("m2", "grow", role="assistant", streaming=True)
    page.browser.run("window.late = window.list; window.list = [];")
    page.browser.run("const state = await chat.switchProject(args[0]); window.list = state.messages;", f"{page.project}-b")
    page.say("b1", "in b")
    page.browser.run("chat.save([...late.slice(0, -1), { ...late.at(-1), text: 'grown late' }]);")
    page.settle()
    wait_for(lambda: stored(api, page) == ["first", "grown late"])
    back = page.browser.run("return chat.switchProject(args[0]);", page.project)
    assert [message["text"] for message in back["messages"]] == ["first", "grown late"]
    page.project += "-b"
    assert stored(api, page) == ["in b"]


def test_two_who_change_the_same_words_keep_both(page: Frontend, api: Callable[..., Any]) -> None:
    page.browser.offline()
    page.say("m1", "mine")
    wait_for(page.waiting)
    session = page.browser.run("return chat.session.id;")
    op = {"op": "upsert", "id": "m1", "role": "user", "text": "theirs", "if_ver": 1}
    body = {"epoch": 1, "writer_id": "another", "seq": 1, "ops": [op]}
    assert api(page.user).post(f"/sessions/{session}/changes", body).json()["applied"]
    page.browser.online()
    [conflict] = wait_for(lambda: page.heard("conflict"))
    assert (conflict["server"]["text"], conflict["ours"]["text"]) == ("theirs", "mine")
    page.settle()
    assert page.texts() == stored(api, page) == ["theirs"]


def test_a_chat_that_was_started_over_elsewhere_takes_nothing_of_the_old_one(page: Frontend, api: Callable[..., Any]) -> None:
    page.browser.offline()
    page.say("m2", "late words")
    wait_for(page.waiting)
    page.say("m3", "later words")
    session = page.browser.run("return chat.session.id;")
    client = api(page.user)
    assert client.post(f"/sessions/{session}/clear", {"epoch": 1, "writer_id": "another", "seq": 1}).status_code == 200
    page.browser.online()
    [cleared] = wait_for(lambda: page.heard("cleared"))
    assert [op["text"] for op in cleared["unsent"]] == ["later words"]
    page.browser.run("chat.save(list.map((message) => ({ ...message, text: `${message.text} still growing` })));")
    page.say("m4", "the new beginning")
    page.settle()
    assert stored(api, page) == ["the new beginning"]
    copies = client.get(f"/sessions/{session}/conflicts").json()["items"]
    assert {copy["text"] for copy in copies} == {"late words", "later words"}


def cleared_elsewhere(page: Frontend, api: Callable[..., Any]) -> tuple[str, Any]:
    """The chat is cleared by somebody else while this page is offline with words that it could not send. Back online it learns
    of that, but its reads of the session wait for `release`. The session and the answer to the clear."""
    page.browser.offline()
    page.say("m2", "late words")
    wait_for(page.waiting)
    page.say("m3", "later words")
    session = page.browser.run("return chat.session.id;")
    cleared = api(page.user).post(f"/sessions/{session}/clear", {"epoch": 1, "writer_id": "another", "seq": 1}).json()
    page.browser.run(
        "const get = window.fetch; window.held = [];"
        "window.fetch = async (url, asked) => {"
        " if (url.endsWith(args[0])) await new Promise((go) => window.held.push(go));"
        " return get(url, asked); };",
        f"/sessions/{session}",
    )
    page.browser.online()
    wait_for(lambda: page.browser.run("return window.held.length;"))
    return session, cleared


def push(page: Frontend, session: str, cleared: Any) -> None:
    frame = {"type": "SESSION_CLEARED", "session": session, "epoch": cleared["epoch"], "rev": cleared["rev"], "by": {}}
    page.browser.run("chat._sessionClient.parts.events.take(args[0]);", frame)


def release(page: Frontend) -> None:
    """Let every read through until the page has told of the clear."""
    script = "held.splice(0).map((go) => go()); return heard.some(({ type }) => type === 'cleared');"
    wait_for(lambda: page.browser.run(script))


def test_a_clear_heard_twice_is_told_once_with_the_words_that_were_left(page: Frontend, api: Callable[..., Any]) -> None:
    session, cleared = cleared_elsewhere(page, api)
    # The answer to the late words told of it; now the push comes, while the page still reads.
    push(page, session, cleared)
    release(page)
    page.say("m4", "the new beginning")
    page.settle()
    [heard] = page.heard("cleared")
    assert [op["text"] for op in heard["unsent"]] == ["later words"]
    assert stored(api, page) == ["the new beginning"]


@pytest.mark.slow
def test_the_words_that_a_clear_left_are_told_though_the_chat_is_gone_by_then(page: Frontend, api: Callable[..., Any]) -> None:
    session, cleared = cleared_elsewhere(page, api)
    api(page.user).delete(f"/sessions/{session}")
    release(page)
    push(page, session, cleared)  # As a socket does that was away meanwhile.
    release(page)
    page.browser.pause(0.5)
    [heard] = page.heard("cleared")
    assert [op["text"] for op in heard["unsent"]] == ["later words"]
    # Once for each read: the socket has events of the chat too.
    assert {refused["code"] for refused in page.heard("refused")} == {"session_deleted"}


def test_a_flush_after_clear_brings_nothing_back(page: Frontend, api: Callable[..., Any]) -> None:
    page.say("m2", "half", role="assistant", streaming=True)
    session, body = page.browser.run(
        "const body = { epoch: 1, writer_id: chat._sessionClient.parts.identity.writer, seq: 999, csrf: chat._http.csrf(),"
        " ops: [{ op: 'upsert', id: 'm2', role: 'assistant', text: 'half and more' }] };"
        "await chat.clear(); chat.save(list); chat.flush(); return [chat.session.id, body];"
    )
    status = page.browser.run(
        "const sent = { method: 'POST', body: JSON.stringify(args[1]) };"
        "return (await fetch(`/api/v1/sessions/${args[0]}/flush`, sent)).status;",
        session,
        body,
    )
    assert status == 204
    page.settle()
    assert stored(api, page) == []
    assert page.load()["messages"] == []
    undone = page.browser.run("return chat.undoClear();")
    assert undone["restored"] == 2
    wait_for(lambda: page.texts() == ["first", "half and more"])  # The undo takes in what came too late.


@pytest.mark.slow
def test_a_refusal_pauses_the_queue_and_keeps_the_words(page: Frontend, api: Callable[..., Any]) -> None:
    session = page.browser.run("return chat.session.id;")
    client = api(page.user)
    client.delete(f"/sessions/{session}")
    page.say("m2", "to nowhere")
    [refused] = wait_for(lambda: page.heard("refused"))
    assert (refused["status"], refused["operations"][0]["text"]) == (410, "to nowhere")
    assert client.post(f"/sessions/{session}/undelete").status_code == 200
    page.browser.run("await chat.retry();")
    page.settle()
    assert stored(api, page) == ["first", "to nowhere"]


def test_an_undo_of_what_is_undone_already_holds_nothing_up(page: Frontend, api: Callable[..., Any]) -> None:
    page.browser.run("await chat.clear(); await chat.undoClear();")
    assert page.browser.run("return await chat.undoClear();") is None
    page.say("m2", "after that")
    page.settle()
    assert stored(api, page) == ["first", "after that"]
    assert not page.heard("refused")


def test_a_refused_session_does_not_hold_up_a_new_one(page: Frontend, api: Callable[..., Any]) -> None:
    session = page.browser.run("return chat.session.id;")
    api(page.user).delete(f"/sessions/{session}?purge=1")
    page.say("m2", "to nowhere")
    wait_for(lambda: page.heard("refused"))
    page.browser.run("window.list = (await chat.newSession({ openingStep: 'brainstorm' })).messages;")
    page.say("n1", "again")
    page.settle()
    assert stored(api, page) == ["again"]
    state = page.load()
    assert state["openingStep"] == "brainstorm"
    [refused] = page.heard("refused")
    assert refused["operations"][0]["text"] == "to nowhere"
    page.browser.run("await chat.discard();")
    page.load()
    assert page.heard("refused") == []


def test_what_was_edited_out_of_the_list_is_taken_out_and_can_be_brought_back(page: Frontend, api: Callable[..., Any]) -> None:
    page.say("m2", "an answer", role="assistant")
    page.say("m3", "a question")
    page.settle()
    page.browser.run("list = [list[0], { id: 'm4', role: 'assistant', text: 'another answer' }]; chat.save(list); chat.save([]);")
    page.settle()
    assert stored(api, page) == ["first", "another answer"]
    session = page.browser.run("return chat.session.id;")
    removed = api(page.user).get(f"/sessions/{session}/removed").json()["items"]
    assert {item["text"] for item in removed} == {"an answer", "a question"}


@pytest.mark.timed
def test_a_long_chat_costs_a_stream_no_more_than_a_short_one(page: Frontend) -> None:
    milliseconds = page.browser.run(
        "const list = Array.from({ length: 5000 }, (_, i) => ({ id: `l${i}`, role: 'assistant', text: 'word '.repeat(200) }));"
        "const { MessageStore } = await import('/static/js/stillhere/session/message-store.js');"
        "const book = new MessageStore(); book.take(list, {});"
        "const last = list.at(-1); book.take([...list.slice(0, -1), { ...last }], { streaming: true });"
        "const before = performance.now();"
        "for (let i = 0; i < 20; i += 1) {"
        "  const taken = book.take([...list.slice(0, -1), { ...last, text: last.text + i }], { streaming: true });"
        "  if (taken.length !== 1) throw new Error('one message changed');"
        "}"
        "return (performance.now() - before) / 20;"
    )
    assert milliseconds < allowed(15)
