"""`/mcp`: the Model Context Protocol over HTTP. What the API checks is checked here; then the protocol's library answers.

The library is imported at the first request: it takes seconds and 30 MB, which a server without such clients need not have.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from functools import cache
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from config.http.refusals import default_headers
from config.http.request_body import Receive
from config.http.request_log import Message, RequestRecord
from mcp_app.core.asked import ASKED, Asked, implementation
from mcp_app.core.calls import Call
from mcp_app.core.recording import client_of, record_client
from mcp_app.models.activity import AGENT_LENGTH
from mcp_app.protocol.endpoint import Endpoint
from mcp_app.protocol.messages import INVALID_REQUEST, PARSE_ERROR, id_of, wrong_message
from mcp_app.protocol.quick_calls import quick_answer, quick_tool
from memory_app.core.run_header import run_named
from sessions_app.accounts.authentication import caller_of_header
from sessions_app.core.errors import AppError, Forbidden, MethodNotAllowed, Unauthorized
from sessions_app.core.limits import rate_limits
from sessions_app.core.serialization import strict_json
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.web.product_version import version
from sessions_app.frontends.sockets.authentication import Handshake, is_own_origin, scheme_of
from sessions_app.models import Caller

PATH = "/mcp"
PROGRESS = b'"progressToken"'
# Status, what the log says, content.
Quick = tuple[int, str, bytes]
Submit = Callable[[Callable[[], Any]], "Future[Any]"]


class UnknownHost(AppError):
    status, code = 421, "unknown_host"
    message = "This server does not answer under this name. Use its own address; the operator sets STILLHERE_ALLOWED_HOSTS."


class ForeignOrigin(Forbidden):
    code = "foreign_origin"
    message = "Pages of this origin may not call this server. The operator lists others in STILLHERE_CORS_ORIGINS."


class NotEncrypted(Forbidden):
    code, message = "not_encrypted", "Use https: a key that is sent without it can be read on its way."


class NoMethod(MethodNotAllowed):
    def __init__(self) -> None:
        super().__init__("This address takes POST alone: nothing is pushed without a request.", details={"allow": ["POST"]})


class McpRequests:
    """`make_server`: another server of the library than ours, for tests of the protocol. `quick`: whether calls that do not need
    the library are answered without it."""

    def __init__(self, make_server: Callable[[], Any] | None = None, *, quick: bool = True) -> None:
        self._quick = quick
        self._endpoint = Endpoint(make_server or _make_server, max_body_bytes=settings.MAX_BODY_BYTES)

    def takes(self, scope: Message) -> bool:
        """A preflight request is Django's."""
        return bool(scope["path"] == PATH and scope["method"] != "OPTIONS")

    async def answer(self, scope: Message, body: bytes, receive: Receive, exchange: RequestRecord, submit: Submit) -> None:
        """Raises AppError for what is refused before the protocol begins."""
        shaken = _handshake(scope)
        _check_address(shaken)
        if scope["method"] != "POST":
            raise NoMethod
        call, message, body, quick = await asyncio.wrap_future(submit(lambda: self._begin(shaken, scope, body)))

        def note(tool: str) -> None:
            exchange.known(f"{PATH[1:]}/{tool}", call.caller.user_id)

        if quick is not None:
            status, tool, content = quick
            note(tool)
            await exchange.answer(status, _json_headers(scope, content), content)
            return
        exchange.known(PATH[1:], call.caller.user_id)
        scope[ASKED] = Asked(call, message, submit, note)
        await self._endpoint.handle(scope, body, receive, Answer(exchange, scope).send, streams=PROGRESS in body)

    def _begin(self, shaken: Handshake, scope: Message, body: bytes) -> tuple[Call, Any, bytes, Quick | None]:
        """In a thread of the database: who calls, what is asked, the same as the library reads it and, if that is not needed,
        the answer."""
        call = self.admit(shaken, len(body))
        try:
            message, replaced = strict_json.loads(body)
        except strict_json.UnreadableJson as error:
            return call, None, body, (400, "unreadable", _refusal(PARSE_ERROR, error.message))
        if wrong := wrong_message(message):
            return call, None, body, (400, "unreadable", _refusal(INVALID_REQUEST, wrong, id_of(message)))
        call = replace(call, client=client_of(message))
        if not (isinstance(message, dict) and message.get("method") == "tools/call"):
            record_client(call)
        if self._quick and len(shaken.headers) == len(scope["headers"]):
            tool = quick_tool(shaken.headers, message)
            if tool is not None:
                return call, message, body, (200, tool.name, quick_answer(tool, call, shaken.headers, message, _implementation()))
        # It takes halves of characters for a parse error.
        return call, message, json_text(message).encode() if replaced else body, None

    async def stop(self) -> None:
        await self._endpoint.stop()

    def admit(self, shaken: Handshake, size_bytes: int) -> Call:
        """Raises Unauthorized, RateExceeded."""
        caller = self.caller_of(shaken)
        rate_limits.spend(caller=caller, what="requests", limit=settings.RATE_REQUESTS)
        project = shaken.headers.get("x-stillhere-project") or shaken.query.get("project", "")
        run_id, user_agent = run_named(shaken.headers.get("stillhere-run", "")), shaken.headers.get("user-agent", "")
        return Call(caller, _decoded(project), run_id, size_bytes, user_agent=user_agent[:AGENT_LENGTH])

    def caller_of(self, shaken: Handshake) -> Caller:
        caller = caller_of_header(shaken.headers.get("authorization", ""))
        if caller is None:
            raise Unauthorized("Send an API key of yours as `Authorization: Bearer sh_…`. The page /keys/ makes one.")
        return caller


