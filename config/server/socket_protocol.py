"""uvicorn's protocol of sockets, which answers every ping at once, also to a client that takes no answers: megabytes a second
would wait for it."""

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from config.server.stalls import EndsStalled


class SocketProtocol(EndsStalled, WebSocketsSansIOProtocol):
    # What is due to a client that has not taken what was written before.
    _pong = b""

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
