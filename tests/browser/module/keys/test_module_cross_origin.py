"""The browser module in a frontend on another origin: with a key, over CORS."""

import uuid
from typing import Any

import pytest

from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import CONNECT, SAY
from tests.support.live_server import LiveServer
from tests.support.server_process import Api

pytestmark = [pytest.mark.browser, pytest.mark.once]


@pytest.fixture
def allowing(server: LiveServer, elsewhere: str, settings: Any) -> LiveServer:
    """A server that the other site's pages may ask."""
    settings.CORS_ALLOWED_ORIGINS = [elsewhere]
    return server


def test_a_frontend_elsewhere_saves_flushes_and_resumes_with_a_key(
    browser: Browser, elsewhere: str, allowing: LiveServer, secret: str
) -> None:
    account = {"baseUrl": allowing.url, "project": f"/home/alice/{uuid.uuid4()}", "auth": {"key": secret}}
    browser.open(f"{elsewhere}/index.html")
    module = f"{allowing.url}/static/js/stillhere.js"
    assert browser.run(CONNECT, module, account)["session"] is None
    browser.run(SAY, "m1", "from afar", "user", False)
    assert browser.run("return chat.settled(8000);")
    browser.until("return Boolean(chat._sessionClient.parts.flushToken.value);")
    browser.run(SAY, "m2", "last words", "assistant", True)
    browser.run("chat.saveState({ context: 'from afar' });")
    browser.open("about:blank")
    api = Api(allowing.url, secret)
    wait_for(lambda: texts(api.call("GET", "/resume", project=account["project"])) == ["from afar", "last words"])
    api.close()
    browser.open(f"{elsewhere}/index.html")
    state = browser.run(CONNECT, module, account)
    assert (texts(state), state["agentState"]["context"]) == (["from afar", "last words"], "from afar")
    browser.until(
        "return heard.some(({ type }) => type === 'HEARTBEAT') || chat._sessionClient.parts.events.socket?.readyState === 1;"
    )
    browser.forget()


def texts(state: dict[str, list[dict[str, str]]]) -> list[str]:
    return [message["text"] for message in state["messages"]]
