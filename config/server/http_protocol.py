"""uvicorn's HTTP protocol, which closes silent connections and sends a whole answer in one write."""

import asyncio
import re
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

# For the head of a request, from the connection or from its own first byte. After an answer uvicorn's keep-alive time counts.
HEAD_SECONDS = 20
# An ASGI extension of ours: `{type, status, headers, body}` is a whole answer.
WHOLE_ANSWER = "stillhere.answer"
_SOUND_HEADERS = re.compile(rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+: [^\x00-\x08\x0a-\x1f\x7f]*\r\n)*")


class IdleTimeoutProtocol(HttpToolsProtocol):
    _due: asyncio.TimerHandle | None = None
    _in_head = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_whole()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head and self._due is None:
            self._expect_head()

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()
        self.scope["extensions"] = {WHOLE_ANSWER: {}}

    def on_headers_complete(self) -> None:
        self._head_is_whole()
        super().on_headers_complete()
        if self.cycle is not None:
            self.cycle.__class__ = _Cycle  # uvicorn has no other place for it.

    def _expect_head(self) -> None:
        self._due = self.loop.call_later(HEAD_SECONDS, self.timeout_keep_alive_handler)

    def _head_is_whole(self) -> None:
        self._in_head = False
        if self._due is not None:
            self._due.cancel()
            self._due = None


class _Cycle(RequestResponseCycle):
    async def send(self, message: Any) -> None:
        if message["type"] != WHOLE_ANSWER:
            await super().send(message)
        elif (head := self._head_of(message)) is not None:
            self._send_whole(head, message["body"])
        else:
            start: Any = {**message, "type": "http.response.start"}
            await super().send(start)
            await super().send({"type": "http.response.body", "body": message["body"], "more_body": False})

    def _head_of(self, message: Any) -> bytes | None:
        """None where uvicorn has more to see to than bytes that follow bytes: then it does all."""
        headers = [*self.default_headers, *message["headers"]]
        if self.response_started or self.disconnected or self.flow.write_paused:
            return None
        if not self.keep_alive or self.scope["method"] == "HEAD":
            return None
        if (b"content-length", b"%d" % len(message["body"])) not in headers or any(name == b"connection" for name, _ in headers):
            return None
        lines = b"".join([b"%b: %b\r\n" % header for header in headers])
        return b"%b%b\r\n" % (STATUS_LINE[message["status"]], lines) if _SOUND_HEADERS.fullmatch(lines) else None

    def _send_whole(self, head: bytes, body: bytes) -> None:
        """Head and body in one write: each costs a system call, and wakes the client."""
        self.transport.writelines([head, body])
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.message_event.set()
        self.on_response()
