"""The browser module in a frontend on another origin: with a key, over CORS."""

import http.server
import threading
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import CONNECT, SAY
from tests.databases import own_database
from tests.server import ServerProcess

pytestmark = pytest.mark.browser


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[str]:
    """Another site, with one empty page."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text("<!doctype html><title>Elsewhere</title>")
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=site.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{site.server_address[1]}"
    site.shutdown()
    thread.join()
    site.server_close()


def test_a_frontend_elsewhere_saves_flushes_and_resumes_with_a_key(browser: Browser, elsewhere: str, tmp_path: Path) -> None:
    with own_database() as own, ServerProcess(tmp_path, own=own, CORS_ORIGINS=elsewhere) as server:
        key = server.key("ana")
        account = {"baseUrl": server.url, "project": f"/home/ana/{uuid.uuid4()}", "auth": {"key": key}}
        browser.open(f"{elsewhere}/index.html")
        module = f"{server.url}/static/js/stillhere.js"
        assert browser.run(CONNECT, module, account)["session"] is None
        browser.run(SAY, "m1", "from afar", "user", False)
        assert browser.run("return chat.settled(8000);")
        browser.until("return Boolean(chat._link.flushToken);")
        browser.run(SAY, "m2", "last words", "assistant", True)
        browser.run("chat.saveState({ context: 'from afar' });")
        browser.open("about:blank")
        api = server.api(key)
        wait_for(lambda: texts(api.call("GET", "/resume", project=account["project"])) == ["from afar", "last words"])
        api.close()
        browser.open(f"{elsewhere}/index.html")
        state = browser.run(CONNECT, module, account)
        assert (texts(state), state["agentState"]["context"]) == (["from afar", "last words"], "from afar")
        browser.until("return heard.some(({ type }) => type === 'HEARTBEAT') || chat._link.live.socket?.readyState === 1;")
        browser.forget()


def texts(state: dict[str, list[dict[str, str]]]) -> list[str]:
    return [message["text"] for message in state["messages"]]
