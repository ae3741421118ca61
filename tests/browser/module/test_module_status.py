"""What the browser module says where it cannot get at the chat: never that nothing is saved."""

import http.server
import threading
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import SAY, Frontend, stored
from tests.support.live_server import LiveServer
from tests.support.server_process import ServerProcess, free_port
from tests.support.stores import Store
from tests.support.suite import first_of

pytestmark = [pytest.mark.browser, pytest.mark.once]
ROOT = Path(__file__).resolve().parents[3]
MODULE = "/static/js/stillhere.js"
RESUME = """
    const { connect } = await import(args[0]);
    window.chat = connect(args[1]);
    window.list = [];
    window.statuses = [];
    window.refused = [];
    if (args[1].listens) window.chat.on("refused", (refusal) => window.refused.push(refusal));
    window.chat.on("status", ({ status, error }) => window.statuses.push([status, error?.code ?? ""]));
    window.chat.on("restored", (state) => (window.restored = state));
    try {
      return { state: await window.chat.resume(), error: null, status: window.chat.status };
    } catch ({ status, code, message }) {
      return { state: null, error: { status, code, message }, status: window.chat.status };
    }
"""

SIGNED_OUT = """
    const { fetch } = window;
    const refusal = { error: { code: 'unauthorized', message: 'Sign in.' } };
    const headers = { 'Content-Type': 'application/json' };
    window.signedOut = true;
    window.fetch = (...given) =>
      window.signedOut ? new Response(JSON.stringify(refusal), { status: 401, headers }) : fetch(...given);
"""


LISTEN = "chat.on('refused', (refusal) => refused.push(refusal));"


class Impostor(http.server.SimpleHTTPRequestHandler):
    """A server that hands out the module, and answers the API's addresses as the test wants it."""

    answer: tuple[int, str, str] = (503, "application/json", "{}")

    def do_GET(self) -> None:
        if not self.path.startswith("/api/"):
            super().do_GET()
            return
        status, kind, body = Impostor.answer
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def impostor() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Impostor, directory=str(ROOT))) as site:
        thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{site.server_address[1]}"
        site.shutdown()
        thread.join()


def resumed(browser: Browser, module: str = MODULE, **options: Any) -> Any:
    return browser.run(RESUME, module, {"project": f"/home/ana/{uuid.uuid4()}", "auth": {"key": "sh_wrong"}, **options})


def test_nothing_saved_is_told_from_nothing_to_be_had(signed_in: Browser, server: LiveServer, alice: User) -> None:
    cookie = {"cookie": True, "user": alice.username}
    signed_in.open(f"{server.url}/healthz")
    empty = resumed(signed_in, auth=cookie)
    assert (empty["state"]["messages"], empty["state"]["session"], empty["state"]["mirrored"]) == ([], None, False)
    assert empty["status"] == "online"
    signed_in.open(f"{server.url}/healthz")
    nobody = resumed(signed_in, auth=cookie, baseUrl=f"http://127.0.0.1:{free_port()}")
    assert (nobody["state"]["messages"], nobody["state"]["mirrored"], nobody["status"]) == ([], True, "offline")
    assert signed_in.run("return statuses;") == [["offline", "unreachable"]]


def test_a_wrong_key_is_told_to_the_page_and_in_the_console(browser: Browser, server: LiveServer) -> None:
    browser.open(f"{server.url}/healthz")
    wrong = resumed(browser)
    assert (wrong["error"]["status"], wrong["status"]) == (401, "denied")
    assert any("[Stillhere]" in line and wrong["error"]["message"] in line for line in browser.complaints())
    browser.run(SAY, "m1", "said with a wrong key", "user", False)
    browser.run(LISTEN)
    [refused] = browser.until("return refused.length > 0 && refused;")
    assert (refused["code"], refused["operations"][0]["text"]) == ("unauthorized", "said with a wrong key")
    assert refused["message"] == "The key is refused. What you wrote is kept in this browser."
    browser.forget()


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.slow
def test_a_refusal_is_told_once_whenever_the_page_listens(browser: Browser, server: LiveServer, alice: User, early: bool) -> None:
    page = Frontend(browser, server, alice)
    page.load()
    page.say("m1", "first")
    page.settle()
    browser.block("*/api/*")
    page.say("m2", "x" * 120_000)
    browser.run("await chat.stored();")
    browser.open(f"{server.url}/healthz")
    browser.block()
    resumed(browser, project=page.project, auth={"cookie": True, "user": alice.username}, listens=early)
    browser.pause(0.5)
    if not early:
        browser.run(LISTEN)
    [refused] = browser.until("return refused.length > 0 && refused;")
    assert len(refused["operations"][0]["operation"]["text"]) == 120_000
    browser.pause(0.5)
    assert browser.run("return refused.length;") == 1


