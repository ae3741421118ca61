"""HTTP from ASGI into Django's synchronous handler, in a bounded pool of long-lived threads.

Django's own ASGI handler gives every request a new thread and a new database connection, and cancels a view whose
client has gone. Here threads and connections are reused, a complete request runs to its end
whether or not its client still waits, and requests that are too large or too many are refused before Django sees them.
"""

import asyncio
import io
import logging
from collections.abc import Iterable
from concurrent.futures import CancelledError, Future
from contextlib import closing
from functools import partial
from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.core.signals import request_started
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse

from config.http.files.downloads import STALLED_SECONDS, send_file
from config.http.files.uploads import body_of
from config.http.learned_headers import Answered, Kinds, QuickRequest
from config.http.mcp import McpRequests
from config.http.quick.chats import ROUTES as CHATS
from config.http.quick.first_requests import FirstRequests
from config.http.quick.memory import ROUTES as MEMORY
from config.http.quick.resumes import QuickResumes, is_quick_resume
from config.http.quick.routes import QuickRoutes
from config.http.quick.small_writes import SmallWrites
from config.http.refusals import refuse, request_of
from config.http.request_body import Busy, Receive, RequestBodies, Upload
from config.http.request_log import RECORD, Message, RequestRecord, Send
from config.http.save_batching import Later
from config.http.warm_up import warm_up
from config.logs import request_id
from sessions_app.core.errors import AppError
from sessions_app.core.limits.request_limits import COUNTED
from sessions_app.core.storage.database_threads import DatabaseThreads
from sessions_app.core.storage.transactions import writes_for
from sessions_app.core.web.file_response import FileBody, FileResponse

REQUEST_RECORD = "stillhere.exchange"
# Scope key of what is added to `request.META`.
ENVIRON = "stillhere.environ"
# What goes well takes little but the interpreter, which more threads would mostly hand to one another.
RESUMING_THREADS = 2
_Quick = tuple[QuickRequest, Kinds | None, Answered | None]
logger = logging.getLogger(__name__)


class Handler(WSGIHandler):
    """Django's handler without the detour through `start_response`."""

    def respond(self, environ: dict[str, Any]) -> HttpResponseBase:
        request_started.send(sender=self.__class__, environ=environ)
        request = request_of(environ)
        if (exchange := environ.get(REQUEST_RECORD)) is not None:
            exchange.reached(request)
        try:
            return self.get_response(request)
        finally:
            _forget_body(request)


