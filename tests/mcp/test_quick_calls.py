"""Calls that do not go through the protocol's library get exactly the answer that it would have given."""

from typing import Any

import httpx
import pytest

from config.http import mcp as mcp_requests
from mcp_app.protocol import quick_calls
from tests.mcp.mcp_client import HANDSHAKE, STATELESS, tool_call
from tests.support.live_server import LiveServer

SAVE = {"action": "save", "namespace": "notes", "key": "k", "data": {"text": "ä <b>", "n": 1.5}}
OF_THIS_ANSWER = {"date", "x-request-id"}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("session_store", SAVE | {"data": 2}),
    ("session_store", {"action": "load", "namespace": "notes", "key": "k"}),
    ("session_store", {"action": "load", "namespace": "notes", "key": "none"}),
    ("session_store", {"action": "burn"}),
    ("ai_state_get", {"ai_id": "claude", "session_id": "none"}),
    ("handoff_get", {}),
]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tools that were answered without the library."""
    told: list[str] = []

    def watched(tool: Any, *rest: Any) -> bytes:
        told.append(tool.name)
        return quick_calls.quick_answer(tool, *rest)

    monkeypatch.setattr(mcp_requests, "quick_answer", watched)
    return told


@pytest.mark.parametrize("version", [HANDSHAKE, STATELESS])
def test_both_ways_answer_alike(server: LiveServer, secret: str, plain: Any, quick: list[str], version: str) -> None:
    plain.base_url, plain.headers["Authorization"] = f"{server.url}/mcp?project=/alike", f"Bearer {secret}"
    first = plain.post("", **tool_call("session_store", SAVE, version=version))
    assert (first.status_code, quick) == (200, ["session_store"])
    for tool, arguments in CALLS:
        asked = tool_call(tool, arguments, version=version)
        quickly = plain.post("", **asked)
        asked["headers"]["Accept"] = "text/event-stream, */*"  # For the library it is the same.
        slowly = plain.post("", **asked)
        assert (quickly.status_code, quickly.json()) == (slowly.status_code, slowly.json())
        assert headers_of(quickly) == headers_of(slowly)
    assert quick == ["session_store", *(tool for tool, _ in CALLS)]


def headers_of(answer: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name not in OF_THIS_ANSWER}


def test_what_is_not_well_formed_is_left_to_the_library() -> None:
    good = tool_call("session_brief", {})
    headers = {name.lower(): value for name, value in good["headers"].items()} | {"content-type": "application/json"}
    assert quick_calls.quick_tool(headers, good["json"]) is not None
    for wrong in (
        {**good["json"], "id": None},
        {**good["json"], "id": True},
        {**good["json"], "jsonrpc": "1.0"},
        {**good["json"], "method": "tools/list"},
        {**good["json"], "params": {**good["json"]["params"], "name": "none"}},
        {**good["json"], "params": {**good["json"]["params"], "_meta": {}}},
        {**good["json"], "params": {**good["json"]["params"], "arguments": []}},
        [good["json"]],
    ):
        assert quick_calls.quick_tool(headers, wrong) is None
    for name, value in (
        ("mcp-name", "session_read"),
        ("mcp-method", "tools/list"),
        ("mcp-protocol-version", HANDSHAKE),
        ("mcp-protocol-version", "2024-11-05"),
        ("accept", "text/plain"),
        ("content-type", "text/plain"),
        ("mcp-param-x", "1"),
    ):
        assert quick_calls.quick_tool(headers | {name: value}, good["json"]) is None
