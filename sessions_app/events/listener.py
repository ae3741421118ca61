"""One socket's side of the fan-out: every logged event once, in order, whatever happens in between."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from sessions_app.events import socket_frames
from sessions_app.events.listener_queries import Admission, LogPage

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ReadLog = Callable[[Any, int], Awaitable[LogPage]]
MOST_WAITING = 1_000
# Two threads may push in a different order than they commit: wait this long for the late one.
REORDER_SECONDS = 0.02
FRUITLESS_READS = 5
GOODBYE_SECONDS = 2
CLOSE_TRY_LATER, CLOSE_FAULT, CLOSE_TOO_MANY = 1013, 1011, 4429
logger = logging.getLogger(__name__)


class Listener:
    """Queues frames until the previous number has been sent; missing ones are read from the log.

    Dropped frames are not lost: when too many wait for a slow socket, they are dropped, the newest number is kept,
    and the log is read once the socket accepts more. Used on the event loop's thread only.
    """

    __slots__ = (
        "_after", "_beat_due", "_check", "_loop", "_read_log", "_rewind", "_send", "_target", "_task", "_waiting",
        "_working", "admission", "beat_at", "closed", "held", "last_seq", "owner", "sending_since",
    )  # fmt: skip

    def __init__(self, *, admission: Admission, send: Send, read_log: ReadLog, owner: asyncio.Task[Any] | None) -> None:
        self.admission, self.owner = admission, owner
        self._send, self._read_log, self._loop = send, read_log, asyncio.get_running_loop()
        self._waiting: dict[int, str] = {}
        self._after: list[tuple[int, str, asyncio.Future[None] | None]] = []
        self._task: asyncio.Task[None] | None = None
        self._rewind: int | None = None
        # `_target`: the newest number known to exist; the listener works until it has sent it.
        self.last_seq = self._target = 0
        self.held, self.closed = True, False
        self._working = self._beat_due = self._check = False
        self.beat_at = self._loop.time()
        self.sending_since = 0.0

    def begin(self, newest: int) -> None:
        """Start after `newest`: earlier events are not sent. Frames still wait until `release`."""
        self.last_seq = newest
        self._target = max(self._target, newest)

    def release(self) -> None:
        self.held = False
        self._wake()

    def subscribe(self, since: int) -> None:
        """Send everything after `since` first, then new events."""
        self._rewind = since
        self.release()

    def offer(self, event_seq: int, frame: str) -> None:
        """Queue a logged event; handles late, early and repeated ones."""
        if event_seq <= self.last_seq and self._rewind is None:
            return
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.clear()
        self._waiting[event_seq] = frame
        self.heal(event_seq)

    def offer_unlogged(self, event_seq: int, frame: str) -> None:
        """Queue an unlogged event, sent after the logged one with its number. Excess events are dropped."""
        if len(self._after) < MOST_WAITING:
            self._after.append((event_seq, frame, None))
            self.heal(event_seq)

    async def reply(self, event_seq: int, frame: str) -> None:
        """Queue a reply to this socket; returns when it was sent (or never will be)."""
        if self.closed:
            return
        sent: asyncio.Future[None] = self._loop.create_future()
        self._after.append((event_seq, frame, sent))
        self.heal(event_seq)
        await sent

    def heal(self, newest: int) -> None:
        """Events up to this number exist: fetch the missing ones."""
        self._target = max(self._target, newest)
        self._wake()

    def beat(self, newest: int) -> None:
        self.beat_at, self._beat_due = self._loop.time(), True
        self.heal(newest)

    def close(self, code: int, reason: str) -> None:
        """Close the socket with this code and send nothing more."""
        if not self.closed:
            self.end()
            self._task = self._loop.create_task(self._say_goodbye(code, reason))

    def end(self) -> None:
        """The socket is gone: release everything that waits for it."""
        self.closed = True
        self._waiting.clear()
        self._forget_unlogged()

    def _wake(self) -> None:
        if not (self._working or self.held or self.closed):
            self._working = True
            # Eager: a socket that accepts its frame at once costs no turn of the loop.
            self._task = asyncio.Task(self._work(), loop=self._loop, eager_start=True)

    async def _work(self) -> None:
        try:
            await self._send_what_waits()
        except OSError:
            self.end()  # The client has disconnected; the socket's own task cleans up.
        except Exception:
            if not self.closed:
                logger.exception("a socket's events could not be sent")
                self.close(CLOSE_FAULT, "something went wrong")
        finally:
            self._working = False

    async def _send_what_waits(self) -> None:
        fruitless, patient = 0, True
        while not self.closed:
            if self._rewind is not None:
                self.last_seq, self._rewind, self._check = self._rewind, None, True
            if not self._check and (frame := self._waiting.pop(self.last_seq + 1, None)) is not None:
                await self._put(frame)
                self.last_seq += 1
                patient = True
            elif self._check or self.last_seq < self._target:
                if patient and self._waiting and not self._check:
                    patient = False
                    await asyncio.sleep(REORDER_SECONDS)
                    continue
                fruitless = 0 if await self._catch_up() else fruitless + 1
                if fruitless:
                    await self._bear_with(fruitless)
            elif self._after:
                _, frame, sent = self._after.pop(0)
                try:
                    await self._put(frame)
                finally:
                    # Also if the client is gone: who waits for this would wait for ever, and keep the socket's place.
                    _resolve(sent)
            elif self._beat_due:
                self._beat_due = False
                await self._put(socket_frames.heartbeat(event_seq=self.last_seq, project=self.admission.path))
            else:
                self._waiting.clear()
                return

    async def _catch_up(self) -> bool:
        """Send missing events from the log; returns whether that made progress."""
        asked, self._check = self._check, False
        since = self.last_seq
        try:
            page = await self._read_log(self.admission.project_id, since)
        except Exception as error:
            logger.warning("the event log could not be read: %s", type(error).__name__)
            if asked:
                self.close(CLOSE_TRY_LATER, "the store does not respond")
            return False
        self._target = max(self._target, page.newest)
        if page.lost:
            self._target = max(page.newest, max(self._waiting, default=0))
            await self._put(socket_frames.resync(event_seq=page.newest, project=self.admission.path))
            self.last_seq = page.newest
            return True
        for event_seq, frame in page.rows:
            if self.closed or self._rewind is not None:
                return True
            await self._put(frame)
            self.last_seq = event_seq
        return asked or bool(page.rows)

    async def _bear_with(self, fruitless: int) -> None:
        """The log does not have the announced event. Retry a few times, then leave it to the hub's next check."""
        if fruitless < FRUITLESS_READS:
            await asyncio.sleep(REORDER_SECONDS * fruitless)
            return
        self._target = self.last_seq
        self._waiting.clear()
        self._forget_unlogged()

    async def _put(self, frame: str) -> None:
        self.sending_since = self._loop.time()
        await self._send({"type": "websocket.send", "text": frame})
        self.sending_since = 0.0

    async def _say_goodbye(self, code: int, reason: str) -> None:
        try:
            async with asyncio.timeout(GOODBYE_SECONDS):
                await self._send({"type": "websocket.close", "code": code, "reason": reason})
        except TimeoutError:
            self.abort()
        except (OSError, RuntimeError):
            pass  # It had disconnected already.

    def abort(self) -> None:
        """For a socket that accepts no more data, not even a close frame."""
        self.end()
        if self.owner is not None:
            self.owner.cancel()

    def _forget_unlogged(self) -> None:
        while self._after:
            _resolve(self._after.pop()[2])


def _resolve(sent: asyncio.Future[None] | None) -> None:
    if sent is not None and not sent.done():
        sent.set_result(None)
