"""Wakes the readers of streams: those of this process directly and with the chunks, those of other processes through Redis.

`push` never raises and never waits. A wake-up that is lost costs a reader at most `LOOK_SECONDS`: the numbers of all streams that
are read here are looked up that often. Chunks that are not in memory are read from the database.
"""

import asyncio
import logging
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from django.conf import settings

from generation_app.streams import queries
from generation_app.streams.queries import OPEN
from sessions_app.events import hub as event_hub
from sessions_app.events.redis_relay import Item, Relay

GROUP = "stillhere.streams"
LOOK_SECONDS = 1.0
# Of one stream, in memory while somebody reads it.
TAIL_CHUNKS, TAIL_BYTES = 128, 16_000
# What `_next` waits for without an event: then the reader's connection is tried.
QUIET_SECONDS = 15.0
Push = tuple[uuid.UUID, int, Sequence[str], str]
logger = logging.getLogger(__name__)
_hub: "StreamHub | None" = None


def push(stream_id: uuid.UUID, first: int, chunks: Sequence[str], state: str) -> None:
    """Tell of committed chunks, the first of which has the number `first`, or of the stream's end."""
    try:
        if _hub is not None:
            _hub.publish((stream_id, first, chunks, state))
    except Exception as error:
        logger.warning("the readers of a stream were not woken: %s", type(error).__name__)


async def start(loop: asyncio.AbstractEventLoop) -> "StreamHub":
    """Called by the server on its own loop."""
    global _hub
    _hub = StreamHub(loop)
    await _hub.start()
    return _hub


async def stop() -> None:
    global _hub
    ending, _hub = _hub, None
    if ending is not None:
        await ending.stop()


def running() -> "StreamHub":
    """Raises RuntimeError in a process that does not serve."""
    if _hub is None:
        raise RuntimeError("The hub of streams is not running.")
    return _hub


class Watched:
    """A stream that somebody reads: how far it is, and its newest chunks. Used on the event loop's thread only."""

    __slots__ = ("_size", "count", "first", "readers", "state", "tail", "woken")

    def __init__(self) -> None:
        self.count, self.state, self.readers = 0, OPEN, 0
        # Chunk number `first` is the first one in `tail`.
        self.first, self._size = 0, 0
        self.tail: deque[str] = deque()
        self.woken = asyncio.Event()

    def take(self, first: int, chunks: Sequence[str], state: str) -> None:
        if first != self.first + len(self.tail):
            if first < self.count:
                return self.look(first + len(chunks), state)  # Known already, or out of order: the database has it.
            self.tail.clear()
            self.first, self._size = first, 0
        self.tail.extend(chunks)
        self._size += sum(map(len, chunks))
        while len(self.tail) > TAIL_CHUNKS or self._size > TAIL_BYTES:
            self._size -= len(self.tail.popleft())
            self.first += 1
        return self.look(first + len(chunks), state)

    def look(self, count: int, state: str) -> None:
        """What is known to exist now."""
        self.count = max(self.count, count)
        self.state = state if self.state == OPEN else self.state
        self.wake()

    def wake(self) -> None:
        self.woken.set()
        self.woken = asyncio.Event()

    def from_memory(self, offset: int) -> list[str]:
        """The chunks from this number on, if they are in memory."""
        if not self.first <= offset < self.first + len(self.tail):
            return []
        return list(self.tail)[offset - self.first :]


class StreamHub:
    """The readers of this process. Only `publish` may be called from other threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._watched: dict[uuid.UUID, Watched] = {}
        self._arrived: deque[Push] = deque()
        self._woken = self._stopping = False
        self._relay = Relay(self._told, group=GROUP) if settings.REDIS_URL else None
        self._looking: asyncio.Task[None] | None = None

    async def start(self) -> None:
        if self._relay is not None:
            await self._relay.start()
        self._looking = self._loop.create_task(self._look())

    async def stop(self) -> None:
        self.close_readers()
        if self._looking is not None:
            self._looking.cancel()
        if self._relay is not None:
            await self._relay.stop()

    def close_readers(self) -> None:
        """Every reader stops, and finds its place again by its number."""
        self._stopping = True
        for watched in self._watched.values():
            watched.wake()

    def publish(self, item: Push) -> None:
        """Callable from any thread. The loop is woken once for all items that arrive before it runs."""
        if self._relay is None and item[0] not in self._watched:
            return
        self._arrived.append(item)
        if not self._woken:
            self._woken = True
            self._loop.call_soon_threadsafe(self._take_arrived)

    async def read(self, stream_id: uuid.UUID, offset: int) -> AsyncGenerator[list[str]]:
        """Yields the chunks from `offset` on, as JSON texts in lists, until the stream has ended; an empty list now and then
        while nothing comes. Ends early, with the state still `open`, if the server ends.

        A caller that needs the state afterwards watches the stream longer than this.
        """
        with self.watch(stream_id) as watched:
            await self._look_at([stream_id])
            while not self._stopping:
                woken = watched.woken
                if offset < watched.count:
                    found = watched.from_memory(offset) or await self._from_database(stream_id, offset)
                    if not found:  # Dropped meanwhile.
                        return
                    offset += len(found)
                    yield found
                elif watched.state != OPEN:
                    return
                else:
                    try:
                        async with asyncio.timeout(QUIET_SECONDS):
                            await woken.wait()
                    except TimeoutError:
                        yield []

    @contextmanager
    def watch(self, stream_id: uuid.UUID) -> Iterator[Watched]:
        """Keeps what is known of a stream, as long as anybody watches it."""
        watched = self._watched.setdefault(stream_id, Watched())
        watched.readers += 1
        try:
            yield watched
        finally:
            watched.readers -= 1
            if not watched.readers:
                self._watched.pop(stream_id, None)

    def _take_arrived(self) -> None:
        self._woken = False
        told: dict[uuid.UUID, Item] = {}
        while self._arrived:
            stream_id, first, chunks, state = self._arrived.popleft()
            told[stream_id] = (stream_id, first + len(chunks), state, True)
            if (watched := self._watched.get(stream_id)) is not None:
                watched.take(first, chunks, state)
        if self._relay is not None:
            for item in told.values():
                self._relay.publish(item)

    def _told(self, item: Item) -> None:
        """Another process wrote: its chunks are in the database."""
        stream_id, count, state, _ = item
        if (watched := self._watched.get(stream_id)) is not None:
            watched.look(count, state)

    async def _from_database(self, stream_id: uuid.UUID, offset: int) -> list[str]:
        live = await event_hub.running()
        return await live.read(partial(queries.chunks_from, stream_id, offset))

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                if self._watched:
                    await self._look_at(list(self._watched))
            except Exception as error:
                logger.warning("could not look after streams: %s", type(error).__name__)

    async def _look_at(self, stream_ids: list[uuid.UUID]) -> None:
        live = await event_hub.running()
        found = await live.read(partial(queries.standing_of, stream_ids))
        for stream_id in stream_ids:
            watched = self._watched.get(stream_id)
            if watched is None:
                continue
            if stream_id not in found:  # Erased with its session.
                watched.look(0, "interrupted")
            elif (watched.count, watched.state) != found[stream_id]:
                watched.look(*found[stream_id])
