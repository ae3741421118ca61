"""Older messages that are read while others change them: the page shows them as they are, and not what was removed."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.browser.driving import Browser, wait_for
from tests.browser.frontends import Frontend
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
# What the server answered to the first such request reaches the page when the test lets it.
LATE_ANSWER = """
    const send = window.fetch;
    const held = new Promise((resolve) => { window.deliver = resolve; });
    window.fetch = async (url, options) => {
      const isHeld = String(url).includes(args[0]) && !window.answered;
      const answer = await send(url, options);
      if (isHeld) { window.answered = true; await held; }
      return answer;
    };
"""
ANSWERED = "return window.answered === true;"


@pytest.fixture
def long(server: LiveServer, api: Callable[..., Any], alice: User) -> Chat:
    chat = Chat(api(alice), project="/home/alice/long")
    for start in (0, 150):
        chat.ops(*({"op": "upsert", "id": f"m{n}", "role": "user", "text": f"line {n}"} for n in range(start, start + 150)))
    return chat


def test_a_page_of_a_frontend(browser: Browser, server: LiveServer, alice: User, long: Chat) -> None:
    page = Frontend(browser, server, alice, project=long.project)
    page.load()
    assert page.texts()[0] == "line 100"
    browser.run(LATE_ANSWER, "before=")
    browser.run("window.older = chat.older(); window.twice = chat.older();")
    browser.until(ANSWERED)
    long.say("m50", "another line")
    long.ops({"op": "delete", "id": "m60"})
    rev = long.read()["session"]["rev"]
    browser.until("return chat._sessionClient.parts.state.baseRev >= args[0];", rev)
    state = browser.run("deliver(); await window.twice; return await window.older;")
    texts = [message["text"] for message in state["messages"]]
    assert (texts[50], "line 60" in texts, len(texts)) == ("another line", False, 299)
    assert (state["total"], state["more"]) == (299, False)


def test_a_session_s_own_page(signed_in: Browser, server: LiveServer, long: Chat) -> None:
    signed_in.open(f"{server.url}/sessions/{long.id}/")
    signed_in.run(LATE_ANSWER, "before=")
    signed_in.run("scrollTo(0, 0);")
    signed_in.until(ANSWERED)
    shown = signed_in.run("return document.querySelector('#transcript article').dataset.id;")
    number = int(shown[1:])
    long.say(f"m{number - 5}", "another line")
    long.ops({"op": "delete", "id": f"m{number - 8}"})
    long.say("last", "the last line")
    signed_in.until("return Boolean(document.querySelector('[data-id=last]'));")
    signed_in.run("deliver();")
    signed_in.until("return Boolean(document.querySelector(`[data-id=${args[0]}]`));", f"m{number - 1}")
    text = "return document.querySelector(`[data-id=${args[0]}] .words`)?.textContent.trim() ?? '';"
    wait_for(lambda: signed_in.run(text, f"m{number - 5}") == "another line", 5)
    assert signed_in.run(text, f"m{number - 8}") == ""
