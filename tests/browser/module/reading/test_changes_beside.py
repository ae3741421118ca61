"""Others change what a page is changing too: at the end it shows what the server has, and it replaces nothing unseen."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.models import Message
from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import Frontend, stored
from tests.browser.module.other_device import CHAT, Device
from tests.browser.module.reading.test_late_reads import HELD_ANSWERS, LISTENS
from tests.conftest import Api
from tests.support.live_server import LiveServer
from tests.support.suite import first_of

pytestmark = [pytest.mark.browser, pytest.mark.once]
READ_SINCE = "return chat._sessionClient.parts.state.baseRev >= args[0];"
EDIT = "list = list.map((one) => (one.id === args[0] ? { ...one, text: args[1], parts: undefined } : one)); chat.save(list);"
FOLLOW = "chat.on('changed', ({ messages }) => { list = messages; window.bare ||= messages.some(({ parts }) => !parts); });"
FILE = {"type": "data-note", "data": {"of": "a file"}}
# A page that shows its copy of an earlier one, whose server does not answer yet.
PEEK = """
    const { connect } = await import(args[0]);
    const send = window.fetch;
    const held = new Promise((resolve) => { window.letGo = resolve; });
    window.fetch = async (url, options) => { await held; return send(url, options); };
    window.chat = connect(args[1]);
    window.list = chat.peek().messages;
    window.resumed = chat.resume();
    chat.save([...list, { id: "q", role: "user", text: "question" }]);
    setTimeout(letGo, 100);
    await resumed;
"""
# No save gets to the server, and the page hears nothing from it.
NO_SAVES = """
    const send = window.fetch;
    window.fetch = (url, options) => (options?.method === "POST" ? new Promise(() => {}) : send(url, options));
    chat._sessionClient.parts.events.close();
