"""A frontend as somebody would write one: a page that uses the module, driven from a test."""

import json
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from django.contrib.auth.models import User

from tests.browser.driving import Browser
from tests.support.live_server import LiveServer

CONNECT = """
    const { connect } = await import(args[0]);
    window.chat = connect(args[1]);
    window.heard = [];
    window.chat.on("*", (detail, type) => window.heard.push({ type, ...JSON.parse(JSON.stringify(detail ?? {})) }));
    const state = await window.chat.resume();
    window.list = state.messages;
    return state;
"""
SAY = """
    const [id, text, role, streaming] = args;
    const others = window.list.filter((message) => message.id !== id);
    const at = window.list.findIndex((message) => message.id === id);
    const message = { id, role, text };
    if (at < 0) window.list = [...window.list, message];
    else window.list = window.list.map((one) => (one.id === id ? message : one));
    window.chat.save(window.list, { streaming });
"""


class Frontend:
    """One page with the module, in the browser's present tab."""

    def __init__(self, browser: Browser, server: LiveServer, user: User, *, project: str = "") -> None:
        browser.sign_in_as(user, server.url)
        self.browser, self.server, self.user = browser, server, user
        self.project = project or f"/home/{user.username}/{uuid.uuid4()}"

    def load(self, **options: Any) -> Any:
        """(Re)load the page and resume."""
        self.browser.open(f"{self.server.url}/healthz")
        return self.begin(**options)

    def begin(self, **options: Any) -> Any:
        account = {"project": self.project, "auth": {"cookie": True, "user": self.user.username}, **options}
        return self.browser.run(CONNECT, "/static/js/stillhere.js", account)

    def say(self, message_id: str, text: str, *, role: str = "user", streaming: bool = False) -> None:
        self.browser.run(SAY, message_id, text, role, streaming)

    def waiting(self) -> list[dict[str, Any]]:
        """The requests that wait for their answer: their bodies."""
        script = "return window.chat._sessionClient.parts.queue.waiting.filter((entry) => entry.kept).map((entry) => entry.body);"
        bodies: list[dict[str, Any]] = self.browser.run(script)
        return bodies

    def settle(self) -> None:
        assert self.browser.run("return window.chat.settled(8000);"), "not everything was acknowledged"

    def texts(self) -> list[str]:
        texts: list[str] = self.browser.run(
            "return window.chat._sessionClient.parts.store.list().map((message) => message.text);"
        )
        return texts

    def heard(self, type: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.browser.run("return window.heard.filter(({ type }) => type === args[0]);", type)
        return found

    def saves(self) -> list[dict[str, Any]]:
        """The saves that left the browser since the last look: `{tab, beacon, …body}`."""
        posts = [sent for sent in self.browser.requests() if sent["method"] == "POST"]
        saves = [sent for sent in posts if sent["url"].endswith(("/changes", "/flush"))]
        return [{"tab": sent["tab"], "beacon": sent["url"].endswith("/flush"), **json.loads(sent["body"])} for sent in saves]


def stored(api: Callable[..., Any], frontend: Frontend) -> list[str]:
    """The texts that the server has."""
    answer = api(frontend.user).get(f"/resume?project={quote(frontend.project)}&quiet=1")
    return [message["text"] for message in answer.json()["messages"]] if answer.status_code == 200 else []
