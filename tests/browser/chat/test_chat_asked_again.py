"""Who answers in the chat is away for a while: what was typed stays, and is answered when it is asked again."""

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.accessibility import assert_accessible
from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser
from tests.support.live_server import LiveServer

pytestmark = pytest.mark.browser
ALERT = "return document.getElementById('chat-alert').textContent;"
OFFERED = "return !document.getElementById('chat-again').hidden;"


class Endpoint(http.server.BaseHTTPRequestHandler):
    """A model's: `says` in pieces, or 502 where there is nothing to say; a piece that is None breaks the answer off."""

    says: tuple[str | None, ...] = ()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if not Endpoint.says:
            self.send_error(502)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in Endpoint.says:
            content = b"no JSON" if piece is None else b'{"choices": [{"delta": {"content": "%s"}}]}' % piece.encode()
            line = b"data: %s\n\n" % content
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
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
    assert "did not answer" in chat.browser.until(ALERT)
    assert chat.texts() == ["Are you there?"]
    assert_accessible(chat.browser)
    chat.reload_hard()  # It is offered to who comes back, too.
    assert chat.texts() == ["Are you there?"]
    Endpoint.says = ("Here ", "I am.")
    chat.browser.textbox("Message").send_keys("half a thou")
    chat.press("Try again")
    chat.until(lambda texts: texts == ["Are you there?", "Here I am."])
    chat.until_still()
    assert chat.browser.run(ALERT) == ""
    assert not chat.browser.run(OFFERED)
    assert chat.browser.textbox("Message").get_attribute("value") == "half a thou"


def test_an_answer_that_broke_off_stays_and_the_next_one_stands_below(chat: ChatPage) -> None:
    Endpoint.says = ("Here ", None)
    chat.open()
    chat.say("Are you there?")
    chat.browser.until(OFFERED)
    Endpoint.says = ("Here I am.",)
    chat.press("Try again")
    chat.until(lambda texts: texts == ["Are you there?", "Here", "Here I am."])
    chat.until_still()
    chat.reload_hard()
    assert chat.texts() == ["Are you there?", "Here", "Here I am."]