"""


class Other(Device):
    def change(self, *ops: dict[str, Any], epoch: int = 1) -> int:
        """Answers the revision."""
        self.seq += 1
        body = {"epoch": epoch, "writer_id": "their-page", "seq": self.seq, "base_rev": 1_000, "ops": ops}
        answer = self.api.post(f"/sessions/{self.id}/changes", body).json()
        assert answer["applied"], answer
        return int(answer["rev"])

    def edit(self, message: str, text: str, **fields: Any) -> int:
        return self.change({"op": "upsert", "id": message, "role": "user", "text": text, **fields})


@pytest.fixture
def other(alice: User, api: Callable[..., Api]) -> Other:
    other = Other(api(alice), "/home/alice/changes-beside")
    other.begin("one", "two")
    return other


@pytest.fixture
def page(browser: Browser, server: LiveServer, alice: User, other: Other) -> Iterator[Frontend]:
    """It shows both messages, and listens."""
    page = Frontend(browser, server, alice, project=other.project)
    page.load(chat=CHAT)
    browser.run(FOLLOW)
    wait_for(lambda: browser.run(LISTENS))
    yield page
    browser.leave()


def say_unanswered(page: Frontend, message: str, text: str) -> None:
    page.browser.run(HELD_ANSWERS, "changes$")
    page.say(message, text)
    wait_for(lambda: page.browser.run("return held.length === 1;"))


def test_a_change_that_follows_an_unanswered_one_is_shown(page: Frontend, other: Other) -> None:
    say_unanswered(page, "t2", "two, mine")
    rev = other.edit("t2", "two, mine and theirs")
    wait_for(lambda: page.browser.run(READ_SINCE, rev))
    page.browser.run("held[0]();")
    wait_for(lambda: page.texts() == ["one", "two, mine and theirs"])
    assert page.browser.run("return list.map(({ text }) => text);") == page.texts()


@pytest.mark.slow
def test_a_removal_that_follows_an_unanswered_change_is_shown(page: Frontend, other: Other) -> None:
    say_unanswered(page, "m3", "three")
    rev = other.change({"op": "delete", "id": "m3"})
    wait_for(lambda: page.browser.run(READ_SINCE, rev))
    page.browser.run("held[0]();")
    wait_for(lambda: page.texts() == ["one", "two"])
    assert page.browser.run("return list.map(({ text }) => text);") == ["one", "two"]


def test_what_a_conflict_brings_is_shown_whole_and_in_its_place(page: Frontend, other: Other) -> None:
    """And the next change to it keeps the parts that others gave it."""
    parts = [{"type": "text", "text": "one, theirs"}, FILE]
    # An answer of the page's own waits a moment before it is sent.
    page.browser.run("list = list.map((one) => (one.id === 't1' ? { ...one, text: 'one, mine' } : one));")
    page.browser.run(
        "chat.save(list.map((one) => ({ ...one, role: one.id === 't1' ? 'assistant' : one.role, parts: undefined })));"
    )
    rev = other.edit("t1", "one, theirs", parts=parts)
    wait_for(lambda: page.browser.run(READ_SINCE, rev))
    page.settle()
    wait_for(lambda: page.browser.run("return list[0].parts.length === 2;"), what="the whole message")
    assert page.browser.run("return list.map(({ id, text }) => [id, text]);") == [["t1", "one, theirs"], ["t2", "two"]]
    assert not page.browser.run("return window.bare;"), "a message without parts was told"
    page.browser.run("list = list.map((one) => (one.id === 't1' ? { ...one, metadata: { liked: 1 } } : one)); chat.save(list);")
    page.settle()
    stored_one = other.found()["messages"][0]
    assert (stored_one["parts"], stored_one["metadata"]) == (parts, {"liked": 1})


def test_a_text_that_the_answer_leaves_out_is_read(page: Frontend, other: Other, settings: Any) -> None:
    """Of many long texts an answer has the first ones only."""
    page.browser.run("chat.on('conflict', ({ server }) => { window.met = server; });")
    page.browser.run(
        "chat.save(list.map((one) => (one.id === 't1' ? { ...one, role: 'assistant', text: 'mine', parts: undefined } : one)));"
    )
    settings.WINDOW_BYTES = 20
    rev = other.edit("t1", "theirs " * 10)
    wait_for(lambda: page.browser.run(READ_SINCE, rev))
    page.settle()
    wait_for(lambda: page.browser.run("return list[0].text;") == "theirs " * 10, what="the whole text")
    assert page.browser.run("return [window.met.id, window.met.text ?? null, window.met.text_omitted];") == ["t1", None, True]
    [copy] = other.api.get(f"/sessions/{other.id}/conflicts").json()["items"]
    assert copy["text"] == "mine"


def test_a_change_back_to_what_the_page_said_before_is_saved(page: Frontend, other: Other, api: Callable[..., Api]) -> None:
    page.browser.run(EDIT, "t2", "mine")
    page.settle()
    other.edit("t2", "theirs")
    wait_for(lambda: page.browser.run("return list[1].text === 'theirs';"))
    page.browser.run(EDIT, "t2", "mine")
    page.settle()
    assert page.texts() == stored(api, page) == ["one", "mine"]


def test_words_that_meet_a_conflict_before_the_clear_do_not_come_after_it(page: Frontend, other: Other) -> None:
    page.browser.offline()
    page.browser.run(EDIT, "t2", "two and more")
    page.browser.run("void chat.clear();")
    other.edit("t2", "two and")
    page.browser.online()
    page.settle()
    assert other.found()["messages"] == []


def test_what_the_page_took_out_and_says_again_is_not_dropped(page: Frontend, other: Other) -> None:
    """Its own removal comes back with the changes of others."""
    page.browser.run(HELD_ANSWERS, "since_rev=")
    other.say("three")
    wait_for(lambda: page.browser.run("return held.length === 1;"))
    page.browser.run("window.all = list; chat.save(all); list = all.slice(0, 1); chat.save(list);")
    page.settle()
    page.browser.run("held[0]();")
    wait_for(lambda: page.browser.run("return held.length === 2;"))
    page.browser.run("held[1]();")
    wait_for(lambda: page.texts() == ["one", "three"])
    page.browser.run("list = [...list, { ...all[1], text: 'two, again', parts: undefined }]; chat.save(list);")
    page.settle()
    wait_for(lambda: page.texts() == ["one", "three"])
    removed = other.api.get(f"/sessions/{other.id}/removed").json()["items"]
    assert [item["text"] for item in removed] == ["two, again"]


@pytest.mark.parametrize("happened", first_of(["cleared", "another session"], 1))
def test_a_copy_that_a_page_shows_is_not_said_by_it(
    browser: Browser, server: LiveServer, alice: User, api: Callable[..., Api], happened: str
) -> None:
    """Not even if its list is saved before the server answers."""
    page = Frontend(browser, server, alice)
    page.load()
    page.say("m1", "one")
    page.say("m2", "two")
    page.settle()
    session = browser.run("return chat.session.id;")
    browser.open(f"{server.url}/healthz")
    if happened == "cleared":
        assert api(alice).post(f"/sessions/{session}/clear", {}).status_code == 200
    else:
        project = api(alice).get(f"/sessions/{session}").json()["session"]["project_id"]
        assert api(alice).post(f"/projects/{project}/sessions", {}).status_code == 201
    account = {"project": page.project, "auth": {"cookie": True, "user": alice.username}}
    browser.run(PEEK, "/static/js/stillhere.js", account)
    page.settle()
    assert stored(api, page) == ["question"]
    browser.leave()


@pytest.mark.slow
def test_a_list_of_the_session_that_was_shown_says_nothing_in_the_next_one(
    browser: Browser, server: LiveServer, alice: User, api: Callable[..., Api]
) -> None:
    """Another device begins one, and the page resumes."""
    page = Frontend(browser, server, alice)
    page.load()
    page.say("m1", "one")
    page.settle()
    page.load()
    project = browser.run("return chat.session.project_id;")
    assert api(alice).post(f"/projects/{project}/sessions", {}).status_code == 201
    browser.run("window.former = list; list = (await chat.resume()).messages;")
    browser.run("chat.save([...former, { id: 'q', role: 'user', text: 'question' }]);")
    page.settle()
    assert page.texts() == stored(api, page) == ["question"]
    browser.leave()


def test_the_page_hears_that_a_new_session_is_empty_before_it_is_made(browser: Browser, server: LiveServer, alice: User) -> None:
    page = Frontend(browser, server, alice)
    page.load()
    page.say("m1", "one")
    page.settle()
    browser.run("chat.on('changed', ({ messages }) => { window.atOnce ??= [messages.length, Boolean(window.made)]; });")
    browser.run("await chat.newSession(); window.made = true;")
    assert browser.run("return atOnce;") == [0, False]
    browser.leave()


def test_a_late_list_does_not_hide_another_branch(page: Frontend, other: Other) -> None:
    other.change({"op": "upsert", "id": "n2", "role": "user", "text": "two, otherwise", "parent_id": "t1"})
    wait_for(lambda: page.texts() == ["one", "two, otherwise"])
    late = "[list[0], { id: 't2', role: 'user', text: 'two', parent_id: 't1' }]"
    page.browser.run(f"chat.save({late}, {{ streaming: true }});")
    page.settle()
    assert page.texts() == ["one", "two, otherwise"]


@pytest.mark.slow
def test_words_that_a_clear_left_are_told_also_by_a_page_that_resumes(
    browser: Browser, server: LiveServer, alice: User, other: Other
) -> None:
    page = Frontend(browser, server, alice, project=other.project)
    page.load(chat=CHAT)
    browser.run(NO_SAVES)
    page.say("m3", "three")
    other.clear()
    browser.run("list = (await chat.resume()).messages;")
    told = page.heard("cleared")
    assert [unsent["text"] for unsent in told[-1]["unsent"]] == ["three"]
    browser.leave()


def test_an_answer_whose_writer_is_gone_is_told_as_interrupted(
    browser: Browser, server: LiveServer, alice: User, api: Callable[..., Api]
) -> None:
    """A minute after its last write, though no event tells of it. The page's own answer goes on."""
    page = Frontend(browser, server, alice)
    page.load()
    page.say("m1", "a question")
    page.settle()
    session = browser.run("return chat.session.id;")
    op = {"op": "upsert", "id": "a1", "role": "assistant", "text": "half an", "status": "streaming"}
    api(alice).post(f"/sessions/{session}/changes", {"epoch": 1, "writer_id": "agent", "seq": 1, "ops": [op]})
    written = datetime.now(UTC) - timedelta(seconds=57)
    assert Message.objects.filter(message_id="a1").update(updated_at=written) == 1
    page.load()
    page.say("m2", "half of mine", role="assistant", streaming=True)
    status = "return chat.peek().messages.map(({ id, status }) => [id, status]);"
    assert browser.run(status) == [["m1", "complete"], ["a1", "streaming"], ["m2", "streaming"]]
    wait_for(lambda: browser.run(status) == [["m1", "complete"], ["a1", "interrupted"], ["m2", "streaming"]])
    assert [told["changed"] for told in page.heard("changed")] == [["a1"]]


def test_words_on_top_of_what_others_added_replace_nothing_of_it(page: Frontend, other: Other) -> None:
    page.browser.offline()
    page.browser.run(EDIT, "t2", "two and more")
    other.change({"op": "patch", "id": "t2", "metadata": {"rating": 5}})
    page.browser.online()
    page.settle()
    found = other.found()["messages"][1]
    assert (found["text"], found["metadata"]) == ("two and more", {"rating": 5})
    wait_for(lambda: page.texts() == ["one", "two and more"])
