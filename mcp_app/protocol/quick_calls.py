"""Calls of tools that need nothing of the protocol's library, which costs several times what the call itself does.

Only well-formed calls are answered here, in exactly the form in which the library would (`tests/mcp/test_quick_calls.py`).
Everything else, above all what has to be refused, is left to the library.
"""

from collections.abc import Mapping
from typing import Any

from mcp_app.core.calls import Call
from mcp_app.core.outcomes import Outcome
from mcp_app.core.recording import CLIENT
from mcp_app.core.tool import Tool, run_tool
from mcp_app.tools.catalog import TOOLS
from sessions_app.core.serialization.json_text import json_text

STATELESS = "2026-07-28"
# Versions with a handshake whose answers have structured content.
HANDSHAKES = frozenset({"2025-06-18", "2025-11-25"})
_META = "io.modelcontextprotocol/"
VERSION, _CAPABILITIES = f"{_META}protocolVersion", f"{_META}clientCapabilities"
_JSON = "application/json"


def quick_tool(headers: Mapping[str, str], message: Any) -> Tool | None:
    """The tool that this request calls; None: leave it to the library. `headers` by their names in small letters."""
    if not isinstance(message, dict) or message.keys() != {"jsonrpc", "id", "method", "params"}:
        return None
    params, number = message["params"], message["id"]
    if message["jsonrpc"] != "2.0" or message["method"] != "tools/call" or not isinstance(params, dict):
        return None
    if isinstance(number, bool) or not isinstance(number, int | str):
        return None
    if not params.keys() <= {"name", "arguments", "_meta"} or not isinstance(params.get("arguments", {}), dict):
        return None
    name = params.get("name")
    tool = TOOLS.get(name) if isinstance(name, str) else None
    return tool if tool is not None and _is_plain(headers, params) else None


def quick_answer(tool: Tool, call: Call, headers: Mapping[str, str], message: Any, server: dict[str, str]) -> bytes:
    """Runs the tool. `server`: who answers, as versions without a handshake say it."""
    outcome = run_tool(tool, call, message["params"].get("arguments", {}))
    result = shape_of(outcome)
    if headers["mcp-protocol-version"] == STATELESS:
        result |= {"resultType": "complete", "_meta": {f"{_META}serverInfo": server}}
    return json_text({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()


def shape_of(outcome: Outcome) -> dict[str, Any]:
    """The result of a call, as all versions have it."""
    return {
        "content": [{"type": "text", "text": outcome.whole_text}],
        "structuredContent": outcome.data,
        "isError": outcome.is_error,
    }


def _is_plain(headers: Mapping[str, str], params: dict[str, Any]) -> bool:
    if _JSON not in headers.get("accept", "") or not headers.get("content-type", "").startswith(_JSON):
        return False
    if any(name.startswith("mcp-param-") for name in headers):
        return False
    version, meta = headers.get("mcp-protocol-version"), params.get("_meta", {})
    if not isinstance(meta, dict):
        return False
    if version in HANDSHAKES:
        return not meta
    return version == STATELESS and headers.get("mcp-method") == "tools/call" and _is_envelope(headers, params["name"], meta)


def _is_envelope(headers: Mapping[str, str], name: str, meta: dict[str, Any]) -> bool:
    capabilities, client = meta.get(_CAPABILITIES), meta.get(CLIENT, {"name": "", "version": ""})
    return (
        headers.get("mcp-name") == name
        and meta.get(VERSION) == STATELESS
        and meta.keys() <= {VERSION, _CAPABILITIES, CLIENT}
        and isinstance(capabilities, dict)
        and all(isinstance(value, dict) for value in capabilities.values())
        and isinstance(client, dict)
        and all(isinstance(client.get(field), str) for field in ("name", "version"))
    )
