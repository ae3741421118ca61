"""Lines of one agent at standard input, forwarded to `/mcp` of a remote server; its answers, line by line.

While the server is away, calls are answered with an error that says so, and the next call tries again.
"""

import asyncio
import json
import signal
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
from mcp.shared.inbound import NAME_BEARING_METHODS, encode_header_value

from mcp_app.core.outcomes import FOR_A_PERSON
from mcp_app.protocol.messages import INVALID_REQUEST, PARSE_ERROR, id_of
from mcp_app.protocol.quick_calls import STATELESS, VERSION
from mcp_app.stdio.lines import Lines
from mcp_app.stdio.reader_notice import reader_notice
from mcp_app.stdio.remote_run import RemoteRun, refusal_of

STANDARD_INPUT = 0
AT_ONCE = 16
TIMEOUTS = httpx.Timeout(300, connect=5)
# A server that restarts is back within this time: nothing was sent to it yet, so to try again is safe.
RESTART_SECONDS, PAUSE_SECONDS = 5.0, 0.25
# What is under way when the input ends.
LAST_ANSWERS_SECONDS = 10.0
SERVER_AWAY = -32000
UNSENDABLE = "This message cannot be sent: its method, its name or its protocol version has characters that no header has."
AWAY = (
    "The Stillhere server does not answer ({reason}). {done} Go on with your work without it and repeat this call in a minute. "
    "If it still fails then, tell the person whose store this is."
)
NOT_SENT = "Nothing was saved or changed by this call."
NOT_KNOWN = "This call may or may not have been done."
# Of a proxy in front of the server, or of the server itself while it is full or ends.
PASSING = frozenset({502, 503, 504})


