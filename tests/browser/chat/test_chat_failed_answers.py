"""Who answers in the chat is away for a while: what was typed stays, and is answered when it is asked again."""

import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.accessibility import assert_accessible
from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, wait_for
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
ALERT = "return document.getElementById('chat-alert').textContent;"
VERSIONS = "return document.querySelector('[role=log] .versions:not([hidden]) span')?.textContent === args[0];"
OFFERED = "return !document.getElementById('chat-again').hidden;"


class Endpoint(http.server.BaseHTTPRequestHandler):
    """A model's: `says` in pieces, or 500 where there is nothing to say; a piece that is None breaks the answer off."""

    says: tuple[str | None, ...] = ()
    asked: list[Any] = []

    def do_GET(self) -> None:
        body = b'{"data": [{"id": "parrot"}, {"id": "large"}]}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        Endpoint.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        if not Endpoint.says:
            self.send_error(500)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in Endpoint.says:
            content = b"no JSON" if piece is None else b'{"choices": [{"delta": {"content": "%s"}}]}' % piece.encode()
            line = b"data: %s\n\n" % content
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        if None not in Endpoint.says:
            self.wfile.write(b"e\r\ndata: [DONE]\n\n\r\n")
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:
        pass

    protocol_version = "HTTP/1.1"


@pytest.fixture
def chat(signed_in: Browser, server: LiveServer, settings: Any) -> Iterator[ChatPage]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as site:
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        settings.CHAT_URL, settings.CHAT_MODEL = f"http://127.0.0.1:{site.server_address[1]}/v1", "parrot"
        yield ChatPage(signed_in, server.url)
        site.shutdown()
        thread.join()


def test_what_was_not_answered_is_asked_again(chat: ChatPage) -> None:
    Endpoint.says = ()
    chat.open()
    chat.say("Are you there?")
    assert "The endpoint answered with HTTP 500" in chat.browser.until(ALERT)
    assert chat.texts() == ["Are you there?", ""]
    assert_accessible(chat.browser)
    chat.reload_hard()  # It is offered after a reload, too.
    chat.browser.until(OFFERED)
    Endpoint.says = ("Here ", "I am.")
    chat.browser.textbox("Message").send_keys("half a thou")
    chat.press("Try again")
    chat.until(lambda texts: texts == ["Are you there?", "Here I am."])
    chat.until_still()
    assert chat.browser.run(ALERT) == ""
    assert not chat.browser.run(OFFERED)
    assert chat.browser.textbox("Message").get_attribute("value") == "half a thou"


@pytest.mark.slow
def test_an_answer_that_broke_off_stays_as_another_version(chat: ChatPage) -> None:
    Endpoint.says = ("Here ", None)
    chat.open()
    chat.say("Are you there?")
    chat.browser.until(OFFERED)
    Endpoint.says = ("Here I am.",)
    chat.press("Try again")
    chat.until(lambda texts: texts == ["Are you there?", "Here I am."])
    chat.until_still()
    chat.browser.until(VERSIONS, "2/2")
    chat.reload_hard()
    assert chat.texts() == ["Are you there?", "Here I am."]


def test_an_answer_that_broke_off_is_continued(chat: ChatPage) -> None:
    Endpoint.says = ("Here ", None)
    chat.open()
    chat.say("Are you there?")
    chat.browser.until(OFFERED)
    Endpoint.says = ("I am.",)
    chat.press("Continue")
    chat.until(lambda texts: texts == ["Are you there?", "Here I am."])
    chat.until_still()
    wait_for(lambda: not chat.browser.run(OFFERED))


@pytest.mark.slow
def test_the_model_is_chosen_from_those_that_the_endpoint_lists(chat: ChatPage) -> None:
    Endpoint.says = ("Yes.",)
    chat.open()
    chat.browser.until("return !document.getElementById('chat-model-choice').hidden;")
    chat.browser.run(
        "const box = document.getElementById('chat-model'); box.value = 'large'; box.dispatchEvent(new Event('change'));"
    )
    for _ in range(2):
        Endpoint.asked.clear()
        chat.say("Are you there?")
        chat.until(lambda texts: texts[-1] == "Yes.")
        chat.until_still()
        assert [body["model"] for body in Endpoint.asked] == ["large"]
        chat.reload_hard()
        chat.browser.until("return document.getElementById('chat-model').value === 'large';")
