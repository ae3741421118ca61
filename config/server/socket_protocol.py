"""uvicorn's protocol of sockets, with limits to what a client may have it do.

uvicorn handles all that was read at once, up to 40,000 small frames, while everybody else waits, and answers every ping at once,
also to a client that takes no answers: megabytes a second would wait for it.
"""

from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from config.server.stalls import EndsStalled

# In one turn of the loop.
PIECE_BYTES = 4_096
# Frames of all kinds. Clients send a few when they connect, and then pings.
MOST_FRAMES, WITHIN_SECONDS = 1_000, 10.0
TOO_MANY = 1008


class SocketProtocol(EndsStalled, WebSocketsSansIOProtocol):
    # What was read and is still to be handled, piece by piece. Nothing more is read meanwhile.
    _rest = b""
    _is_due = False
    _frames, _counted_since = 0, 0.0
    # What is due to a client that has not taken what was written before.
    _pong = b""

    def data_received(self, data: bytes) -> None:
        self._rest += data
        if not self._is_due and not self.read_paused:
            self._handle_piece()

    async def receive(self) -> Any:
        message = await super().receive()
        self._go_on()
        return message

    async def send(self, message: Any) -> None:
        await super().send(message)
        if message["type"] == "websocket.accept":
            del self.response  # Nobody reads it any more, and there may be thousands of sockets.
        self._go_on()

    def handle_ping(self) -> None:
        """Of several pings the newest may be answered alone (RFC 6455, 5.5.3)."""
        # The answers to all pings that arrived together, and to the end that may have come with them.
        answers = self.conn.data_to_send()
        if self.writable.is_set() or self.conn.close_rcvd is not None:
            self.transport.write(b"".join(answers))
        elif answers:
            self._pong = answers[-1]

    def resume_writing(self) -> None:
        super().resume_writing()
        pong, self._pong = self._pong, b""
        if pong and not self.close_sent and not self.transport.is_closing():
            self.transport.write(pong)

    def _handle_piece(self) -> None:
        self._is_due = False
        if self.transport.is_closing():
            return
        size = PIECE_BYTES if self.handshake_initiated else len(self._rest)
        piece, self._rest = self._rest[:size], self._rest[size:]
        self.conn.receive_data(piece)
        if self.conn.parser_exc is not None:
            self.handle_parser_exception()
        elif self._are_too_many(len(self.conn.events)):
            self._refuse()
        else:
            self.handle_events()
            self._go_on(read_on=True)

    def _go_on(self, *, read_on: bool = False) -> None:
        """Unless the application has not taken what it was given before."""
        if self._rest:
            self.transport.pause_reading()
            if not self._is_due and not self.read_paused:
                self._is_due = True
                self.loop.call_soon(self._handle_piece)
        elif read_on and not self.read_paused:
            self.transport.resume_reading()

    def _are_too_many(self, frames: int) -> bool:
        now = self.loop.time()
        if now - self._counted_since > WITHIN_SECONDS:
            self._frames, self._counted_since = 0, now
        self._frames += frames
        return self._frames > MOST_FRAMES

    def _refuse(self) -> None:
        self.queue.put_nowait({"type": "websocket.disconnect", "code": TOO_MANY, "reason": ""})
        self.conn.fail(TOO_MANY, "too many frames")
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self.transport.close()
