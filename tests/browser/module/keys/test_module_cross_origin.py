"""The browser module in a frontend on another origin: with a key, over CORS."""

import uuid

import pytest

from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import CONNECT, SAY
from tests.support.server_process import ServerProcess
from tests.support.stores import Store

pytestmark = [pytest.mark.browser, pytest.mark.once]


def test_a_frontend_elsewhere_saves_flushes_and_resumes_with_a_key(browser: Browser, elsewhere: str, store: Store) -> None:
    with ServerProcess(store, CORS_ORIGINS=elsewhere) as server:
        key = server.key("ana")
        account = {"baseUrl": server.url, "project": f"/home/ana/{uuid.uuid4()}", "auth": {"key": key}}
        browser.open(f"{elsewhere}/index.html")
        module = f"{server.url}/static/js/stillhere.js"
        assert browser.run(CONNECT, module, account)["session"] is None
        browser.run(SAY, "m1", "from afar", "user", False)
        assert browser.run("return chat.settled(8000);")
        browser.until("return Boolean(chat._sessionClient.parts.flushToken.value);")
        browser.run(SAY, "m2", "last words", "assistant", True)
        browser.run("chat.saveState({ context: 'from afar' });")
        browser.open("about:blank")
        api = server.api(key)
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
