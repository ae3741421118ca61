"""HTTP from ASGI into Django's synchronous handler, in a bounded pool of long-lived threads.

Django's own ASGI handler gives every request a new thread and a new database connection, and cancels a view whose
client has gone. Here the threads and their connections live on, a request that was received whole runs to its end
whether or not anyone still waits, and what is too big or too much is refused before Django sees it.
"""

import asyncio
import io
import logging
import re
from collections.abc import Awaitable, Callable, Iterable
from contextlib import ExitStack, closing
from typing import Any

import orjson
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.core.signals import request_started
from django.db import connection
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse

from config.exchange import Exchange, Message, Send
from config.logs import request_id
from config.together import SavesTogether, is_small_save
from sessions_app.errors import AppError, BadRequest, TooLarge, Unavailable
from sessions_app.live.threads import DatabaseThreads

Receive = Callable[[], Awaitable[Message]]
# Status, headers, content (None: it was streamed).
Answered = tuple[int, list[tuple[bytes, bytes]], bytes | None]
EXCHANGE = "stillhere.exchange"
BODY_SECONDS = 60
BODIES_IN_MEMORY = 64_000_000
# A client that takes nothing of a stream for so long has gone, whatever its connection says.
STALLED_SECONDS = 60
IMPORT = "/api/v1/import"
logger = logging.getLogger(__name__)


class BodyTooLarge(TooLarge):
    def __init__(self, limit: int, path: str) -> None:
        hint = "A larger file goes in by command: manage.py import --user NAME FILE." if path == IMPORT else "Split it."
        super().__init__(f"A request has at most {limit} bytes. {hint}", code="body_too_large", details={"limit": limit})


class Busy(Unavailable):
    code, message = "busy", "The server has as much to do as it can take. Try again shortly."


class Handler(WSGIHandler):
    """Django's handler without the detour through `start_response`."""

    def respond(self, environ: dict[str, Any]) -> HttpResponseBase:
        if not connection.in_atomic_block:  # Among others in a group: the connection is in use, none to be looked after.
            request_started.send(sender=self.__class__, environ=environ)
        request = WSGIRequest(environ)
        if (exchange := environ.get(EXCHANGE)) is not None:
            exchange.reached(request)
        return self.get_response(request)


