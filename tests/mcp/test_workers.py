"""No request depends on an earlier one, so any worker serves any client."""

from typing import Any

import pytest

from tests.mcp.mcp_client import HANDSHAKE, request, tool_call
from tests.support.live_server import LiveServer


def test_a_handshake_with_one_worker_and_calls_of_another(server: LiveServer, secret: str, plain: Any) -> None:
    plain.headers["Authorization"] = f"Bearer {secret}"
    hello = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    save = {"action": "save", "namespace": "n", "key": "k", "data": 1, "project": "/p"}
    with LiveServer() as other:
        begun = plain.post(f"{server.url}/mcp", **request("initialize", hello, version=HANDSHAKE))
        assert begun.json()["result"]["protocolVersion"] == HANDSHAKE
        ready = request("notifications/initialized", version=HANDSHAKE)
        del ready["json"]["id"]
        assert plain.post(f"{other.url}/mcp", **ready).status_code == 202
        assert len(plain.post(f"{other.url}/mcp", **request("tools/list", version=HANDSHAKE)).json()["result"]["tools"]) == 16
        saved = plain.post(f"{server.url}/mcp", **tool_call("session_store", save, version=HANDSHAKE))
        assert saved.json()["result"]["isError"] is False
        load = {"action": "load", "namespace": "n", "key": "k", "project": "/p"}
        found = plain.post(f"{other.url}/mcp", **tool_call("session_store", load, version=HANDSHAKE)).json()
        assert found["result"]["structuredContent"]["stored"]["value"] == 1


@pytest.mark.usefixtures("db")
def test_a_server_without_such_clients_does_not_load_the_library() -> None:
    """It takes seconds and 30 MB."""
    import subprocess
    import sys

    code = "import config.http.asgi, sys; print(sorted({name.split('.')[0] for name in sys.modules} & {'mcp', 'mcp_types'}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
