"""The tab Agents and the page of keys in a real browser: live, with takeover, and accessible."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User

from tests.browser.accessibility import LIVE, assert_accessible
from tests.browser.driving import Browser
from tests.mcp.mcp_client import tool_call
from tests.memory.conftest import Memory
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
TOAST = "return [...document.querySelectorAll('#toasts .toast')].some((toast) => toast.textContent.includes(args[0]));"


@pytest.fixture
def memory(server: LiveServer, api: Callable[..., Any], alice: User, path: str) -> Memory:
    return Memory(api(alice), path)


def call(server: LiveServer, memory: Memory, path: str) -> None:
    asked = tool_call("session_store", {"action": "stats", "project": path})
    headers = {**asked["headers"], "Authorization": f"Bearer {memory.api.secret}"}
    assert httpx.post(f"{server.url}/mcp", headers=headers, json=asked["json"], timeout=30).status_code == 200


def test_calls_and_takeover_are_shown_as_they_happen(signed_in: Browser, server: LiveServer, memory: Memory, path: str) -> None:
    first, second = memory.start("claude"), memory.start("reviewer")
    signed_in.open(f"{server.url}/projects/{memory.project}/agents/")
    signed_in.until(LIVE)
    call(server, memory, path)
    signed_in.until("return document.querySelector('#calls code')?.textContent === 'session_store';")
    signed_in.until("return document.querySelector('#clients .chip.good') !== null;")
    assert_accessible(signed_in)
    signed_in.run("document.querySelector('#runs form[action*=takeover] button').click();")
    signed_in.until(TOAST, "Run 2 (reviewer) is the writer now. Run 1 (claude) only reads.")
    signed_in.until("return document.querySelector('#runs li .chip.good')?.parentElement.textContent.includes('reviewer');")
    assert memory.run(second["run_id"], "heartbeat").json()["mode"] == "writer"
    assert memory.run(first["run_id"], "heartbeat").json()["mode"] == "reader"
    assert signed_in.complaints() == []


@pytest.mark.slow
def test_a_key_is_marked_as_connected_while_its_page_is_open(
    signed_in: Browser, server: LiveServer, memory: Memory, path: str
) -> None:
    signed_in.open(f"{server.url}/keys/")
    assert signed_in.run("return document.querySelector('#key-list .chip.good');") is None
    call(server, memory, path)
    signed_in.until("return document.querySelector('#key-list .chip.good')?.textContent === 'connected';")
    assert_accessible(signed_in)
    assert signed_in.complaints() == []