class Bridge:
    """`version`: of this program, for the server's log."""

    def __init__(self, http: httpx.AsyncClient, run: RemoteRun, project: str, version: str) -> None:
        self._http, self._run, self._project = http, run, project
        self._protocol = ""
        self._agent = f"stillhere/{version}"
        self._places = asyncio.Semaphore(AT_ONCE)

    async def serve(self, lines: AsyncIterator[str]) -> None:
        """Returns after the last answer, or soon after the input's end."""
        tasks: set[asyncio.Task[None]] = set()
        async for line in lines:
            await self._places.acquire()
            task = asyncio.create_task(self._answer(line))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            task.add_done_callback(lambda _: self._places.release())
            if '"initialize"' in line:  # It says which version all others use.
                await task
        if tasks:
            _, left = await asyncio.wait(tasks, timeout=LAST_ANSWERS_SECONDS)
            for task in left:
                task.cancel()

    async def _answer(self, line: str) -> None:
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            _say({"jsonrpc": "2.0", "id": None, "error": {"code": PARSE_ERROR, "message": "This line is no JSON."}})
            return
        if not isinstance(message, dict):
            message = {}
        try:
            await self._forward(line, message)
        except (httpx.LocalProtocolError, UnicodeError):
            _say_unsendable(message)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            _say_away(message, type(error).__name__, NOT_SENT)
        except (httpx.HTTPError, EOFError) as error:
            _say_away(message, type(error).__name__, NOT_KNOWN)

    async def _forward(self, line: str, message: dict[str, Any]) -> None:
        until = time.monotonic() + RESTART_SECONDS
        while True:
            request = self._http.build_request(
                "POST", "/mcp", params={"project": self._project}, content=line.encode(), headers=self._headers(message)
            )
            try:
                answer = await self._http.send(request, stream=True)
                break
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(PAUSE_SECONDS)
        try:
            await self._pass_on(answer, message)
        finally:
            await answer.aclose()

    async def _pass_on(self, answer: httpx.Response, message: dict[str, Any]) -> None:
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            await self._pass_on_events(answer, message)
            return
        content = await answer.aread()
        said = _json_of(content)
        if isinstance(said, dict) and "jsonrpc" in said:
            if said.get("id") is None:
                said["id"] = message.get("id")
                _say(said)
            elif self._learn(message, said):
                _say(said)
            else:
                _write(content)  # As it is: numbers keep their notation.
        elif answer.status_code in PASSING:
            _say_away(message, f"HTTP {answer.status_code}", NOT_SENT if answer.status_code == 503 else NOT_KNOWN)
        elif answer.is_error or "id" in message:
            code, reason = refusal_of(answer)
            _say_refusal(message, code or "unexpected_answer", f"{reason} {FOR_A_PERSON}")

    async def _pass_on_events(self, answer: httpx.Response, message: dict[str, Any]) -> None:
        """Raises EOFError if the stream ends before the answer."""
        ended = False
        async for line in answer.aiter_lines():
            content = line.removeprefix("data:").encode() if line.startswith("data:") else b""
            said = _json_of(content)
            if isinstance(said, dict):
                ended = ended or ("id" in said and "method" not in said)
                _write(content)
        if not ended:
            raise EOFError

    def _learn(self, message: dict[str, Any], said: dict[str, Any]) -> bool:
        """The version that both agreed on. The agent is told if it is a reader: then `said` is changed."""
        result = said.get("result")
        if not isinstance(result, dict):
            return False
        if message.get("method") == "initialize":
            self._protocol = str(result.get("protocolVersion", ""))
            self._name_client((message.get("params") or {}).get("clientInfo"))
        notice = reader_notice(self._run.writer)
        if not notice or not isinstance(result.get("instructions"), str):
            return False
        result["instructions"] += f" {notice}"
        return True

    def _name_client(self, client: Any) -> None:
        """In the header that says who calls: clients with a handshake name themselves only once."""
        if isinstance(client, dict):
            said = f"{client.get('name', '')}/{client.get('version', '')}"
            self._agent = f"{self._agent} ({''.join(filter(str.isprintable, said.encode('ascii', 'replace').decode()))[:200]})"

    def _headers(self, message: dict[str, Any]) -> dict[str, str]:
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        version = (meta.get(VERSION) if isinstance(meta, dict) else None) or self._protocol
        headers = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "user-agent": self._agent,
            **({"mcp-protocol-version": str(version)} if version else {}),
            **({"stillhere-run": self._run.id} if self._run.id else {}),
        }
        method = message.get("method")
        if version == STATELESS and isinstance(method, str):
            headers["mcp-method"] = encode_header_value(method)
            name = params.get(NAME_BEARING_METHODS.get(method, ""))
            if isinstance(name, str):
                headers["mcp-name"] = encode_header_value(name)
        return headers


async def serve(http: httpx.AsyncClient, run: RemoteRun, project: str, version: str) -> None:
    """Until the input ends or the process is told to end."""
    lines, loop = Lines(STANDARD_INPUT), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lines.end)
    async with http:
        await Bridge(http, run, project, version).serve(aiter(lines))


def _say(message: dict[str, Any]) -> None:
    _write(json.dumps(message, separators=(",", ":")).encode())


def _write(content: bytes) -> None:
    """JSON as one line, in one write: answers of several calls must not mix."""
    sys.stdout.buffer.write(content.replace(b"\n", b" ") + b"\n")
    sys.stdout.buffer.flush()


def _say_away(message: dict[str, Any], reason: str, done: str) -> None:
    _say_refusal(message, "server_away", AWAY.format(reason=reason, done=done))


def _say_unsendable(message: dict[str, Any]) -> None:
    if "id" in message:
        _say({"jsonrpc": "2.0", "id": id_of(message), "error": {"code": INVALID_REQUEST, "message": UNSENDABLE}})


def _say_refusal(message: dict[str, Any], code: str, text: str) -> None:
    """As a tool would, if one was called, so that the model reads it. A notification is not answered."""
    if "id" not in message:
        return
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    if message.get("method") == "tools/call":
        content = [{"type": "text", "text": f"{text} (code: {code})"}]
        error = {"error": {"code": code, "message": text, "details": {}}}
        answer["result"] = {"content": content, "structuredContent": error, "isError": True, "resultType": "complete"}
    else:
        answer["error"] = {"code": SERVER_AWAY, "message": text, "data": {"code": code}}
    _say(answer)


def _json_of(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None