def test_a_refused_message_is_marked_and_stays_in_its_place(browser: Browser, server: LiveServer, alice: User) -> None:
    page = Frontend(browser, server, alice)
    page.load()
    for message_id, text in [("m1", "first"), ("m2", "x" * 120_000), ("m3", "third")]:
        page.say(message_id, text)
        page.settle()
    shown = "return chat.peek().messages.map(({ id, refused }) => [id, refused ?? false]);"
    wait_for(lambda: browser.run(shown) == [["m1", False], ["m2", True], ["m3", False]])
    told = page.heard("changed")[-1]["messages"]
    assert [message["id"] for message in told] in (["m1", "m2"], ["m1", "m2", "m3"])
    assert page.load()["messages"][-1]["text"] == "third"


def test_a_server_in_trouble_is_waited_for(browser: Browser, impostor: str) -> None:
    Impostor.answer = (503, "application/json", '{"error": {"code": "busy", "message": "Try again shortly."}}')
    browser.open(f"{impostor}/static/robots.txt")
    busy = resumed(browser)
    assert (busy["state"]["mirrored"], busy["status"]) == (True, "offline")
    Impostor.answer = (204, "application/json", "")
    browser.until("return window.restored?.mirrored === false;")
    assert browser.run("return statuses;") == [["offline", "busy"], ["online", ""]]
    browser.forget()


@pytest.mark.parametrize("status", first_of([404, 200], 1))
def test_what_is_no_stillhere_is_not_taken_for_one(browser: Browser, impostor: str, status: int) -> None:
    """As where `baseUrl` was forgotten: the frontend's own server answers with its page."""
    Impostor.answer = (status, "text/html", "<!doctype html><title>A frontend</title>")
    browser.open(f"{impostor}/static/robots.txt")
    answer = resumed(browser)
    assert (answer["error"]["code"], answer["status"]) == ("not_stillhere", "denied")
    assert "baseUrl" in answer["error"]["message"]
    browser.forget()


@pytest.mark.slow
def test_an_origin_that_is_not_listed_is_told_so_and_its_words_wait(browser: Browser, elsewhere: str, store: Store) -> None:
    with ServerProcess(store) as server:
        key = server.key("ana")
        project = f"/home/ana/{uuid.uuid4()}"
        account = {"baseUrl": server.url, "project": project, "auth": {"key": key}}
        browser.open(f"{elsewhere}/index.html")
        denied = resumed(browser, f"{server.url}{MODULE}", **account)
        assert (denied["error"]["code"], denied["status"]) == ("origin_denied", "denied")
        assert elsewhere in denied["error"]["message"]
        assert "STILLHERE_CORS_ORIGINS" in denied["error"]["message"]
        told = [line for line in browser.complaints() if "[Stillhere]" in line]
        assert len(told) == 1
        assert elsewhere in told[0]
        browser.run(SAY, "m1", "said before it was listed", "user", False)
        server.stop()
        server.start(CORS_ORIGINS=elsewhere)
        api = server.api(key)
        wait_for(lambda: api.call("GET", "/resume", project=project, optional=True), 40)
        wait_for(lambda: api.call("GET", "/resume", project=project)["messages"])
        [message] = api.call("GET", "/resume", project=project)["messages"]
        assert message["text"] == "said before it was listed"
        browser.until("return chat.status === 'online';")
        api.close()
        browser.forget()


