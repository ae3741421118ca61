"""The browser module in a real browser: saves what changed, and only that; resends what was not answered."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.contrib.auth.models import User

from sessions_app.accounts.api_keys import create_key
from sessions_app.core.callers import caller_of_user
from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import Frontend, stored
from tests.support.live_server import LiveServer
from tests.support.suite import is_patient

pytestmark = pytest.mark.browser
ANSWERS_LATE = """
    const send = window.fetch;
    let late = true;
    window.fetch = async (url, options) => {
      const answer = await send(url, options);
      if (late && url.endsWith("/changes")) throw new TypeError("lost");
      return answer;
    };
    window.letGo = () => { late = false; };
"""


@pytest.fixture
def page(browser: Browser, server: LiveServer, alice: User) -> Iterator[Frontend]:
    yield Frontend(browser, server, alice)
    browser.leave()


def test_what_was_said_is_back_after_a_reload(page: Frontend, api: Callable[..., Any]) -> None:
    page.load()
    page.say("m1", "Hello")
    page.say("m2", "Good morning", role="assistant")
    page.settle()
    assert stored(api, page) == ["Hello", "Good morning"]
    assert [message["text"] for message in page.load()["messages"]] == ["Hello", "Good morning"]


def test_only_the_difference_is_sent(page: Frontend) -> None:
    page.load()
    for number in range(30 if is_patient() else 5):
        page.say(f"m{number}", f"word {number}")
    page.settle()
    page.browser.requests()
    page.say("last", "one more")
    page.settle()
    ops = [op for sent in page.saves() for op in sent["ops"]]
    assert [op["id"] for op in ops] == ["last"]


def test_a_clear_between_a_save_and_its_answer_is_seen(page: Frontend, api: Callable[..., Any]) -> None:
    """The answer is the one from before the clear, however often it is asked for."""
    page.load()
    page.say("m1", "Hello")
    page.settle()
    page.browser.run(ANSWERS_LATE)
    page.say("m2", "Anybody there?")
    wait_for(lambda: stored(api, page) == ["Hello", "Anybody there?"])
    session = page.browser.run("return chat.session.id;")
    api(page.user).post(f"/sessions/{session}/clear", {})
    wait_for(lambda: page.heard("SESSION_CLEARED"))
    page.browser.run("letGo();")
    wait_for(lambda: page.texts() == [])
    assert len(page.heard("cleared")) == 1
    page.say("m3", "and on")
    page.settle()
    assert stored(api, page) == ["and on"]


def test_words_that_stand_in_content_are_saved_as_text(page: Frontend, api: Callable[..., Any]) -> None:
    page.load()
    page.browser.run("chat.save([{ id: 'm1', role: 'user', content: 'as OpenAI has it' }]);")
    page.settle()
    assert stored(api, page) == ["as OpenAI has it"]


NO_MESSAGES = {
    "null": "This was null.",
    "'Hello'": "This was a string.",
    "{ id: 'm1', role: 'user', text: 'Hello' }": "This was an object.",
    "[null]": "Number 0 is null.",
    "[{ id: 'm1', role: 'user', text: 'Hello' }, 'Hello']": "Number 1 is a string.",
    "[{ role: 'user', text: 'Hello' }]": "Number 0 has no id, or its id is not a string.",
    "[{ id: 7, role: 'user', text: 'Hello' }]": "Number 0 has no id, or its id is not a string.",
    "[{ id: 'm1', role: 'user', parts: 'Hello' }]": "Number 0 has parts that are not a list.",
    "[{ id: 'm1', role: 'user', text: ['Hello'] }]": "Number 0 has a text that is a list.",
    "[{ id: 'm1', role: 'user', text: 7, content: 'Hello' }]": "Number 0 has a text that is a number.",
    "[{ id: 'm1', role: 'user', text: { type: 'text' } }]": "Number 0 has a text that is an object.",
    "[{ id: 'm1', role: 'user', content: [{ type: 'text', text: 'Hello' }] }]": "Number 0 has content that is a list.",
    "[{ id: 'm1', role: 'user', content: 7 }]": "Number 0 has content that is a number.",
    "[{ id: 'm1', role: 'user', parts: ['Hello'] }]": "Number 0 has a part that is a string.",
    "[{ id: 'm1', role: 'user', parts: [{ type: 'text', text: ['Hello'] }] }]": "Number 0 has a part whose text is a list.",
}


def test_what_is_no_list_of_messages_is_told_in_a_sentence_and_changes_nothing(page: Frontend, api: Callable[..., Any]) -> None:
    page.load()
    page.say("m0", "before")
    page.settle()
    for given, told in NO_MESSAGES.items():
        script = f"try {{ chat.save({given}); }} catch (error) {{ return [error.name, error.message]; }}"
        name, message = page.browser.run(script)
        assert name == "TypeError", given
        assert message == f"save() takes the whole list of messages, [{{ id, role, text }}, …]. {told}"
    assert page.browser.run("try { await chat.switchProject(''); } catch (error) { return error.message; }").startswith(
        "A project"
    )
    page.settle()
    assert stored(api, page) == page.texts() == ["before"]


def test_what_is_no_text_is_no_question_and_no_draft(page: Frontend, api: Callable[..., Any]) -> None:
    page.load()
    caught = "const caught = (call) => { try { call(); } catch ({ name, message }) { return [name, message]; } };"
    for given, kind in (("['Hello']", "a list"), ("7", "a number"), ("undefined", "undefined"), ("null", "null")):
        asked, typed = page.browser.run(
            f"{caught} return [caught(() => chat.ask({given})), caught(() => chat.saveDraft({given}))];"
        )
        assert asked == ["TypeError", f"ask() takes a text. This was {kind}."]
        assert typed == ["TypeError", f"saveDraft() takes a text. This was {kind}."]
    assert page.texts() == []
    page.browser.run("chat.save([{ id: 'm1', role: 'user', text: 'Hello', content: [7] }]);")
    page.settle()
    assert stored(api, page) == ["Hello"]


def test_peek_answers_at_once_and_without_a_request(page: Frontend) -> None:
    page.load()
    page.say("m1", "mirrored")
    page.settle()
    page.browser.open(f"{page.server.url}/healthz")
    page.browser.requests()
    peeked = page.browser.run(
        "const { connect } = await import(args[0]); return connect(args[1]).peek();",
        "/static/js/stillhere.js",
        {"project": page.project, "auth": {"cookie": True, "user": "alice"}},
    )
    assert [message["text"] for message in peeked["messages"]] == ["mirrored"]
    assert not [sent for sent in page.browser.requests() if "/api/" in sent["url"]]


def test_what_is_said_without_a_network_goes_when_it_is_back(page: Frontend, api: Callable[..., Any]) -> None:
    page.load()
    page.say("m1", "before")
    page.settle()
    page.browser.offline()
    page.say("m2", "in the tunnel")
    wait_for(lambda: page.heard("offline"))
    page.browser.online()
    page.settle()
    assert stored(api, page) == ["before", "in the tunnel"]


def test_a_frontend_elsewhere_may_load_the_module_and_create_a_session(server: LiveServer) -> None:
    module = httpx.get(f"{server.url}/static/js/stillhere.js", headers={"Origin": "https://elsewhere.example"})
    assert module.status_code == 200
    assert module.headers["Access-Control-Allow-Origin"] == "*"
    assert "javascript" in module.headers["Content-Type"]
    assert "if-none-match" in settings.CORS_ALLOW_HEADERS


@pytest.mark.slow
def test_an_answer_that_is_changed_while_the_page_asks_whether_the_server_makes_it(
    page: Frontend, api: Callable[..., Any]
) -> None:
    page.load()
    page.say("a1", "half", role="assistant", streaming=True)
    page.browser.run("await chat.stored();")
    page.browser.open(f"{page.server.url}/healthz")
    page.browser.run(
        "const send = window.fetch; const never = new Promise(() => {});"
        "window.fetch = (url, options) => (url.includes('/generations?') ? never : send(url, options));"
    )
    assert page.begin()["messages"][-1]["text"] == "half"
    page.say("a1", "half and the rest", role="assistant")
    page.settle()
    assert stored(api, page)[-1] == "half and the rest"


def test_refused_words_that_are_discarded_were_not_handed_over_by_a_hidden_page(page: Frontend, api: Callable[..., Any]) -> None:
    page.load()
    page.say("m1", "first")
    page.settle()
    session = page.browser.run("return chat.session.id;")
    api(page.user).delete(f"/sessions/{session}")
    page.say("m2", "to nowhere")
    wait_for(lambda: page.heard("refused"))
    page.browser.run("chat._sessionClient.flush();")
    assert api(page.user).post(f"/sessions/{session}/undelete").status_code == 200
    page.browser.run("await chat.discard();")
    page.settle()
    assert stored(api, page) == ["first"]


def test_words_that_were_refused_before_there_was_a_session_are_sent_by_retry(page: Frontend, api: Callable[..., Any]) -> None:
    """At once, not after the pause that follows a refusal: here it never ends."""
    page.load()
    page.browser.run(
        "const send = window.fetch;"
        "const no = () => new Response(JSON.stringify({ error: { code: 'forbidden', message: 'No.' } }), { status: 403 });"
        "window.fetch = async (url, options) => (window.allowed ? send(url, options) : no());"
    )
    page.say("m1", "first")
    wait_for(lambda: page.heard("refused"))
    page.browser.run(
        "const later = window.setTimeout;"
        "window.setTimeout = (act, wait, ...given) => (wait > 50 ? 0 : later(act, wait, ...given));"
        "window.allowed = true; await chat.retry();"
    )
    wait_for(lambda: stored(api, page) == ["first"])


def test_the_last_words_of_a_page_with_a_key_go_to_the_session_that_it_shows(page: Frontend, api: Callable[..., Any]) -> None:
    """Its token for the end is for one session."""
    page.load(auth={"key": create_key(caller=caller_of_user(page.user)).secret})
    page.say("m1", "first")
    page.settle()
    project = page.browser.run("return chat.session.project_id;")
    assert api(page.user).post(f"/projects/{project}/sessions", {}).status_code == 201
    page.browser.run("list = (await chat.resume()).messages;")
    page.say("m2", "second", role="assistant", streaming=True)
    page.browser.open("about:blank")
    wait_for(lambda: stored(api, page) == ["second"])
