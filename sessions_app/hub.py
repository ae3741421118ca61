"""The door for committed events: from whatever thread made them to every socket that listens, here and in other processes.

`push` never raises and never waits. What is lost on the way (a dead Redis, a full queue) is found by number: each
socket knows its last one, a look at the newest ones every few seconds shows who is behind, and the log has the rest.
"""

import asyncio
import logging
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

import orjson
from django.conf import settings

from sessions_app.live import reads
from sessions_app.live.listener import Listener
from sessions_app.live.reads import Admission, LogPage, Standing
from sessions_app.live.relay import DetachedRelay, Item, Relay
from sessions_app.live.threads import DatabaseThreads

READERS = 4
LOOK_SECONDS = 3.0
LOOK_TIMEOUT_SECONDS = 10
BLOCKED_SECONDS = 60
AT_ONCE = 50
CLOSE_UNKNOWN, CLOSE_REVOKED = 4404, 4409
logger = logging.getLogger(__name__)
_spared: ContextVar[Listener | None] = ContextVar("spared", default=None)
_hub: "Hub | None" = None
_detached = DetachedRelay()


def push(project_id: uuid.UUID, event_seq: int, frame: str) -> None:
    """Hand a committed event to whoever listens. Never raises, never waits."""
    _push((project_id, event_seq, frame, True))


def push_unlogged(project_id: uuid.UUID, frame: str) -> None:
    """Hand over an event that stands in no log."""
    _push((project_id, 0, frame, False))


@contextmanager
def sparing(listener: Listener) -> Iterator[None]:
    """What is pushed unlogged in here reaches everybody but this listener."""
    token = _spared.set(listener)
    try:
        yield
    finally:
        _spared.reset(token)


async def start(loop: asyncio.AbstractEventLoop) -> "Hub":
    """Begin; called by the server on its own loop."""
    global _hub
    _hub = Hub(loop)
    await _hub.start()
    return _hub


async def stop() -> None:
    global _hub
    ending, _hub = _hub, None
    if ending is not None:
        await ending.stop()


async def running() -> "Hub":
    """The hub of this process, begun now where no server did."""
    return _hub or await start(asyncio.get_running_loop())


def _push(item: Item) -> None:
    try:
        if _hub is not None:
            _hub.publish(item, _spared.get())
        elif settings.REDIS_URL:
            _detached.publish(item)
    except Exception as error:
        logger.warning("an event was not pushed: %s", type(error).__name__)


class Hub:
    """All sockets of this process, by project. Only `publish` may be called from other threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._listeners: dict[uuid.UUID, set[Listener]] = {}
        self._arrived: deque[tuple[Item, Listener | None]] = deque()
        self._woken = False
        self._reading: dict[tuple[uuid.UUID, int], asyncio.Future[LogPage]] = {}
        self._readers = DatabaseThreads(READERS, "events")
        # Of its own, so that who was shut out leaves in time however much the others read.
        self._watcher = DatabaseThreads(1, "watch")
        self._watching: asyncio.Task[None] | None = None
        self._relay = Relay(self._deliver) if settings.REDIS_URL else None
        self._look_seconds = min(LOOK_SECONDS, settings.HEARTBEAT_SECONDS / 4)

    async def start(self) -> None:
        if self._relay is not None:
            await self._relay.start()
        self._watching = self._loop.create_task(self._watch())

    async def stop(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
        if self._relay is not None:
            await self._relay.stop()
        for threads in (self._readers, self._watcher):
            await self._loop.run_in_executor(None, threads.close)

    def publish(self, item: Item, spared: Listener | None) -> None:
        """From any thread. Threads that come while the loop has not yet looked do not wake it again."""
        if self._relay is None and item[0] not in self._listeners:
            return
        self._arrived.append((item, spared))
        if not self._woken:
            self._woken = True
            self._loop.call_soon_threadsafe(self._take_arrived)

    def add(self, listener: Listener) -> None:
        self._listeners.setdefault(listener.admission.project_id, set()).add(listener)

    def remove(self, listener: Listener) -> None:
        listener.end()
        present = self._listeners.get(listener.admission.project_id, set())
        present.discard(listener)
        if not present:
            self._listeners.pop(listener.admission.project_id, None)

    async def read[T](self, work: Callable[[], T]) -> T:
        """Run `work` on one of a few threads that keep their database connections."""
        return await self._loop.run_in_executor(self._readers, reads.with_connection, work)

    async def read_log(self, project_id: uuid.UUID, since: int) -> LogPage:
        """The log after `since`. Sockets that miss the same at the same time share one read."""
        wanted = (project_id, since)
        reading = self._reading.get(wanted)
        if reading is None:
            reading = asyncio.ensure_future(self.read(partial(reads.log_after, project_id, since)))
            self._reading[wanted] = reading
            reading.add_done_callback(lambda _: self._reading.pop(wanted, None))
        return await asyncio.shield(reading)

    def _take_arrived(self) -> None:
        self._woken = False
        while self._arrived:
            item, spared = self._arrived.popleft()
            if self._relay is not None:
                self._relay.publish(item)
            self._deliver(item, spared)

    def _deliver(self, item: Item, spared: Listener | None = None) -> None:
        project_id, event_seq, frame, logged = item
        listeners = self._listeners.get(project_id)
        if not listeners:
            return
        follows = event_seq if logged else int(orjson.loads(frame)["event_seq"])
        offer = Listener.offer if logged else Listener.offer_unlogged
        self._hand_out([one for one in listeners if one is not spared], partial(offer, event_seq=follows, frame=frame))

    def _hand_out(self, listeners: list[Listener], offer: Callable[[Listener], None]) -> None:
        """To some now, to the others on the loop's next turn: a thousand sockets must not hold up the answer to a save."""
        for listener in listeners[:AT_ONCE]:
            offer(listener)
        if len(listeners) > AT_ONCE:
            self._loop.call_soon(self._hand_out, listeners[AT_ONCE:], offer)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._look_seconds)
            try:
                await self._look()
            except Exception:
                logger.exception("looking after the sockets failed")

    async def _look(self) -> None:
        """Who may still listen, who is behind, whose heartbeat is due: one look at the database for all."""
        everyone = [listener for listeners in self._listeners.values() for listener in listeners if not listener.closed]
        if not everyone:
            return
        now = await self._standing([listener.admission for listener in everyone])
        for listener in everyone:
            if listener.sending_since and self._loop.time() - listener.sending_since > BLOCKED_SECONDS:
                listener.abort()
            elif now is not None and not now.admits(listener.admission):
                listener.close(CLOSE_REVOKED, "revoked")
            elif now is not None and listener.admission.project_id not in now.numbers:
                listener.close(CLOSE_UNKNOWN, "unknown project")
            else:
                self._heal(listener, listener.last_seq if now is None else now.numbers[listener.admission.project_id])

    async def _standing(self, admissions: list[Admission]) -> Standing | None:
        """None where the database does not answer: then nobody is shut out, and hearts beat on."""
        work = partial(reads.with_connection, partial(reads.standing, admissions))
        try:
            async with asyncio.timeout(LOOK_TIMEOUT_SECONDS):
                return await self._loop.run_in_executor(self._watcher, work)
        except Exception as error:
            logger.warning("could not look after the sockets: %s", type(error).__name__)
            return None

    def _heal(self, listener: Listener, newest: int) -> None:
        due = settings.HEARTBEAT_SECONDS - self._look_seconds
        if self._loop.time() - listener.beat_at >= due:
            listener.beat(newest)
        else:
            listener.heal(newest)
