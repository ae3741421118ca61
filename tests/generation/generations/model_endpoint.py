"""An OpenAI-compatible endpoint on loopback that does what the newest question says.

`say 20`: so many words, `w0 w1 …`, 20 ms apart. `say 20 break 5`: hangs up after five. `say 20 slow`: 100 ms apart. `refuse 500`:
this status. `busy 1`: 503 once, then three words. `redirect`: elsewhere. `call`: three words and a tool call. `odd`: three words,
a NUL and half a character. Asked to continue, it goes on where the assistant's text ends.
"""

import json
import re
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

GAP_SECONDS, SLOW_SECONDS = 0.02, 0.1
ODD = "a\x00b \ud83d."


class ModelEndpoint:
    """`asked`: the bodies of all requests, in order."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.asked.append({**body, "path": self.path, "key": self.headers.get("Authorization")})
                _answer(self, body["messages"], len(endpoint.asked_about(_command(body["messages"]))))

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def asked_about(self, question: str) -> list[dict[str, Any]]:
        return [body for body in self.asked if _command(body["messages"]) == question]

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()


def words(count: int) -> str:
    return "".join(f"w{number} " for number in range(count))


def _command(messages: list[dict[str, Any]]) -> str:
    """The newest question that is one: what asks to continue is not."""
    asked = [message["content"] for message in messages if message["role"] == "user"]
    return str(next((text for text in reversed(asked) if not text.startswith("Continue")), ""))


def _answer(handler: BaseHTTPRequestHandler, messages: list[dict[str, Any]], times: int) -> None:
    command = _command(messages)
    number = int(found[1]) if (found := re.search(r"(?:say|refuse|busy) (\d+)", command)) else 3
    if command.startswith("refuse") or (command.startswith("busy") and times <= number):
        handler.send_error(503 if command.startswith("busy") else number)
        return
    if command.startswith("redirect"):
        handler.send_response(307)
        handler.send_header("Location", "/elsewhere")
        handler.end_headers()
        return
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.end_headers()
    with suppress(OSError):  # The server that asked is gone.
        _speak(handler, command, 3 if command.startswith("busy") else number, _said_already(messages))


def _said_already(messages: list[dict[str, Any]]) -> int:
    last = [message["content"] for message in messages[-2:] if message["role"] == "assistant"]
    return len(last[0].split()) if last and messages[-1]["content"].startswith("Continue") else 0


def _speak(handler: BaseHTTPRequestHandler, command: str, count: int, said: int) -> None:
    breaks = int(found[1]) if (found := re.search(r"break (\d+)", command)) and not said else None
    for number in range(said, count):
        if number == breaks:
            return
        _send(handler, {"content": f"w{number} "})
        time.sleep(SLOW_SECONDS if "slow" in command else GAP_SECONDS)
    if command.startswith("odd"):
        _send(handler, {"content": ODD})
    if command.startswith("call"):
        call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q":'}}
        _send(handler, {"reasoning_content": "hm", "tool_calls": [call]})
        _send(handler, {"tool_calls": [{"index": 0, "function": {"arguments": ' "cat"}'}}]})
    _send(handler, {}, "stop")
    handler.wfile.write(b"data: [DONE]\n\n")


def _send(handler: BaseHTTPRequestHandler, delta: dict[str, Any], reason: str | None = None) -> None:
    chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    handler.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    handler.wfile.flush()
