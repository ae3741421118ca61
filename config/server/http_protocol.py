"""uvicorn's HTTP protocol, which closes silent connections, sends a whole answer in one write, and reads the rest of a refused
body: if a connection is closed while its client sends, the client sees a reset in place of the answer.

It also limits what uvicorn does not: the bytes of a head, and the requests that wait for the answers to earlier ones."""

import asyncio
import re
from collections.abc import Sized
from typing import Any, ClassVar

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from config.server.stalls import EndsStalled

# For the head of a request, from the connection or from its own first byte. After an answer uvicorn's keep-alive time counts.
HEAD_SECONDS = 20
# Of address and headers together. What is read around a body, such as trailers, may be as long.
HEAD_BYTES, MOST_HEADERS = 65_536, 256
# Requests of one connection, beside the one that is being answered.
MOST_WAITING = 16
# The rest of a refused body is read, and thrown away, for this long and a second more for each REST_RATE_BYTES, as far as
# REST_BYTES. Of more connections than MOST_RESTS at once the one that was refused first is closed.
REST_SECONDS, REST_RATE_BYTES, REST_BYTES, MOST_RESTS = 10, 16_000, 64_000_000, 100
# An ASGI extension of ours: `{type, status, headers, body}` is a whole answer.
WHOLE_ANSWER = "stillhere.answer"
# Another: `{type}` ends the connection in the middle of an answer, which uvicorn would take for a fault of ours.
CUT_OFF = "stillhere.cut"
# In the state of the lifespan: headers and content of the answers to what is no HTTP, by status.
MALFORMED = "stillhere.malformed"
_SOUND_HEADERS = re.compile(rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+: [^\x00-\x08\x0a-\x1f\x7f]*\r\n)*")


