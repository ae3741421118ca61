"""The real `useChat`, kept: what was shown is there again, as it was, in the right place and once."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils.timezone import now

from sessions_app.models import ApiKey
from stillhere import Client
from tests.browser.driving import wait_for
from tests.clients.js.chat_page import ChatPage
from tests.clients.js.chat_site import Site
from tests.clients.js.conftest import needs_packages
from tests.formats.packages import ui_messages
from tests.support.live_server import LiveServer
from tests.support.suite import is_patient

pytestmark = [pytest.mark.browser, pytest.mark.once, needs_packages]
COUNTED = " ".join(str(number) for number in range(1, 61))
COUNT_REQUESTS = """
  const { fetch } = window;
  window.requests = 0;
  window.fetch = (url, ...more) => (window.requests += String(url).includes("/api/v1/"), fetch(url, ...more));
"""


def same(page: ChatPage, shown: list[Any]) -> None:
    """After a reload: these messages, and the AI SDK accepts them. That takes a process: the suite saves it for mere texts."""
    page.open()
    assert page.messages() == shown
    if is_patient() or not {part["type"] for message in shown for part in message["parts"]} <= {"text", "step-start"}:
        assert ui_messages(shown) == "valid"
    assert page.errors() == []


def test_every_part_is_there_again_as_it_was(page: ChatPage) -> None:
    page.open()
    assert page.messages() == []
    page.call("chat.setMessages([{ id: 's1', role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] }]);")
    page.until("return chat.messages.length === 1;")
    page.say("tool", metadata={"from": "a test"}, files=[{"type": "file", "mediaType": "text/plain", "url": "data:,x"}])
    page.settle()
    shown = page.messages()
    assert [message["role"] for message in shown] == ["system", "user", "assistant"]
    kinds = [part["type"] for part in shown[2]["parts"]]
    assert kinds == ["step-start", "reasoning", "tool-weather", "source-url", "file", "data-chart", "text"]
    assert shown[2]["metadata"] == {"model": "small", "tokens": 7}
    same(page, shown)
    assert page.browser.run("return loadMessages(args[0]);", page.options) == shown
    assert page.call("return chat.storeError;") is None


def test_the_question_is_saved_before_the_request_leaves(
    page: ChatPage, site: Site, api: Callable[..., Any], alice: User
) -> None:
    page.open()
    known: list[int] = []
    post = site.post

    def watched(request: Any) -> None:
        found = api(alice).get(f"/resume?project={page.options['project']}&external_id=a&quiet=1")
        known.append(len(found.json()["messages"]))
        post(request)

    site.post = watched  # type: ignore[method-assign]
    page.say("hello")
    page.say("hello again")
    assert known == [1, 3]


def test_a_reload_in_the_middle_keeps_what_came_and_the_chat_goes_on(page: ChatPage) -> None:
    page.open()
    page.say("count to 60", wait=False)
    page.until("return chat.messages.at(-1).parts.some(({ text }) => text?.includes('1 2 3 4 5'));")
    page.open()
    question, answer = page.texts()
    assert question == "count to 60"
    assert COUNTED.startswith(answer)
    assert answer.startswith("1 2 3 4 5")
    page.say("hello")
    page.settle()
    shown = page.messages()
    assert page.texts() == ["count to 60", answer, "hello", "You said: hello"]
    same(page, shown)


def test_a_reload_in_the_middle_of_a_tool_call(page: ChatPage) -> None:
    page.open()
    page.say("half a tool", wait=False)
    page.until("return chat.messages.at(-1).parts.some(({ input }) => input?.city);")
    shown = page.messages()
    assert shown[1]["parts"][1]["state"] == "input-streaming"
    page.browser.pause(0.3)
    same(page, shown)


def test_a_tool_of_the_page_and_what_follows_it(page: ChatPage, site: Site) -> None:
    page.open(automatic=True)
    page.say("ask the page")
    page.call("await chat.addToolOutput({ tool: 'colour', toolCallId: 'c1', output: 'blue' });")
    page.until("return chat.messages.at(-1).parts.at(-1).text === 'The page said so.';")
    page.idle()
    page.settle()
    shown = page.messages()
    assert [message["role"] for message in shown] == ["user", "assistant"]
    assert shown[1]["parts"][1]["output"] == "blue"
    same(page, shown)
    page.open(automatic=False, id="b")
    page.say("ask the page", id="b")
    page.call("await chat.addToolOutput({ tool: 'colour', toolCallId: 'c1', output: 'blue' });", id="b")
    page.until("return chat.messages.at(-1).parts.at(-1).state === 'output-available';", id="b")
    page.settle("b")
    shown = page.messages("b")
    page.open()
    assert page.messages("b") == shown


def test_stopped(page: ChatPage) -> None:
    page.open(strict=False)  # As frontends that are shipped.
    page.say("count to 60", wait=False)
    page.until("return chat.messages.at(-1).parts.some(({ text }) => text?.includes('1 2 3'));")
    page.call("await chat.stop();")
    page.idle()
    page.settle()
    shown = page.messages()
    assert page.texts()[1] in COUNTED
    same(page, shown)
    assert page.call("return chat.connection.session.message_count;") == 2


def test_an_edited_question_and_an_answer_again_are_versions(page: ChatPage) -> None:
    page.open()
    page.say("one")
    page.say("two")
    first = page.messages()
    page.call("void chat.regenerate();")
    # Not by the status, which may be busy for less time than passes between two looks.
    page.until("return chat.versionsOf(chat.messages.at(-1).id)?.count === 2;")
    page.idle()
    assert page.texts() == ["one", "You said: one", "two", "You said: two"]
    assert page.messages()[3]["id"] != first[3]["id"]
    page.say("three", messageId=first[2]["id"])
    page.until("return chat.versionsOf(chat.messages[2].id)?.count === 2;")
    assert page.texts() == ["one", "You said: one", "three", "You said: three"]
    page.settle()
    same(page, page.messages())
    page.call("await chat.showVersion(chat.versionsOf(chat.messages[2].id).previous);")
    page.until("return chat.messages.length === 4 && chat.messages[2].parts[0].text === 'two';")
    page.say("and on")
    page.settle()
    assert page.texts() == ["one", "You said: one", "two", "You said: two", "and on", "You said: and on"]
    same(page, page.messages())


def test_an_edit_of_the_oldest_loaded_message_costs_nothing_of_what_is_older(
    page: ChatPage, server: LiveServer, secret: str
) -> None:
    """204 messages, of which the newest 200 are loaded."""
    roles = ["user", "assistant"]
    messages = [{"id": f"m{number}", "role": roles[number % 2], "text": f"text {number}"} for number in range(204)]
    with Client(server.url, secret, page.options["project"]) as client:
        session = client.open_session("a").id
        client.save(session, messages)
        page.open()
        assert page.messages()[0]["id"] == "m4"
        for edited, at in (("edited", 0), ("edited again", 1)):
            page.say(edited, messageId=page.messages()[at]["id"], wait=False)
            page.until("return chat.messages.at(-1).parts.at(-1).text === args[1];", f"You said: {edited}")
            page.idle()
            page.settle()
            texts = [message.text for message in client.read_messages(session).items]
            assert texts == [*(f"text {number}" for number in range(4)), edited, f"You said: {edited}"]
    page.until("return chat.versionsOf(chat.messages.at(-2).id)?.count === 3;")
    shown = page.messages()
    assert len(shown) == 3  # One older message was read.
    page.open()
    assert page.texts() == texts


@pytest.mark.slow
def test_an_edit_whose_place_is_unknown_without_the_network_comes_last(page: ChatPage, server: LiveServer, secret: str) -> None:
    messages = [{"id": f"m{number}", "role": ["user", "assistant"][number % 2], "text": f"{number}"} for number in range(204)]
    with Client(server.url, secret, page.options["project"]) as client:
        session = client.open_session("a").id
        client.save(session, messages)
        page.open()
        page.browser.block("*/api/v1/*")
        page.say("edited", messageId=page.messages()[0]["id"])
        page.browser.block()
        page.settle()
        texts = [message.text for message in client.read_messages(session, limit=500).items]
    assert texts == [*(f"{number}" for number in range(204)), "edited", "You said: edited"]


@pytest.mark.slow
def test_the_first_message_of_a_chat_is_edited(page: ChatPage) -> None:
    page.open()
    page.say("one")
    page.say("two", messageId=page.messages()[0]["id"])
    page.until("return chat.versionsOf(chat.messages[0].id)?.count === 2;")
    page.settle()
    assert page.texts() == ["two", "You said: two"]
    same(page, page.messages())


def test_a_refused_key_is_not_tried_at_each_part_of_an_answer(page: ChatPage) -> None:
    """There were 50 requests in two seconds. What was said is saved once the key is valid."""
    ApiKey.objects.update(revoked_at=now())
    page.browser.open(f"{page.url}/")
    page.browser.until("return window.ready === true;")
    page.browser.run(COUNT_REQUESTS)
    page.show({})
    page.say("count to 60")
    assert page.texts() == ["count to 60", COUNTED]
    assert page.call("return chat.storeError.message;") == "The key is refused. What you wrote is kept in this browser."
    assert 2 <= page.browser.run("return window.requests;") <= 10
    ApiKey.objects.update(revoked_at=None)
    page.settle()
    page.until("return chat.storeError === null;")
    same(page, page.messages())


def test_a_placeholder_is_no_key(page: ChatPage) -> None:
    page.browser.open(f"{page.url}/")
    page.browser.until("return window.ready === true;")
    page.browser.run("show(args[0]);", [page.options | {"key": "sh_…"}])
    page.browser.until("return window.errors.some((error) => error.includes('`key` is the placeholder'));")


def test_two_chats_and_another_project_stay_apart(page: ChatPage, api: Callable[..., Any], alice: User) -> None:
    elsewhere = f"{page.options['project']}/elsewhere"
    page.open({"id": "b"})
    page.say("count to 60", wait=False)
    page.say("for b", id="b", wait=False)
    page.idle("b")
    # The project changes while the answer comes: the same id is another chat there.
    page.show({"project": elsewhere})
    assert page.messages() == []
    page.say("elsewhere")
    page.show({}, {"id": "b"})
    page.until("return chat.messages.length === 2 && chat.status === 'ready';")
    assert (page.texts(), page.texts("b")) == (["count to 60", COUNTED], ["for b", "You said: for b"])
    page.settle()
    for project, chat, texts in (
        (page.options["project"], "a", ["count to 60", COUNTED]),
        (page.options["project"], "b", ["for b", "You said: for b"]),
        (elsewhere, "a", ["elsewhere", "You said: elsewhere"]),
    ):
        found = api(alice).get(f"/resume?project={project}&external_id={chat}&quiet=1").json()
        assert [message["text"] for message in found["messages"]] == texts


def test_two_tabs_show_the_same(page: ChatPage) -> None:
    page.open()
    first = page.browser.driver.current_window_handle
    second = page.browser.new_tab(f"{page.url}/")
    page.open()
    page.say("from the second")
    page.settle()
    page.browser.go_to(first)
    page.until("return chat.messages.length === 2;")
    assert page.texts() == ["from the second", "You said: from the second"]
    page.say("from the first")
    page.settle()
    shown = page.messages()
    page.browser.close_tab(then=second)
    page.until("return chat.messages.length === 4;")
    assert page.messages() == shown


@pytest.mark.slow
def test_without_strict_mode_and_remounted_in_the_middle(page: ChatPage) -> None:
    page.open(strict=False)
    page.say("count to 60", wait=False)
    page.until("return chat.status === 'streaming';")
    page.browser.run("show([]);")
    page.browser.pause(0.2)
    page.show({}, strict=False)
    page.idle()
    page.settle()
    assert page.texts() == ["count to 60", COUNTED]
    same(page, page.messages())


def test_the_copy_in_this_browser_is_painted_before_the_server_answers(page: ChatPage) -> None:
    page.open()
    page.say("hello")
    page.settle()
    page.browser.until("return Object.keys(localStorage).some((name) => localStorage[name].includes('You said: hello'));")
    page.browser.open(f"{page.url}/")
    page.browser.until("return window.ready === true;")
    page.browser.block("*/api/v1/*")
    page.browser.run("show(args[0]);", [page.options])
    wait_for(lambda: page.shown() == ["hello", "[step-start] You said: hello"])
    # On a busy machine the browser may have received the refusals already.
    assert page.call("return !chat.loaded || chat.storeError !== null;")
