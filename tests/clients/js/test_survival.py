"""The server is killed, the network is away, the tab is closed: nothing is lost, nothing is there twice."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from stillhere import Client
from tests.browser.driving import Browser, wait_for
from tests.clients.js.chat_page import ChatPage
from tests.clients.js.chat_site import Site
from tests.clients.js.conftest import needs_packages
from tests.clients.js.test_ai_sdk import COUNTED, same
from tests.support.live_server import LiveServer
from tests.support.server_process import ServerProcess
from tests.support.stores import Store
from tests.support.suite import first_of

pytestmark = [pytest.mark.browser, pytest.mark.once, needs_packages]
HALVES = "One half and the other."


@pytest.fixture
def server_process(store: Store, site: Site) -> Iterator[ServerProcess]:
    with ServerProcess(store, CORS_ORIGINS=site.url) as server:
        yield server


@pytest.fixture
def devices(browser: Browser, script: bytes, store: Store) -> Iterator[tuple[ServerProcess, ChatPage, ChatPage]]:
    """Two with one chat: an origin of its own gives each what a browser keeps."""
    with Site(script) as one, Site(script) as other, ServerProcess(store, CORS_ORIGINS=f"{one.url},{other.url}") as server:
        options = {"url": server.url, "key": server.key("ana"), "project": f"/home/ana/{uuid.uuid4()}", "id": "a"}
        yield server, ChatPage(browser, one.url, dict(options)), ChatPage(browser, other.url, dict(options))
        browser.leave()


@pytest.fixture
def mortal(browser: Browser, site: Site, server_process: ServerProcess) -> Iterator[ChatPage]:
    """A chat whose server can be killed."""
    options = {"url": server_process.url, "key": server_process.key("ana"), "project": f"/home/ana/{uuid.uuid4()}", "id": "a"}
    yield ChatPage(browser, site.url, options)
    browser.leave()


def stored(server: ServerProcess, page: ChatPage) -> list[str]:
    api = server.api(server.key("ana"))
    found = api.call("GET", "/resume", project=page.options["project"], external_id=page.options["id"], optional="1")
    api.close()
    return [message["text"] for message in found["messages"]] if found else []


def test_the_server_is_killed_and_comes_back(mortal: ChatPage, server_process: ServerProcess) -> None:
    server_process.kill()
    mortal.open()
    mortal.say("is anybody there?")
    mortal.open()
    texts = ["is anybody there?", "You said: is anybody there?"]
    assert mortal.texts() == texts
    server_process.start()
    wait_for(lambda: stored(server_process, mortal) == texts, 30)
    mortal.say("count to 60", wait=False)
    mortal.until("return chat.messages.at(-1).parts.some(({ text }) => text?.includes('1 2 3'));")
    server_process.kill()
    mortal.idle()
    mortal.say("while it is away")
    texts += ["count to 60", COUNTED, "while it is away", "You said: while it is away"]
    assert mortal.texts() == texts
    mortal.open()  # From this browser's copy.
    assert mortal.texts() == texts
    server_process.start()
    wait_for(lambda: stored(server_process, mortal) == texts, 30)
    same(mortal, mortal.messages())
    assert mortal.texts() == texts


@pytest.mark.slow
def test_two_devices_begin_one_chat_while_the_server_is_away(devices: tuple[ServerProcess, ChatPage, ChatPage]) -> None:
    server, one, other = devices
    server.kill()
    one.open()
    one.say("from the one")
    tab = one.browser.driver.current_window_handle
    one.browser.new_tab(f"{other.url}/")
    other.open()
    other.say("from the other")
    server.start()
    other.settle()
    other.say("and on")
    other.settle()
    texts = wait_for(lambda: len(found := stored(server, other)) == 6 and found, 30)
    # Another device's words may come between a question and its answer.
    for question in ("from the one", "from the other", "and on"):
        assert question in texts[: texts.index(f"You said: {question}")]
    wait_for(lambda: other.texts() == texts, 30, "the order of the server")
    one.browser.go_to(tab)
    wait_for(lambda: one.texts() == texts, 30, "the order of the server")
    api = server.api(server.key("ana"))
    assert len(api.call("GET", "/sessions")["items"]) == 1
    api.close()


def test_offline_the_question_stays_and_can_be_asked_again(page: ChatPage) -> None:
    page.open()
    page.say("hello")
    page.settle()
    page.browser.offline()
    page.say("count to 3")
    assert page.call("return chat.status;") == "error"
    page.browser.online()
    page.call("void chat.regenerate();")
    page.until("return chat.status !== 'error';")
    page.idle()
    page.settle()
    assert page.texts() == ["hello", "You said: hello", "count to 3", "1 2 3"]
    same(page, page.messages())


def test_a_tab_that_is_closed_leaves_what_came(page: ChatPage) -> None:
    page.open()
    first = page.browser.driver.current_window_handle
    page.browser.new_tab(f"{page.url}/")
    page.open()
    page.say("count to 60", wait=False)
    page.until("return chat.messages.at(-1).parts.some(({ text }) => text?.includes('1 2 3 4 5 6'));")
    page.browser.close_tab(then=first)
    page.open()
    question, answer = page.texts()
    assert question == "count to 60"
    assert COUNTED.startswith(answer)
    assert answer.startswith("1 2 3 4 5")


def test_an_answer_that_breaks_off(page: ChatPage, site: Site) -> None:
    page.open()
    page.say("break", wait=False)
    # What a page has not read yet when the connection breaks is lost to it: the browser drops it.
    page.until("return chat.messages.at(-1).parts.some(({ text }) => text === 'It breaks');")
    site.go_on.set()
    page.until("return chat.status === 'error';")
    assert page.call("return chat.status;") == "error"
    page.settle()
    shown = page.messages()
    assert page.texts() == ["break", "It breaks"]
    same(page, shown)
    assert page.call("return chat.connection.peek().messages.at(-1).status;") == "interrupted"


def said_in(client: Any, session: str) -> dict[str, str]:
    """The texts of a session with their status."""
    return {message["text"]: message["status"] for message in client.get(f"/sessions/{session}").json()["messages"]}


def asked_and_left(page: ChatPage, question: str, leave: str) -> str:
    """A chat without an id. The page does something else while the answer comes. Returns the session."""
    del page.options["id"]
    page.open(name="a")
    page.say(question, wait=False)
    if question == "half":
        page.until("return chat.messages.at(-1).parts.at(-1)?.text === 'One half';")
    page.until("return chat.connection.session?.project_id && chat.connection.settled(8000);")
    session: str = page.call("return chat.connection.session.id;")
    page.call(leave)
    return session


@pytest.mark.parametrize("question", first_of(["half", "think"], 1))
def test_an_answer_is_stored_where_it_was_asked_for(
    page: ChatPage, site: Site, api: Callable[..., Any], alice: User, question: str
) -> None:
    """Not in the session to which the page turned meanwhile."""
    session = asked_and_left(page, question, "await chat.connection.newSession();")
    site.go_on.set()
    answer = HALVES if question == "half" else "You said: think"

    wait_for(lambda: said_in(api(alice), session) == {question: "complete", answer: "complete"}, 30)
    page.until("return chat.messages.length === 0;")
    page.say("and here?")
    page.settle()
    present = page.call("return chat.connection.session.id;")
    assert page.texts() == list(said_in(api(alice), present)) == ["and here?", "You said: and here?"]
    assert len(said_in(api(alice), session)) == 2


@pytest.mark.slow
def test_an_answer_goes_on_where_it_was_asked_for_though_the_page_ends_without_the_network(
    page: ChatPage, site: Site, api: Callable[..., Any], alice: User
) -> None:
    session = asked_and_left(page, "half", "await chat.connection.newSession();")
    page.browser.block("*/api/v1/*")
    site.go_on.set()
    page.until("return chat.status === 'ready' && chat.messages.length === 0;")
    page.call("await chat.connection.stored();")
    page.browser.block()
    page.open()
    wait_for(lambda: said_in(api(alice), session) == {"half": "complete", HALVES: "complete"}, 30)


def test_a_chat_that_was_begun_without_the_network_has_its_answer_though_another_one_follows(
    page: ChatPage, site: Site, server: LiveServer, secret: str
) -> None:
    del page.options["id"]
    page.open(name="a")
    page.browser.block("*/api/v1/*")
    page.say("half", wait=False)
    page.until("return chat.messages.at(-1).parts.at(-1)?.text === 'One half';")
    page.call("await chat.connection.newSession();")
    site.go_on.set()
    page.until("return chat.status === 'ready' && chat.messages.length === 0;")
    page.say("and here?")
    page.browser.block()
    page.settle()
    with Client(server.url, secret, page.options["project"]) as client:

        def said() -> list[list[str]]:
            sessions = client.list_sessions().items
            return sorted([message.text for message in client.read_messages(one.id).items] for one in sessions)

        wait_for(lambda: said() == [["and here?", "You said: and here?"], ["half", HALVES]], 30)


@pytest.mark.slow
def test_an_answer_stays_behind_when_the_page_turns_to_the_session_that_is_current_now(
    page: ChatPage, site: Site, server: LiveServer, secret: str, api: Callable[..., Any], alice: User
) -> None:
    with Client(server.url, secret, page.options["project"]) as client:
        session = asked_and_left(page, "half", "")
        other = client.open_session("other", current=True).id
        client.save(other, [{"id": "o1", "role": "user", "text": "elsewhere"}])
    page.call("await chat.connection.resume();")
    assert page.call("return chat.connection.session.id;") == other
    site.go_on.set()
    wait_for(lambda: said_in(api(alice), session) == {"half": "complete", HALVES: "complete"}, 30)
    page.until("return chat.messages.length === 1;")
    page.settle()
    assert said_in(api(alice), other) == {"elsewhere": "complete"}


@pytest.mark.parametrize("question", first_of(["half", "think"], 1))
def test_an_answer_to_a_cleared_question_is_not_alone_in_the_cleared_chat(
    page: ChatPage, site: Site, api: Callable[..., Any], alice: User, question: str
) -> None:
    session = asked_and_left(page, question, "await chat.connection.clear();")
    site.go_on.set()
    answer = HALVES if question == "half" else "You said: think"
    client = api(alice)
    wait_for(lambda: [copy["text"] for copy in client.get(f"/sessions/{session}/conflicts").json()["items"]] == [answer], 30)
    page.until("return chat.messages.length === 0;")
    page.settle()
    assert said_in(client, session) == {}
    page.say("and here?")
    page.settle()
    assert page.texts() == list(said_in(client, session)) == ["and here?", "You said: and here?"]


@pytest.mark.slow
def test_a_clear_that_is_undone_while_the_answer_comes_costs_nothing_of_it(page: ChatPage, site: Site) -> None:
    asked_and_left(page, "half", "await chat.connection.clear(); await chat.connection.undoClear();")
    page.until("return chat.connection.peek().messages.length === 2;")
    site.go_on.set()
    page.idle()
    page.settle()
    page.until("return chat.messages.length === 2;")
    shown = page.messages()
    assert page.texts() == ["half", HALVES]
    same(page, shown)