class Bridge:
    """An ASGI application for HTTP. `threads` run views; at most `queue` requests are in the house at once, and of their bodies
    at most 64 MB (or two of the largest). `together`: small saves are run by one thread."""

    def __init__(self, *, threads: int, queue: int, max_body_bytes: int, together: bool = False) -> None:
        self._handler = Handler()
        self._pool = DatabaseThreads(threads, "http")
        self._saves: SavesTogether[Answered] | None = SavesTogether() if together else None
        self._queue, self._max_body_bytes = queue, max_body_bytes
        self._most_bytes = max(BODIES_IN_MEMORY, 2 * max_body_bytes)
        self._requests = self._body_bytes = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        self._requests += 1
        exchange = Exchange(scope, send)
        try:
            if self._requests > self._queue:
                raise Busy(retry_after=1)
            body = await self._read_body(scope, receive, exchange)
            await self._run(scope, body, receive, exchange)
        except AppError as error:
            await _refuse(error, exchange.send, scope)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # The client left before its request was complete: there is nothing to run and nobody to answer.
        except Exception:
            logger.exception("a request failed outside of Django")
            if not exchange.started:
                await _refuse(AppError(details={"request_id": exchange.id}), exchange.send, scope)
        finally:
            self._requests -= 1
            self._body_bytes -= exchange.received_bytes
            exchange.tell()

    def close(self) -> None:
        """Let what was received run to its end."""
        self._pool.close()
        if self._saves is not None:
            self._saves.close()

    async def _read_body(self, scope: Message, receive: Receive, exchange: Exchange) -> bytes:
        if (declared := _declared_length(scope)) is not None and declared > self._max_body_bytes:
            raise BodyTooLarge(self._max_body_bytes, scope["path"])
        message = await receive()
        pieces = [self._count(message, scope, exchange)]
        if not message.get("more_body"):
            return pieces[0]
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while message.get("more_body"):
                    message = await receive()
                    pieces.append(self._count(message, scope, exchange))
        except TimeoutError:
            raise BadRequest("The request's body took too long to arrive.", code="body_too_slow") from None
        return b"".join(pieces)

    def _count(self, message: Message, scope: Message, exchange: Exchange) -> bytes:
        """A piece of a body. It counts from now on and not when the body is whole: slow senders would fill the memory unseen."""
        if message["type"] == "http.disconnect":
            raise ConnectionError
        piece: bytes = message.get("body", b"")
        if exchange.received_bytes + len(piece) > self._max_body_bytes:
            raise BodyTooLarge(self._max_body_bytes, scope["path"])
        if self._body_bytes + len(piece) > self._most_bytes:
            raise Busy(retry_after=1)
        exchange.received_bytes += len(piece)
        self._body_bytes += len(piece)
        return piece

    async def _run(self, scope: Message, body: bytes, receive: Receive, exchange: Exchange) -> None:
        loop = asyncio.get_running_loop()
        send = exchange.send
        without_body = scope["method"] == "HEAD"

        def work(ending: ExitStack) -> Answered:
            told = request_id.set(exchange.id)
            environ = {**_environ(scope, body), EXCHANGE: exchange, "stillhere.request_id": exchange.id}
            try:
                response = ending.enter_context(closing(self._handler.respond(environ)))
                headers = _headers(response)
                if isinstance(response, HttpResponse):
                    return response.status_code, headers, b"" if without_body else response.content
                self._stream(response, headers, without_body, receive, send, loop)
                return response.status_code, headers, None
            finally:
                request_id.reset(told)

        if self._saves is not None and is_small_save(scope, body):
            answered = self._saves.submit(work, len(body))
        else:
            answered = self._pool.submit(_alone, work)
        status, headers, content = await asyncio.wrap_future(answered)
        if content is not None:
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": content})

    def _stream(
        self,
        response: HttpResponseBase,
        headers: list[tuple[bytes, bytes]],
        without_body: bool,
        receive: Receive,
        send: Send,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Chunk by chunk from the view's thread, at the client's pace, until the client has gone or takes no more."""
        gone = asyncio.run_coroutine_threadsafe(_disconnected(receive), loop)

        def put(message: Message) -> None:
            sent = asyncio.run_coroutine_threadsafe(_sent(send, message), loop)
            try:
                sent.result(STALLED_SECONDS)
            except TimeoutError:
                sent.cancel()
                raise ConnectionError("the client takes nothing any more") from None

        try:
            put({"type": "http.response.start", "status": response.status_code, "headers": headers})
            if not without_body and isinstance(response, StreamingHttpResponse):
                chunks: Iterable[bytes] = response.streaming_content  # type: ignore[assignment]
                for chunk in chunks:
                    if gone.done():
                        return
                    put({"type": "http.response.body", "body": chunk, "more_body": True})
            put({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()


def _alone(work: Callable[[ExitStack], Answered]) -> Answered:
    with ExitStack() as ending:
        return work(ending)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _sent(send: Send, message: Message) -> None:
    await send(message)


async def _refuse(error: AppError, send: Send, scope: Message) -> None:
    headers = [(b"content-type", b"application/json; charset=utf-8"), (b"cache-control", b"no-store"), (b"connection", b"close")]
    headers += _for_other_origins(scope)
    if error.retry_after is not None:
        headers.append((b"retry-after", str(error.retry_after).encode()))
    content = orjson.dumps(error.as_json())
    headers.append((b"content-length", str(len(content)).encode()))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _for_other_origins(scope: Message) -> list[tuple[bytes, bytes]]:
    """As Django's middleware would say it: a page that may not read a refusal takes it for a server that is away."""
    if not re.match(settings.CORS_URLS_REGEX, scope["path"]):
        return []
    origin = next((value for name, value in scope["headers"] if name == b"origin"), b"")
    if origin.decode("latin-1") not in settings.CORS_ALLOWED_ORIGINS:
        return [(b"vary", b"origin")]
    exposed = ", ".join(settings.CORS_EXPOSE_HEADERS).encode()
    return [(b"vary", b"origin"), (b"access-control-allow-origin", origin), (b"access-control-expose-headers", exposed)]


def _declared_length(scope: Message) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else None
    return None


def _headers(response: HttpResponseBase) -> list[tuple[bytes, bytes]]:
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in response.items()]
    headers += [(b"set-cookie", cookie.OutputString().encode("latin-1")) for cookie in response.cookies.values()]
    if response.status_code in {204, 304} or response.has_header("Content-Length"):
        return headers
    if isinstance(response, HttpResponse):
        headers.append((b"content-length", str(len(response.content)).encode()))
    return headers


def _environ(scope: Message, body: bytes) -> dict[str, Any]:
    """The WSGI view of an ASGI scope."""
    server, client = scope.get("server") or ("localhost", 80), scope.get("client") or ("", 0)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": scope["path"].encode("utf-8", "surrogatepass").decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1]),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": client[0],
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": _Errors(),
        "wsgi.version": (1, 0),
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        if b"_" in name:  # It would pass for the header with a dash, past a proxy that strips that one.
            continue
        key = name.decode("latin-1").upper().replace("-", "_")
        text = value.decode("latin-1")
        if key == "CONTENT_TYPE":
            environ[key] = text
        elif key != "CONTENT_LENGTH":
            key = f"HTTP_{key}"
            joint = ";" if key == "HTTP_COOKIE" else ","
            environ[key] = f"{environ[key]}{joint}{text}" if key in environ else text
    return environ


class _Errors(io.StringIO):
    """WSGI asks for a stream of errors; whatever comes there is logged."""

    def write(self, text: str) -> int:
        logger.error(text.rstrip())
        return len(text)
