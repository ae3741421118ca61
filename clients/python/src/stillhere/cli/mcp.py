"""`mcp`: messages of one agent at standard input, forwarded to `/mcp` of the server; its answers at standard output.

Each message is a line of JSON. While the server is away, calls are answered with an error that says so.
"""

import base64
import json
import os
import re
import signal
import sys
import threading
from argparse import Namespace
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, BinaryIO

import httpx

from stillhere.cli.run import Run
from stillhere.client import Client

AT_ONCE = 16
ENDING_SECONDS = 3.0
# Without an answer, when the input has ended.
LAST_ANSWERS_SECONDS = 10.0
TIMEOUTS = httpx.Timeout(300, connect=5)
PARSE_ERROR, INVALID_REQUEST, SERVER_AWAY = -32700, -32600, -32000
AWAY = "The Stillhere server does not answer ({reason}). Continue without it and repeat this call in a minute."
WRONG_KEY = (
    "The Stillhere server refuses the key in STILLHERE_KEY (HTTP 401): it is wrong or was revoked. Continue without the server, "
    "and tell the user."
)
REFUSED = "The Stillhere server refuses this (HTTP {status}): {message}"
ELSEWHERE = "What answers at STILLHERE_URL is no Stillhere server (HTTP {status}). Continue without it, and tell the user."
UNSENDABLE = "This message cannot be sent: its method, its name or its protocol version has characters that no header has."
VERSION = "io.modelcontextprotocol/protocolVersion"
# In which parameter a method names what it is about.
_NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")


def serve(given: Namespace) -> int:
    """Until the input ends, SIGTERM or Ctrl-C."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    with (
        Client(given.url, None, given.project, retry_seconds=5) as client,
        Run(client, given.agent) as run,
        client.connection.raw(TIMEOUTS) as http,
    ):
        unanswered = Bridge(http, run, given.project, sys.stdout.buffer).serve(sys.stdin.buffer)
        ending = _end_soon(0)
    if not unanswered:
        ending.cancel()
    return 0


def _end(number: int, frame: object) -> None:
    _end_soon(128 + number)
    raise SystemExit(128 + number)


def _end_soon(code: int) -> threading.Timer:
    """What is on its way, and the end of the run, have a moment: a silent server does not hold the process."""
    ending = threading.Timer(ENDING_SECONDS, os._exit, [code])
    ending.daemon = True
    ending.start()
    return ending


class Bridge:
    """`http`: has the server's address and the key. `project`: its path or id."""

    def __init__(self, http: httpx.Client, run: Run, project: str, output: BinaryIO) -> None:
        self._http, self._run, self._project, self._output = http, run, project, output
        self._protocol = ""
        self._lock = threading.Lock()

    def serve(self, lines: Iterable[bytes]) -> int:
        """Returns after the last answer, or some seconds after the input's end if none comes any more: how many there are not."""
        threads, waiting = ThreadPoolExecutor(AT_ONCE, "stillhere-mcp"), set[Future[None]]()
        unanswered = 0
        try:
            for line in lines:
                if not line.strip():
                    continue
                if b'"initialize"' in line:  # It says which version all others use.
                    self._answer(line)
                else:
                    waiting.add(asked := threads.submit(self._answer, line))
                    asked.add_done_callback(waiting.discard)
            while (left := list(waiting)) and wait(left, LAST_ANSWERS_SECONDS, FIRST_COMPLETED).done:
                pass
            unanswered = len(left)
        finally:
            threads.shutdown(wait=not unanswered, cancel_futures=bool(unanswered))
        return unanswered

    def _answer(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._say({"jsonrpc": "2.0", "id": None, "error": {"code": PARSE_ERROR, "message": "This line is no JSON."}})
            return
        message = message if isinstance(message, dict) else {}
        try:
            self._forward(line, message)
        except (httpx.LocalProtocolError, UnicodeError):
            self._refuse(message, UNSENDABLE, INVALID_REQUEST)
        except httpx.HTTPError as error:
            self._refuse(message, AWAY.format(reason=type(error).__name__))

    def _forward(self, line: bytes, message: dict[str, Any]) -> None:
        query = {"project": self._project}
        with self._http.stream("POST", "/mcp", params=query, content=line, headers=self._headers(message)) as answer:
            answered = False
            if answer.headers.get("content-type", "").startswith("text/event-stream"):
                for row in answer.iter_lines():
                    if row.startswith("data:"):
                        answered = self._pass_on(row.removeprefix("data:"), message) or answered
                refusal = AWAY.format(reason="its answer was cut off")
            else:
                content = answer.read()
                answered = self._pass_on(content.decode(errors="replace"), message)
                refusal = _refusal_of(answer.status_code, content)
            if not answered:
                self._refuse(message, refusal)

    def _pass_on(self, text: str, message: dict[str, Any]) -> bool:
        """False: it was no answer."""
        try:
            said = json.loads(text)
        except ValueError:
            return False
        if not isinstance(said, dict) or "jsonrpc" not in said:
            return False
        if message.get("method") == "initialize" and isinstance(said.get("result"), dict):
            self._protocol = str(said["result"].get("protocolVersion", ""))
        if "id" in said and said["id"] is None and "id" in message:  # The server could not read it.
            self._say({**said, "id": message["id"]})
        else:
            self._write(text.encode())  # As it is: numbers keep their notation.
        return "method" not in said

    def _headers(self, message: dict[str, Any]) -> dict[str, str]:
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        stateless = meta.get(VERSION) if isinstance(meta, dict) else None
        headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        if version := stateless or self._protocol:
            headers["mcp-protocol-version"] = str(version)
        if self._run.id is not None:
            headers["stillhere-run"] = self._run.id
        method = message.get("method")
        if stateless and isinstance(method, str):
            headers["mcp-method"] = _header(method)
            if isinstance(name := params.get(_NAMES.get(method, "")), str):
                headers["mcp-name"] = _header(name)
        return headers

    def _refuse(self, message: dict[str, Any], text: str, code: int = SERVER_AWAY) -> None:
        """A notification is not answered."""
        if "id" in message:
            self._say({"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": text}})

    def _say(self, message: dict[str, Any]) -> None:
        self._write(json.dumps(message).encode())

    def _write(self, content: bytes) -> None:
        with self._lock:  # Answers of several calls must not mix.
            self._output.write(content.replace(b"\n", b" ") + b"\n")
            self._output.flush()


def _header(value: str) -> str:
    """What is no plain ASCII is written in base64, as the protocol wants it."""
    if _PLAIN.fullmatch(value) and not value.startswith("=?base64?"):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def _refusal_of(status: int, content: bytes) -> str:
    """What is said of an answer that is no message of the protocol."""
    if status == httpx.codes.UNAUTHORIZED:
        return WRONG_KEY
    if status >= 500:
        return AWAY.format(reason=f"HTTP {status}")
    try:
        return REFUSED.format(status=status, message=json.loads(content)["error"]["message"])
    except (ValueError, KeyError, TypeError):  # Not its own, but that of a proxy or of something else.
        return (AWAY if status in {408, 429} else ELSEWHERE).format(status=status, reason=f"HTTP {status}")
