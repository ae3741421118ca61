"""A gateway before a server that fails on request: away, answers that get lost, refusals of its own."""

import http.client
import threading
import time
from collections import deque
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

_PASSED_ON = {"content-type", "etag", "retry-after"}


class Gate:
    """`away`: connections end without an answer; `silent`: they stay open until it is no longer set. `next`: what becomes of the
    next requests: `lost` (carried out, no answer), a status with `Retry-After`, or what something else answers with 200. `seen`:
    method and path of each request that came in. `own_refusal`: of a request's body the status of a page of its own; None: it
    passes."""

    def __init__(self, host: str) -> None:
        gate = self
        self.host, self.away, self.silent = host, False, False
        self.next: deque[str | bytes | tuple[int, float | str]] = deque()
        self.seen: list[str] = []
        self.own_refusal: Callable[[bytes], int | None] = lambda body: None

        class Handler(BaseHTTPRequestHandler):
            def _handle(self) -> None:
                gate.handle(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        request.close_connection = True
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        self.seen.append(f"{request.command} {request.path}")
        while self.silent:
            time.sleep(0.05)
        if self.away:
            return
        if (status := self.own_refusal(body)) is not None:
            _answer(request, status, {}, b"<html>No.</html>")
            return
        fault = self.next.popleft() if self.next else None
        if isinstance(fault, tuple):
            _answer(
                request, fault[0], {"Retry-After": str(fault[1])}, b'{"error": {"code": "busy", "message": "", "details": {}}}'
            )
            return
        if isinstance(fault, bytes):
            _answer(request, 200, {}, fault)
            return
        behind = http.client.HTTPConnection(self.host)
        behind.request(request.command, request.path, body, dict(request.headers))
        answer = behind.getresponse()
        content = answer.read()
        behind.close()
        if fault != "lost":
            headers = {name: value for name, value in answer.getheaders() if name.lower() in _PASSED_ON}
            _answer(request, answer.status, headers, content)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _answer(request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], content: bytes) -> None:
    request.send_response(status)
    for name, value in {**headers, "Content-Length": str(len(content))}.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(content)
