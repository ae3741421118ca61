"""Saves at a fixed rate, whatever the responses take: each is timed from the moment it was due, so that waiting counts."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.support.http_client import HEAD_END, WrongAnswer, read_head


class Saver:
    """One connection on the loop, one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def connect(cls, port: int) -> "Saver":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def send(self, request: bytes) -> None:
        self._writer.write(request)
        head = bytearray(await self._reader.readuntil(HEAD_END))
        known = read_head(head, len(head))
        assert known is not None  # noqa: S101
        body = await self._reader.readexactly(known.total - known.start)
        if known.status >= 400:
            raise WrongAnswer(f"{known.status} {body[:500]!r}")

    def close(self) -> None:
        self._writer.close()


@dataclass(frozen=True, slots=True)
class Paced:
    """When each save of a writer was due, and the seconds until its answer."""

    due: list[float] = field(default_factory=list)
    took: list[float] = field(default_factory=list)


async def save_paced(port: int, source: Callable[[], bytes], *, first: float, every: float, count: int) -> Paced:
    """`count` saves, the first one at `first` on the clock of `time.perf_counter`."""
    saver, done = await Saver.connect(port), Paced()
    for number in range(count):
        due = first + number * every
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        await saver.send(source())
        done.due.append(due)
        done.took.append(time.perf_counter() - due)
    saver.close()
    return done
