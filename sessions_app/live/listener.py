"""One socket's side of the fan-out: every logged event once, in order, whatever happens in between."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from sessions_app.live import frames
from sessions_app.live.reads import Admission, LogPage

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ReadLog = Callable[[Any, int], Awaitable[LogPage]]
MOST_WAITING = 1_000
# Two threads that commit one after the other may push in the other order: the late one is given this time.
REORDER_SECONDS = 0.02
FRUITLESS_READS = 5
GOODBYE_SECONDS = 2
CLOSE_TRY_LATER, CLOSE_FAULT = 1013, 1011
logger = logging.getLogger(__name__)


class Listener:
    """Frames wait here until the number before theirs has gone out; what is missing is read from the log.

    Nothing here is lost by forgetting: when too much waits for a slow socket, the frames are dropped, their numbers
    are remembered, and the log is read once the socket takes more. Used on the event loop's thread only.
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
        # `_target`: the newest number that is known to exist; whoever is behind it is not done.
        self.last_seq = self._target = 0
        self.held, self.closed = True, False
        self._working = self._beat_due = self._check = False
        self.beat_at = self._loop.time()
        self.sending_since = 0.0

    def begin(self, newest: int) -> None:
        """What happened up to here is not this socket's business. Frames still wait until `release`."""
        self.last_seq = newest
        self._target = max(self._target, newest)

    def release(self) -> None:
        self.held = False
        self._wake()

    def subscribe(self, since: int) -> None:
        """Everything after `since` first, then what happens."""
        self._rewind = since
        self.release()

    def offer(self, event_seq: int, frame: str) -> None:
        """A logged event; late, early and repeated ones are sorted out here."""
        if event_seq <= self.last_seq and self._rewind is None:
            return
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.clear()
        self._waiting[event_seq] = frame
        self.heal(event_seq)

    def offer_unlogged(self, event_seq: int, frame: str) -> None:
        """An event that stands in no log, to follow the logged one with its number. Too many of them are let go."""
        if len(self._after) < MOST_WAITING:
            self._after.append((event_seq, frame, None))
            self.heal(event_seq)

    async def reply(self, event_seq: int, frame: str) -> None:
        """The same for an answer to this socket; returns when it has gone out (or never will)."""
        if self.closed:
            return
        sent: asyncio.Future[None] = self._loop.create_future()
        self._after.append((event_seq, frame, sent))
        self.heal(event_seq)
        await sent

    def heal(self, newest: int) -> None:
        """Events up to this number exist: go and get what is missing."""
        self._target = max(self._target, newest)
        self._wake()

    def beat(self, newest: int) -> None:
        self.beat_at, self._beat_due = self._loop.time(), True
        self.heal(newest)

    def close(self, code: int, reason: str) -> None:
        """Say goodbye and send nothing more."""
        if not self.closed:
            self.end()
            self._task = self._loop.create_task(self._say_goodbye(code, reason))

    def end(self) -> None:
        """The socket is gone: nobody is to wait for it."""
        self.closed = True
        self._waiting.clear()
        self._forget_unlogged()

    def _wake(self) -> None:
        if not (self._working or self.held or self.closed):
            self._working = True
            # Eager: a socket that takes its frame at once costs no turn of the loop.
            self._task = asyncio.Task(self._work(), loop=self._loop, eager_start=True)

    async def _work(self) -> None:
        try:
            await self._send_what_waits()
        except OSError:
            self.end()  # The client has gone; its own task ends the rest.
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
                await self._put(frame)
                _resolve(sent)
            elif self._beat_due:
                self._beat_due = False
                await self._put(frames.heartbeat(event_seq=self.last_seq, project=self.admission.path))
            else:
                self._waiting.clear()
                return

    async def _catch_up(self) -> bool:
        """Send what the log has; answers whether that was of use."""
        asked, self._check = self._check, False
        since = self.last_seq
        try:
            page = await self._read_log(self.admission.project_id, since)
        except Exception as error:
            logger.warning("the event log could not be read: %s", type(error).__name__)
            if asked:
                self.close(CLOSE_TRY_LATER, "the store does not answer")
            return False
        self._target = max(self._target, page.newest)
        if page.lost:
            self._target = max(page.newest, max(self._waiting, default=0))
            await self._put(frames.resync(event_seq=page.newest, project=self.admission.path))
            self.last_seq = page.newest
            return True
        for event_seq, frame in page.rows:
            if self.closed or self._rewind is not None:
                return True
            await self._put(frame)
            self.last_seq = event_seq
        return asked or bool(page.rows)

    async def _bear_with(self, fruitless: int) -> None:
        """The log does not show what was announced. Ask again a few times, then leave it to the next look at the numbers."""
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
            pass  # It had gone already.

    def abort(self) -> None:
        """For a socket that takes nothing any more, not even a goodbye."""
        self.end()
        if self.owner is not None:
            self.owner.cancel()

    def _forget_unlogged(self) -> None:
        while self._after:
            _resolve(self._after.pop()[2])


def _resolve(sent: asyncio.Future[None] | None) -> None:
    if sent is not None and not sent.done():
        sent.set_result(None)
