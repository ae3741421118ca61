"""Fan-out of committed events: from any thread to every listening socket, in this process and in others.

`push` never raises and never waits. Lost events (a dead Redis, a full queue) are detected by number: each socket knows
its last one, a check of the newest numbers every few seconds shows which are behind, and the log has the missing events.
"""

import asyncio
import logging
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

import orjson
from django.conf import settings

from sessions_app.core.storage.database_threads import DatabaseThreads
from sessions_app.events import listener_queries
from sessions_app.events.listener import Listener
from sessions_app.events.listener_queries import Admission, LogPage, Standing
from sessions_app.events.redis_relay import DetachedRelay, Item, Relay

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
    """Deliver a committed event to all listeners. Never raises, never waits."""
    _push((project_id, event_seq, frame, True))


def push_unlogged(project_id: uuid.UUID, frame: str) -> None:
    """Deliver an event that is not in the log."""
    _push((project_id, 0, frame, False))


@contextmanager
def sparing(listener: Listener) -> Iterator[None]:
    """Unlogged events pushed in this block reach every listener but this one."""
    token = _spared.set(listener)
    try:
        yield
    finally:
        _spared.reset(token)


async def start(loop: asyncio.AbstractEventLoop) -> "Hub":
    """Start the hub; called by the server on its own loop."""
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
    """The hub of this process; started now if no server has started it."""
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
        self._sockets: Counter[int] = Counter()
        self._arrived: deque[tuple[Item, Listener | None]] = deque()
        self._woken = False
        self._reading: dict[tuple[uuid.UUID, int], asyncio.Future[LogPage]] = {}
        self._readers = DatabaseThreads(READERS, "events")
        # A separate thread, so that revoked listeners are closed in time however busy the readers are.
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
        """Callable from any thread. The loop is woken once for all items that arrive before it runs."""
        if self._relay is None and item[0] not in self._listeners:
            return
        self._arrived.append((item, spared))
        if not self._woken:
            self._woken = True
            self._loop.call_soon_threadsafe(self._take_arrived)

    def add(self, listener: Listener) -> None:
        self._sockets[listener.admission.caller.user_id] += 1
        self._listeners.setdefault(listener.admission.project_id, set()).add(listener)

    def remove(self, listener: Listener) -> None:
        listener.end()
        self._leave(listener.admission.caller.user_id)
        present = self._listeners.get(listener.admission.project_id, set())
        present.discard(listener)
        if not present:
            self._listeners.pop(listener.admission.project_id, None)

    def sockets_of(self, user_id: int) -> int:
        """Number of the account's sockets in this process."""
        return self._sockets[user_id]

    def _leave(self, user_id: int) -> None:
        self._sockets[user_id] -= 1
        if not self._sockets[user_id]:
            del self._sockets[user_id]

    async def read[T](self, work: Callable[[], T]) -> T:
        """Run `work` on one of a few threads that keep their database connections."""
        return await self._loop.run_in_executor(self._readers, listener_queries.with_connection, work)

    async def read_log(self, project_id: uuid.UUID, since: int) -> LogPage:
        """The log after `since`. Concurrent reads of the same range are shared."""
        wanted = (project_id, since)
        reading = self._reading.get(wanted)
        if reading is None:
            reading = asyncio.ensure_future(self.read(partial(listener_queries.log_after, project_id, since)))
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
        """Offer to some now, to the others on the loop's next turn: a thousand sockets must not delay the response to a save."""
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
        """Check access, missing events and due heartbeats of all sockets with one database read."""
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
        """None if the database does not respond: then no socket is closed, and heartbeats continue."""
        work = partial(listener_queries.with_connection, partial(listener_queries.standing, admissions))
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
