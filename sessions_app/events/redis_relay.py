"""Relays events between processes, through Redis and the channel layer.

Best effort: events that do not arrive are read from the log within seconds. So nothing here waits long or is
retried. Each process has one channel in one group and fans out to its own sockets.
"""

import asyncio
import atexit
import logging
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from channels.layers import channel_layers

GROUP = "stillhere.events"
SEND_SECONDS = 0.25
BREAK_SECONDS = 2.0
MOST_WAITING = 1_000
MOST_IN_A_MESSAGE = 100
# Redis forgets groups after a day, or all at once when it restarts: so each process joins again regularly.
ENTER_EVERY_SECONDS = 30
# How long one blocking read lasts; the client's own socket timeout (5 s) must not end an idle one.
POLL_SECONDS = 2
LEAVE_SECONDS = 0.5
Item = tuple[uuid.UUID, int, str, bool]
Arrived = Callable[[Item], None]
logger = logging.getLogger(__name__)


def new_layer() -> Any:
    """A channel layer for one event loop."""
    layer: Any = channel_layers.make_backend("default")
    layer.brpop_timeout = POLL_SECONDS
    return layer


class Relay:
    """This process's member of the group: one task sends, one receives, one renews the membership."""

    def __init__(self, arrived: Arrived, *, group: str = GROUP) -> None:
        self._arrived, self._group, self._origin, self._layer = arrived, group, uuid.uuid4().hex, new_layer()
        self._waiting: asyncio.Queue[Item] = asyncio.Queue(MOST_WAITING)
        self._tasks: list[asyncio.Task[None]] = []
        self._channel = ""
        self._broken_until = 0.0

    async def start(self) -> None:
        self._channel = await self._layer.new_channel()
        loops = (self._stay_entered(), self._receive(), self._send())
        self._tasks = [asyncio.create_task(loop) for loop in loops]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._layer.group_discard(self._group, self._channel)
                await self._layer.close_pools()
        except Exception as error:
            logger.info("left without telling Redis: %s", type(error).__name__)

    def publish(self, item: Item) -> None:
        """Queue an event for the other processes. If the queue is full, it is dropped: they will read the log."""
        if not self._waiting.full():
            self._waiting.put_nowait(item)

    async def _send(self) -> None:
        while True:
            batch = [await self._waiting.get()]
            while len(batch) < MOST_IN_A_MESSAGE and not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            if time.monotonic() < self._broken_until:
                continue
            try:
                async with asyncio.timeout(SEND_SECONDS):
                    await self._layer.group_send(self._group, message_of(self._origin, batch))
                self._note(broken=False)
            except Exception as error:
                self._note(broken=True, error=error)

    async def _stay_entered(self) -> None:
        while True:
            try:
                await self._layer.group_add(self._group, self._channel)
                await asyncio.sleep(ENTER_EVERY_SECONDS)
            except Exception:
                await asyncio.sleep(BREAK_SECONDS)

    async def _receive(self) -> None:
        while True:
            try:
                message = await self._layer.receive(self._channel)
                if message.get("origin") != self._origin:
                    for item in items_of(message):
                        self._arrived(item)
            except Exception as error:
                # A restarted Redis may have lost the group.
                self._note(broken=True, error=error)
                await asyncio.sleep(BREAK_SECONDS)
                self._tasks[0].cancel()
                self._tasks[0] = asyncio.create_task(self._stay_entered())

    def _note(self, *, broken: bool, error: Exception | None = None) -> None:
        """Open or close the circuit breaker; log a change."""
        if broken and not self._broken_until:
            logger.warning(
                "Redis does not respond (%s). Events reach other processes by the log until it does.", type(error).__name__
            )
        if not broken and self._broken_until:
            logger.warning("Redis responds again.")
        self._broken_until = time.monotonic() + BREAK_SECONDS if broken else 0.0


class DetachedRelay:
    """For processes without sockets (commands): a thread that sends what it can and never blocks the caller."""

    def __init__(self) -> None:
        self._waiting: list[Item] = []
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_awaited = False

    def publish(self, item: Item) -> None:
        with self._lock:
            if len(self._waiting) < MOST_WAITING:
                self._waiting.append(item)
            if self._thread is None:
                self._thread = threading.Thread(target=self._send, name="events", daemon=True)
                self._thread.start()
                # Once: an agent's process may live for days, and begins a thread for nearly every event.
                if not self._is_awaited:
                    self._is_awaited = True
                    atexit.register(self._wait_for_end)

    def _wait_for_end(self) -> None:
        thread = self._thread
        if thread is not None:
            thread.join(LEAVE_SECONDS)

    def _send(self) -> None:
        while True:
            with self._lock:
                batch, self._waiting = self._waiting[:MOST_IN_A_MESSAGE], self._waiting[MOST_IN_A_MESSAGE:]
                if not batch:
                    self._thread = None
                    return
            try:
                asyncio.run(self._send_once(batch))
            except Exception as error:
                logger.info("Redis did not take an event: %s", type(error).__name__)

    async def _send_once(self, batch: list[Item]) -> None:
        layer = new_layer()
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await layer.group_send(GROUP, message_of("", batch))
        finally:
            await layer.close_pools()


def message_of(origin: str, batch: list[Item]) -> dict[str, Any]:
    items = [[project_id.hex, event_seq, frame, logged] for project_id, event_seq, frame, logged in batch]
    return {"type": "events", "origin": origin, "items": items}


def items_of(message: dict[str, Any]) -> list[Item]:
    return [(uuid.UUID(project_id), event_seq, frame, logged) for project_id, event_seq, frame, logged in message["items"]]
