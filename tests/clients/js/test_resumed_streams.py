"""The real `useChat` joins an answer that is being made elsewhere: one that Stillhere holds, or one of the site's own backend."""

import uuid
from typing import Any

import httpx
import pytest

from tests.browser.driving import wait_for
from tests.clients.js.chat_page import ChatPage
from tests.clients.js.chat_site import Site
from tests.clients.js.conftest import needs_packages
from tests.clients.js.test_ai_sdk import COUNTED, same
from tests.support.live_server import LiveServer
from tests.support.server_process import Api

pytestmark = [pytest.mark.browser, pytest.mark.once, needs_packages]
WORDS = COUNTED.split(" ")


class Producer:
    """A backend that lets Stillhere hold its answer, and saves it at the end."""

    def __init__(self, server: LiveServer, secret: str, page: ChatPage) -> None:
        self.api = Api(server.url, secret)
        project = self.api.call("POST", "/projects", {"path": page.options["project"]})["id"]
        self.session = self.api.call("PUT", f"/projects/{project}/sessions/by-external/a", {})["id"]
        self._save({"id": "q1", "role": "user", "text": "Count."})
        self.stream = ""
        self.offset = 0

    def begin(self) -> None:
        self.stream = self.api.call("POST", f"/sessions/{self.session}/streams", {"message": "a1"})["stream"]

    def say(self, *words: str) -> None:
        chunks = [f"{'' if self.offset + at == 0 else ' '}{word}" for at, word in enumerate(words)]
        self.offset = self.api.call("POST", f"/streams/{self.stream}/chunks", {"offset": self.offset, "chunks": chunks})["offset"]

    def end(self, text: str, *, interrupted: bool = False) -> None:
        self._save({"id": "a1", "role": "assistant", "text": text, "status": "interrupted" if interrupted else "complete"})
        self.api.call("POST", f"/streams/{self.stream}/end", {"interrupted": True} if interrupted else {})

    def _save(self, message: dict[str, Any]) -> None:
        body = {"epoch": 1, "writer_id": str(uuid.uuid4()), "seq": 1, "ops": [{"op": "upsert", **message}]}
        self.api.call("POST", f"/sessions/{self.session}/changes", body)


@pytest.fixture
def producer(page: ChatPage, server: LiveServer, secret: str) -> Any:
    producer = Producer(server, secret, page)
    yield producer
    producer.api.close()


@pytest.mark.slow
def test_two_pages_join_late_and_end_equal(page: ChatPage, producer: Producer) -> None:
    producer.begin()
    producer.say(*WORDS[:20])
    page.open(resume=True)
    page.until("return chat.messages.at(-1).parts.some(({ text }) => text?.endsWith(' 20'));")
    first = page.browser.driver.current_window_handle
    page.browser.new_tab(f"{page.url}/")
    page.open()
    producer.say(*WORDS[20:40])
    page.until("return chat.messages.at(-1).parts.some(({ text }) => text?.endsWith(' 40'));")
    producer.say(*WORDS[40:])
    producer.end(COUNTED)
    page.idle()
    wait_for(lambda: page.texts() == ["Count.", COUNTED])
    second = page.browser.driver.current_window_handle
    page.browser.go_to(first)
    page.idle()
    wait_for(lambda: page.texts() == ["Count.", COUNTED])
    page.browser.close_tab(then=second)
    page.open()
    assert [message["id"] for message in page.messages()] == ["q1", "a1"]
    assert page.texts() == ["Count.", COUNTED]


def test_a_page_that_joins_before_the_first_word(page: ChatPage, producer: Producer) -> None:
    producer.begin()
    page.open(resume=True)
    page.until("return chat.status !== 'ready';")
    producer.say(*WORDS)
    producer.end(COUNTED)
    page.idle()
    wait_for(lambda: page.texts() == ["Count.", COUNTED])


def test_a_producer_that_dies(page: ChatPage, producer: Producer) -> None:
    producer.begin()
    producer.say(*WORDS[:5])
    page.open(resume=True)
    page.until("return chat.messages.at(-1).parts.some(({ text }) => text?.endsWith(' 5'));")
    producer.end("1 2 3 4 5", interrupted=True)
    page.until("return chat.status === 'error';")
    assert page.texts() == ["Count.", "1 2 3 4 5"]
    page.open()
    assert page.texts() == ["Count.", "1 2 3 4 5"]


@pytest.fixture
def asked(producer: Producer, site: Site) -> None:
    """The site's backend has a question, and answers it when the test says so. The answer has no id."""
    site.keeps = True
    body = {"id": "a", "messages": [{"id": "q1", "role": "user", "parts": [{"type": "text", "text": "wait"}]}]}
    with httpx.stream("POST", f"{site.url}/api/chat", json=body) as answer:
        next(answer.iter_lines())


def both_get_the_end(page: ChatPage, site: Site, first: str) -> None:
    """The answer goes on in the present tab and in the first one, which is closed then."""
    site.go_on.set()
    page.idle()
    page.settle()
    second = page.browser.driver.current_window_handle
    page.browser.go_to(first)
    page.idle()
    page.settle()
    page.browser.close_tab(then=second)


@pytest.mark.usefixtures("asked")
@pytest.mark.slow
def test_two_pages_that_resume_one_answer_store_it_once(page: ChatPage, site: Site) -> None:
    page.open(resume=True)
    page.until("return chat.status !== 'ready';")
    first = page.browser.driver.current_window_handle
    page.browser.new_tab(f"{page.url}/")
    page.open()
    page.until("return chat.status !== 'ready';")
    both_get_the_end(page, site, first)
    # The backend sends the whole answer again: it is stored already.
    page.open()
    page.idle()
    page.settle()
    page.open(resume=False)
    assert page.texts() == ["Count.", "It is done."]


@pytest.mark.usefixtures("asked")
@pytest.mark.slow
def test_a_page_that_asks_and_one_that_resumes_store_one_answer(page: ChatPage, site: Site) -> None:
    page.open(resume=False)
    page.say("wait", wait=False)
    page.until("return chat.status !== 'ready';")
    first = page.browser.driver.current_window_handle
    page.browser.new_tab(f"{page.url}/")
    page.open(resume=True)
    page.until("return chat.status !== 'ready';")
    both_get_the_end(page, site, first)
    page.open(resume=False)
    assert page.texts() == ["Count.", "wait", "It is done."]


def test_a_backend_that_resumes_its_own_answers(page: ChatPage, site: Site) -> None:
    site.keeps = True
    page.open(resume=True)
    page.say("count to 60", wait=False)
    page.until("return chat.messages.at(-1).parts.some(({ text }) => text?.includes('1 2 3 4 5'));")
    page.open()
    page.until("return chat.messages.length === 2 && chat.messages[1].parts.at(-1).text?.endsWith(' 60');")
    page.idle()
    page.settle()
    assert page.texts() == ["count to 60", COUNTED]
    page.options["resume"] = False
    same(page, page.messages())