class IdleTimeoutProtocol(EndsStalled, HttpToolsProtocol):
    # All connections of this process that send the rest of a refused body, in the order of the refusals.
    rests: ClassVar[dict["IdleTimeoutProtocol", asyncio.TimerHandle]] = {}
    _due: asyncio.TimerHandle | None = None
    _in_head = False
    _rest_bytes, _refused_at = 0, 0.0
    # Of all reads that have a part of this head; of the last reads that brought nothing but a part of one head, or of what is
    # around a body.
    _head_bytes = _quiet_bytes = 0
    _quiet = False
    # The status of the next refusal. A connection that is deaf has been refused something: what arrives is thrown away.
    _refusal, _deaf = 400, False
    # The request that is being answered: uvicorn knows the newest one alone.
    _answering: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = _Flow(transport, self.pipeline)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_whole()
        self._forget_rest()
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._deaf or self in self.rests:
            self._rest_bytes += len(data)
            if self._rest_bytes > REST_BYTES:
                self._end_rest()
                return
            if self._deaf:
                return
        self._head_bytes = len(data) + (self._head_bytes if self._in_head else 0)
        self._quiet = True
        super().data_received(data)
        self._quiet_bytes = self._quiet_bytes + len(data) if self._quiet else 0
        if self._quiet_bytes > HEAD_BYTES and not self._deaf:
            self._refusal = 431
            self.send_400_response("")
        elif self._in_head and self._due is None:
            self._expect_head()

    def handle_websocket_upgrade(self) -> None:
        """An idle socket costs little: what has read its request, and refers to itself in a circle, is let go at once."""
        super().handle_websocket_upgrade()
        self.stop_looking()
        self.parser = self.scope = self.headers = None  # type: ignore[assignment]

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP, or too much, is refused in the form of all refusals, not in uvicorn's plain text.
        Where earlier requests wait for answers, the connection ends with these: a refusal would be taken for one of them."""
        self._deaf = True
        self._head_is_whole()
        due = self.cycle is not None and not self.cycle.response_complete
        if self in self.rests or self.transport.is_closing():
            self._end_rest()
        elif due and not self.cycle.more_body:
            self.cycle.keep_alive = False
        elif due and (self.pipeline or self.cycle.response_started):
            self.transport.close()
        elif (refusals := self.app_state.get(MALFORMED)) is None:
            super().send_400_response(msg)
        else:
            headers, content = refusals[self._refusal]
            lines = [b"%b: %b\r\n" % header for header in (*self.server_state.default_headers, *headers)]
            self.transport.writelines([STATUS_LINE[self._refusal], *lines, b"\r\n", content])
            if due or self._refusal == 400:
                self.transport.close()
            else:
                self.expect_rest()

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= MOST_WAITING:
            raise OverflowError  # The parser cannot wait, only stop.
        self._in_head, self._quiet = True, False
        super().on_message_begin()
        self.scope["extensions"] = {WHOLE_ANSWER: {}, CUT_OFF: {}}

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            return  # A trailer: it would be taken for a header that a proxy has set, or let pass.
        if len(self.headers) >= MOST_HEADERS:
            self._refusal = 431
            raise OverflowError
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._head_bytes > HEAD_BYTES and self._size_of_head() > HEAD_BYTES:
            self._refusal = 431
            raise OverflowError
        self._head_is_whole()
        self._quiet = False
        if self.transport.is_closing():
            return  # What follows the rest of a refused body.
        super().on_headers_complete()
        if self.cycle is not None:
            self.cycle.__class__ = _Cycle  # uvicorn has no other place for it.

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def on_body(self, body: bytes) -> None:
        self._quiet = False
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        if self in self.rests:
            self._end_rest()

    def expect_rest(self) -> None:
        """The request is answered, and the connection is to be closed when its body has arrived."""
        self._unset_keepalive_if_required()
        self._refused_at = self.loop.time()
        self.rests[self] = self.loop.call_later(REST_SECONDS, self._rest_is_due)
        if self._deaf:
            self.transport.write_eof()  # Nothing that is still to come ends a request.
        if len(self.rests) > MOST_RESTS:
            next(iter(self.rests))._end_rest()

    def may_send_more(self, answered: RequestResponseCycle) -> bool:
        """Whether its client may be sending when it gets this answer, which is the connection's last."""
        return answered.more_body or (self._deaf and answered is self.cycle)

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
        self._due = self.loop.call_later(HEAD_SECONDS, self._head_is_due)

    def _head_is_due(self) -> None:
        if self.flow.read_paused:
            self._expect_head()  # Its client is not the one that is late.
        else:
            self.timeout_keep_alive_handler()

    def _size_of_head(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + len(b": \r\n") for name, value in self.headers)

    def _head_is_whole(self) -> None:
        self._in_head = False
        if self._due is not None:
            self._due.cancel()
            self._due = None


class _Flow(FlowControl):
    """Nothing is read while requests wait: uvicorn reads on after every answer, and ever more would wait. One whose body has not
    arrived is the last of them, and it is read when none waits behind it and its turn has come."""

    def __init__(self, transport: asyncio.Transport, waiting: Sized) -> None:
        super().__init__(transport)
        self._waiting = waiting

    def resume_reading(self) -> None:
        if not self._waiting:
            super().resume_reading()


class _Cycle(RequestResponseCycle):
    async def send(self, message: Any) -> None:
        if message["type"] == CUT_OFF:
            if self.response_started and not self.response_complete:
                self.disconnected = True
                self.transport.close()
        elif message["type"] != WHOLE_ANSWER:
            await self._send_part(message)
        elif (head := self._head_of(message)) is not None:
            self._send_whole(head, message["body"])
        else:
            start: Any = {**message, "type": "http.response.start"}
            await super().send(start)
            await self._send_part({"type": "http.response.body", "body": message["body"], "more_body": False})

    async def _send_part(self, message: Any) -> None:
        ends = message["type"] == "http.response.body" and not message.get("more_body")
        if not ends or self.keep_alive or self.disconnected or not self._protocol.may_send_more(self):
            await super().send(message)
            return
        self.keep_alive = True  # Only uvicorn's `close` after the answer asks for it any more.
        await super().send(message)
        self.body = bytearray()
        if self.response_complete and not self.transport.is_closing():
            self._protocol.expect_rest()

    @property
    def _protocol(self) -> IdleTimeoutProtocol:
        return self.transport.get_protocol()  # type: ignore[return-value]

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
