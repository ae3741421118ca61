"""Clients of `/mcp`: the official one, for tests that are not asynchronous, and plain requests of both kinds of protocol."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

import httpx
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from mcp_app.tools.catalog import TOOLS

HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class McpClient:
    """`official`: the library makes the calls, each in a connection of its own, and checks every answer by its tool's schema;
    else they are plain requests, which cost much less. `mode`: "legacy" begins with a handshake; a version goes without."""

    def __init__(self, url: str, key: str, *, project: str = "", mode: Any = STATELESS, official: bool = False) -> None:
        self._official = official
        self._url = f"{url}/mcp?project={quote(project, safe='')}" if project else f"{url}/mcp"
        self._headers, self._mode = {"Authorization": f"Bearer {key}"}, mode

    def run[T](self, work: Callable[[Client], Awaitable[T]]) -> T:
        """What the library answers."""

        async def connected() -> T:
            async with (
                httpx2.AsyncClient(headers=self._headers, timeout=60) as http,
                Client(streamable_http_client(self._url, http_client=http), mode=self._mode) as client,
            ):
                return await work(client)

        return asyncio.run(connected())

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured content of an accepted call."""
        answer = self.answer(tool, **arguments)
        assert not answer["isError"], answer["content"]
        found: dict[str, Any] = answer["structuredContent"]
        return found

    def refusal(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured content of a refused call."""
        answer = self.answer(tool, **arguments)
        assert answer["isError"], answer["structuredContent"]
        found: dict[str, Any] = answer["structuredContent"]
        return found

    def answer(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The whole result."""
        if self._official:
            return dict(self.run(lambda client: client.call_tool(tool, arguments)).model_dump(mode="json", by_alias=True))
        asked = tool_call(tool, arguments)
        asked["headers"] |= self._headers
        found: dict[str, Any] = httpx.post(self._url, timeout=60, **asked).json()["result"]
        return found


def request(method: str, params: dict[str, Any] | None = None, *, version: str = STATELESS, number: int = 1) -> dict[str, Any]:
    """The arguments of a plain POST for httpx: headers and body."""
    params = dict(params or {})
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": version}
    if version == STATELESS:
        params["_meta"] = {**META, **params.get("_meta", {})}
        headers["Mcp-Method"] = method
        if name := params.get("name") or params.get("uri"):
            headers["Mcp-Name"] = name
    return {"headers": headers, "json": {"jsonrpc": "2.0", "id": number, "method": method, "params": params}}


def tool_call(tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    return request("tools/call", {"name": tool, "arguments": arguments}, **more)


# A call of each tool that succeeds, in an order in which each finds what it needs.
FINGERPRINT = "{fingerprint}"
_SAID = [{"id": "m1", "role": "user", "text": "What was decided?"}]
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("load_session_context", {}),
    ("session_save", {"messages": _SAID, "session_id": "first"}),
    ("session_resume", {}),
    ("session_read", {"session_id": "first", "around": "m1", "budget": 500}),
    ("session_search", {"query": "decided"}),
    ("session_brief", {"budget": 500}),
    ("session_store", {"action": "save", "namespace": "notes", "key": "db", "data": {"engine": "sqlite"}}),
    ("session_store", {"action": "load", "namespace": "notes", "key": "db"}),
    ("session_store", {"action": "list"}),
    ("session_store", {"action": "stats"}),
    ("session_store", {"action": "delete", "namespace": "notes", "key": "db"}),
    ("ai_state_save", {"ai_id": "claude", "working_notes": "half done", "session_id": "first"}),
    ("ai_state_get", {"ai_id": "claude", "session_id": "first"}),
    ("ai_state_list", {"session_id": "first"}),
    ("ai_state_transfer", {"ai_id": "claude", "from_session": "first", "to_session": "second"}),
    ("handoff_add", {"kind": "decision", "text": "SQLite first"}),
    ("handoff_get", {}),
    ("handoff_freeze", {}),
    ("error_record", {"message": "KeyError: 'name'"}),
    ("error_resolve", {"fingerprint": FINGERPRINT, "known_fix": "use get"}),
]


def call_every_tool(call: Callable[[str, dict[str, Any]], Any]) -> None:
    """`call(name, arguments)`: the result, as the protocol has it."""
    fingerprint, answered = "", set()
    for name, arguments in CALLS:
        given = {key: fingerprint if value == FINGERPRINT else value for key, value in arguments.items()}
        result = call(name, given)
        assert not result.get("isError"), (name, result)
        assert result["content"][0]["text"], name
        fingerprint = result["structuredContent"].get("fingerprint", fingerprint)
        answered.add(name)
    assert answered == TOOLS.keys()