class Bridge:
    """An ASGI application for HTTP. `threads` run views; at most `queue` requests with complete bodies may wait or run.
    `together`: small writes are run by one thread, resumes by few. `mcp` answers its own requests."""

    def __init__(
        self,
        handler: Handler,
        *,
        threads: int,
        queue: int,
        bodies: RequestBodies,
        together: bool = False,
        mcp: McpRequests | None = None,
    ) -> None:
        self._handler = handler
        self._pool = DatabaseThreads(threads, "http")
        self._quick_resumes = QuickResumes()
        self._writes = SmallWrites() if together else None
        self._resumes = DatabaseThreads(RESUMING_THREADS, "resumes") if together else None
        self._quick_routes = QuickRoutes((*MEMORY, *CHATS)) if together else None
        self._first_requests = FirstRequests()
        self._mcp = mcp
        self._bodies = bodies
        self._queue, self._requests = queue, 0
        self._sending: set[Future[None]] = set()
        self._closed = False

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        upload = Upload(scope)
        whole: RequestRecord | None = scope.get(RECORD)
        exchange = whole or RequestRecord(scope, send, on_start=partial(self._bodies.end_work, upload))
        try:
            body = await self._bodies.read(upload, scope, receive)
            exchange.received_bytes += len(body)
            await self._admit(scope, upload, body, receive, exchange)
        except AppError as error:
            await refuse(error, exchange.send, scope)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # The client disconnected before its request was complete: there is nothing to run and no one to respond to.
        except Exception:
            logger.exception("a request failed outside of Django")
            if not exchange.started:
                await refuse(AppError(details={"request_id": exchange.id}), exchange.send, scope)
        finally:
            self._bodies.release(upload)
            if whole is None:
                exchange.tell()

    async def _admit(self, scope: Message, upload: Upload, body: bytes, receive: Receive, exchange: RequestRecord) -> None:
        """A request counts as in flight from here on, so an incomplete one takes no place."""
        if self._requests >= self._queue:
            raise Busy(retry_after=1)
        self._requests += 1
        try:
            await self._bodies.begin_work(upload)
            await self._run(scope, body, receive, exchange)
        finally:
            self._requests -= 1

    def warm_up(self) -> None:
        """Loads modules, opens connections and prepares statements, so that the first requests need not wait for them."""
        scope = {"method": "GET", "path": "/api/v1/resume", "query_string": b"project=/", "http_version": "1.1", "headers": []}
        self._handler.respond(_environ(scope, b"")).close()
        writes = None if self._writes is None else self._writes.thread
        warm_up(pool for pool in (self._pool, writes, self._resumes) if pool is not None)

    def close(self) -> None:
        """Completes the requests that were received. Clients that have not read their answers by now have had their time."""
        self._closed = True
        for sent in list(self._sending):
            sent.cancel()
        for each in (self._pool, self._writes, self._resumes):
            if each is not None:
                each.close()

    async def _run(self, scope: Message, body: bytes, receive: Receive, exchange: RequestRecord) -> None:
        if self._mcp is not None and self._mcp.takes(scope):
            await self._mcp.answer(scope, body, receive, exchange, self._pool.submit)
            return
        request, learning, answered = await self._answer_quickly(scope, body, exchange)
        if answered is None and await self._first_requests.learned(learning, request):
            request, _, answered = await self._answer_quickly(scope, body, exchange)
        if answered is None:
            ask = partial(self._ask_django, request, receive, asyncio.get_running_loop())
            answered = await self._first_requests.learn(learning, request, asyncio.wrap_future(self._pool.submit(ask)))
        status, headers, content = answered
        if isinstance(content, FileBody):
            await send_file(exchange, status, headers, content)
        elif content is not None:
            await exchange.answer(status, headers, content)

    async def _answer_quickly(self, scope: Message, body: bytes, exchange: RequestRecord) -> _Quick:
        """The request, what is learned from Django's answers to its like, and the answer; None: Django has to answer."""
        if self._writes is not None and (taken := self._writes.taken(scope, body, exchange)) is not None:
            answered = await self._writes.submit(taken[0])
            return *taken, None if isinstance(answered, Later) else answered
        request = QuickRequest(scope, body, exchange)
        if self._resumes is not None and is_quick_resume(scope, body):
            run = self._resumes.submit(self._quick_resumes.run, request)
            return request, self._quick_resumes.kinds, await asyncio.wrap_future(run)
        # What was added for Django tells, for example, that the request was counted already.
        routes = None if ENVIRON in scope else self._quick_routes
        if routes is not None and (kinds := routes.kinds_of(scope, body)) is not None:
            return request, kinds, await asyncio.wrap_future(self._pool.submit(partial(routes.run, request, kinds)))
        return request, None, None

    def _ask_django(self, request: QuickRequest, receive: Receive, loop: asyncio.AbstractEventLoop) -> Answered:
        scope, exchange = request.scope, request.exchange
        without_body = scope["method"] == "HEAD"
        told = request_id.set(exchange.id)
        environ = {
            **_environ(scope, request.body),
            **scope.get(ENVIRON, {}),
            REQUEST_RECORD: exchange,
            "stillhere.request_id": exchange.id,
        }
        if request.counted:
            environ[COUNTED] = True
        try:
            with writes_for(len(request.body)), closing(self._handler.respond(environ)) as response:
                headers = _headers(response)
                if isinstance(response, HttpResponse):
                    return response.status_code, headers, b"" if without_body else response.content
                if isinstance(response, FileResponse):
                    return response.status_code, headers, response.take()
                self._stream(response, headers, without_body, receive, exchange.send, loop)
                return response.status_code, headers, None
        finally:
            request_id.reset(told)

    def _stream(
        self,
        response: HttpResponseBase,
        headers: list[tuple[bytes, bytes]],
        without_body: bool,
        receive: Receive,
        send: Send,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Sends chunk by chunk from the view's thread, at the client's pace, until the client disconnects or stops reading."""
        gone = asyncio.run_coroutine_threadsafe(_disconnected(receive), loop)
        put = partial(self._put, send, loop)
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

    def _put(self, send: Send, loop: asyncio.AbstractEventLoop, message: Message) -> None:
        sent = asyncio.run_coroutine_threadsafe(_sent(send, message), loop)
        self._sending.add(sent)
        try:
            sent.result(0 if self._closed else STALLED_SECONDS)
        except (TimeoutError, CancelledError):
            sent.cancel()
            raise ConnectionError("the client takes nothing any more") from None
        finally:
            self._sending.discard(sent)


def _forget_body(request: WSGIRequest) -> None:
    """Drops the body: `request.user` and `request.htmx` refer to their request, which then waits for the garbage collector."""
    for name in ("_body", "_post", "_files", "_stream", "sent"):
        request.__dict__.pop(name, None)
    request.environ.pop("wsgi.input", None)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _sent(send: Send, message: Message) -> None:
    await send(message)


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
        if b"_" in name:  # It would be read as the header with a dash, which a proxy may have stripped.
            continue
        key = name.decode("latin-1").upper().replace("-", "_")
        text = value.decode("latin-1")
        if key == "CONTENT_TYPE":
            environ[key] = text
        elif key != "CONTENT_LENGTH":
            key = f"HTTP_{key}"
            joint = ";" if key == "HTTP_COOKIE" else ","
            environ[key] = f"{environ[key]}{joint}{text}" if key in environ else text
    return environ | body_of(scope)


class _Errors(io.StringIO):
    """WSGI requires an error stream; everything written to it is logged."""

    def write(self, text: str) -> int:
        logger.error(text.rstrip())
        return len(text)