class Answer:
    """Sends what the library sends, with our headers; a whole answer in one piece."""

    def __init__(self, exchange: RequestRecord, scope: Message) -> None:
        self._exchange, self._scope = exchange, scope
        self._start: Message | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {name.lower() for name, _ in message["headers"]}
            ours = [header for header in default_headers(self._scope) if header[0] not in names]
            self._start = {**message, "headers": [*message["headers"], *ours]}
        elif self._start is not None and not message.get("more_body"):
            start, self._start = self._start, None
            await self._exchange.answer(start["status"], start["headers"], message.get("body", b""))
        else:
            if self._start is not None:
                start, self._start = self._start, None
                await self._exchange.send(start)
            await self._exchange.send({"body": b"", **message})


def _make_server() -> Any:
    from mcp_app.protocol.server import make_server

    return make_server(version())


def _handshake(scope: Message) -> Handshake:
    """What the request says. Unlike a socket's it stays in the scope, which the library reads.

    The white space around values is no part of them (RFC 9110, 5.5), but the parser leaves it at their ends.
    """
    scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
    query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    return Handshake(scope.get("scheme", "http"), {name: values[-1] for name, values in query.items()}, headers)


def _check_address(shaken: Handshake) -> None:
    """Against pages that reach this server under another name, or from another origin."""
    domain, _ = split_domain_port(shaken.headers.get("host", ""))
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        raise UnknownHost
    origin = shaken.headers.get("origin")
    if origin is not None and not is_own_origin(shaken) and origin not in settings.CORS_ALLOWED_ORIGINS:
        raise ForeignOrigin
    if settings.SECURE_SSL_REDIRECT and scheme_of(shaken) != "https":
        raise NotEncrypted


def _decoded(project: str) -> str:
    """A header's bytes as text: paths may have any letters."""
    try:
        return strict_json.clean_text(project.encode("latin-1").decode())
    except UnicodeError:
        return strict_json.clean_text(project)


def _json_headers(scope: Message, content: bytes) -> list[tuple[bytes, bytes]]:
    length = (b"content-length", str(len(content)).encode())
    return [(b"content-type", b"application/json"), length, *default_headers(scope)]


@cache
def _implementation() -> dict[str, str]:
    return implementation(version())


def _refusal(code: int, message: str, own_id: str | int | None = None) -> bytes:
    """In the form of the protocol."""
    return json_text({"jsonrpc": "2.0", "id": own_id, "error": {"code": code, "message": message}}).encode()
