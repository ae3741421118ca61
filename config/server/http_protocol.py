"""uvicorn's HTTP protocol, which closes silent connections, sends a whole answer in one write, and reads the rest of a refused
body: if a connection is closed while its client sends, the client sees a reset in place of the answer."""

import asyncio
import re
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

# For the head of a request, from the connection or from its own first byte. After an answer uvicorn's keep-alive time counts.
HEAD_SECONDS = 20
# The rest of a refused body is read, and thrown away, for this long and a second more for each REST_RATE_BYTES, as far as
# REST_BYTES. Of more connections than MOST_RESTS at once the one that was refused first is closed.
REST_SECONDS, REST_RATE_BYTES, REST_BYTES, MOST_RESTS = 10, 16_000, 64_000_000, 100
# An ASGI extension of ours: `{type, status, headers, body}` is a whole answer.
WHOLE_ANSWER = "stillhere.answer"
# In the state of the lifespan: headers and content of the answer to what is no HTTP.
MALFORMED = "stillhere.malformed"
_SOUND_HEADERS = re.compile(rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+: [^\x00-\x08\x0a-\x1f\x7f]*\r\n)*")


class IdleTimeoutProtocol(HttpToolsProtocol):
    # All connections of this process that send the rest of a refused body, in the order of the refusals.
    rests: ClassVar[dict["IdleTimeoutProtocol", asyncio.TimerHandle]] = {}
    _due: asyncio.TimerHandle | None = None
    _in_head = False
    _rest_bytes, _refused_at = 0, 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_whole()
        self._forget_rest()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self in self.rests:
            self._rest_bytes += len(data)
            if self._rest_bytes > REST_BYTES:
                self._end_rest()
                return
        super().data_received(data)
        if self._in_head and self._due is None:
            self._expect_head()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP is refused in the form of all refusals, as the application has made it; uvicorn's is plain text."""
        if (refusal := self.app_state.get(MALFORMED)) is None:
            super().send_400_response(msg)
            return
        headers, content = refusal
        lines = [b"%b: %b\r\n" % header for header in (*self.server_state.default_headers, *headers)]
        self.transport.writelines([STATUS_LINE[400], *lines, b"\r\n", content])
        self.transport.close()

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()
        self.scope["extensions"] = {WHOLE_ANSWER: {}}

    def on_headers_complete(self) -> None:
        self._head_is_whole()
        if self.transport.is_closing():
            return  # What follows the rest of a refused body.
        super().on_headers_complete()
        if self.cycle is not None:
            self.cycle.__class__ = _Cycle  # uvicorn has no other place for it.

    def on_message_complete(self) -> None:
        super().on_message_complete()
        if self in self.rests:
            self._end_rest()

    def expect_rest(self) -> None:
        """The request is answered, and the connection is to be closed when its body has arrived."""
        self._unset_keepalive_if_required()
        self._refused_at = self.loop.time()
        self.rests[self] = self.loop.call_later(REST_SECONDS, self._rest_is_due)
        if len(self.rests) > MOST_RESTS:
            next(iter(self.rests))._end_rest()

    def _rest_is_due(self) -> None:
        left = self._refused_at + REST_SECONDS + self._rest_bytes / REST_RATE_BYTES - self.loop.time()
        if left > 0:
            self.rests[self] = self.loop.call_later(left, self._rest_is_due)
        else:
            self._end_rest()

    def _end_rest(self) -> None:
        self._forget_rest()
        self.transport.close()

    def _forget_rest(self) -> None:
        if (due := self.rests.pop(self, None)) is not None:
            due.cancel()

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
            await self._send_part(message)
        elif (head := self._head_of(message)) is not None:
            self._send_whole(head, message["body"])
        else:
            start: Any = {**message, "type": "http.response.start"}
            await super().send(start)
            await self._send_part({"type": "http.response.body", "body": message["body"], "more_body": False})

    async def _send_part(self, message: Any) -> None:
        ends = message["type"] == "http.response.body" and not message.get("more_body")
        if not ends or self.keep_alive or not self.more_body or self.disconnected:
            await super().send(message)
            return
        self.keep_alive = True  # Only uvicorn's `close` after the answer asks for it any more.
        await super().send(message)
        self.body = bytearray()
        if self.response_complete and not self.transport.is_closing():
            self.transport.get_protocol().expect_rest()  # type: ignore[attr-defined]

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