@pytest.mark.slow
def test_a_page_listens_again_as_soon_as_the_network_is_back(browser: Browser, server: LiveServer, alice: User) -> None:
    """And not when its pause after many failures ends, nor by a connection that may be dead."""
    page = Frontend(browser, server, alice)
    page.load()
    page.say("m1", "first")
    listens = (
        "const { events } = chat._sessionClient.parts; return events.socket?.readyState === 1 && (window.former = events.socket);"
    )
    page.browser.until(listens)
    page.browser.run("chat._sessionClient.parts.events.failures = 8; window.former.close();")
    page.browser.until("return chat._sessionClient.parts.events.failures === 9;")
    page.browser.run("window.dispatchEvent(new Event('online'));")
    page.browser.until(listens)
    page.browser.run("window.first = window.former; window.dispatchEvent(new Event('online'));")
    page.browser.until(f"{listens.replace('return', 'return events.socket !== window.first &&')}")
    browser.leave()


def test_a_page_that_began_without_the_server_is_told_what_is_new_as_any_change(
    browser: Browser, server: LiveServer, alice: User, api: Callable[..., Any]
) -> None:
    page = Frontend(browser, server, alice)
    page.load()
    page.say("m1", "first")
    page.settle()
    session = browser.run("return chat.session.id;")
    browser.open(f"{server.url}/healthz")
    browser.block("*/api/*")
    assert page.begin()["mirrored"]
    op = {"op": "upsert", "id": "a1", "role": "assistant", "text": "by an agent"}
    api(alice).post(f"/sessions/{session}/changes", {"epoch": 1, "writer_id": "agent", "seq": 1, "ops": [op]})
    browser.block()
    browser.run("window.dispatchEvent(new Event('online'));")
    wait_for(lambda: page.heard("restored"))
    browser.pause(0.5)
    assert [[one["text"] for one in told["messages"]] for told in page.heard("changed")] == [["first", "by an agent"]]


@pytest.mark.slow
def test_a_page_that_began_without_the_server_is_told_nothing_of_what_it_shows(
    browser: Browser, server: LiveServer, alice: User
) -> None:
    page = Frontend(browser, server, alice)
    page.load()
    page.say("m1", "first")
    page.settle()
    browser.open(f"{server.url}/healthz")
    browser.block("*/api/*")
    page.begin()
    browser.block()
    browser.run("window.dispatchEvent(new Event('online'));")
    wait_for(lambda: page.heard("restored"))
    browser.pause(0.5)
    assert page.heard("changed") == []


def test_a_page_from_a_file_is_told_to_be_served_by_http(
    browser: Browser, server: LiveServer, secret: str, tmp_path: Path
) -> None:
    """Its origin cannot be listed."""
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><title>A file</title>")
    browser.open(page.as_uri())
    denied = resumed(browser, f"{server.url}{MODULE}", baseUrl=server.url, project="/home/ana/shop", auth={"key": secret})
    assert (denied["error"]["code"], denied["status"]) == ("origin_denied", "denied")
    assert "Serve this page by HTTP" in denied["error"]["message"]
    assert "STILLHERE_CORS_ORIGINS" not in denied["error"]["message"]
    browser.forget()


def test_what_another_project_has_is_sent_after_a_new_sign_in_too(
    browser: Browser, server: LiveServer, alice: User, api: Callable[..., Any]
) -> None:
    page = Frontend(browser, server, alice)
    page.load()
    page.say("m1", "one")
    page.settle()
    browser.run(SIGNED_OUT)
    page.say("m2", "two")
    browser.until("return heard.some(({ type }) => type === 'refused');")
    browser.run("chat.switchProject(args[0]).catch(() => {});", f"{page.project}-next")
    browser.until("return chat.project === args[0];", f"{page.project}-next")
    browser.run("window.signedOut = false; await chat.retry();")
    wait_for(lambda: stored(api, page) == ["one", "two"], 10)
    browser.leave()
