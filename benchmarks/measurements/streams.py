"""P17: many streams at once: time from a chunk until its watcher has it, memory of a stream, cost of a chunk in a long answer."""

import asyncio
import json
import time
from dataclasses import dataclass, field
from statistics import median, quantiles

from benchmarks.support.http_client import WrongAnswer, request_bytes, without_gc
from benchmarks.support.paced_requests import Saver
from benchmarks.support.sample_sizes import WARM_UP, Plan
from benchmarks.support.sides import Stillhere
from benchmarks.support.sockets import allowed_sockets, resident_kb, run
from benchmarks.support.table import Row

STREAMS, CHUNKS_A_SECOND, P99_MS, STREAM_KB = 200, 50, 250, 60
# A producer sends what it made in this time with one request.
EVERY_SECONDS = 0.2
LONG = 5_000
PATIENCE_SECONDS = 20
DATA = b'data: "'


def streams(plan: Plan) -> list[Row]:
    count = allowed_sockets(max(2, STREAMS // plan.fewer) * 4) // 4
    # A separate server: streams would reuse memory that other measurements had freed.
    with Stillhere() as side:
        found = run(_measure(side, count, plan.paced_seconds, plan.requests))
    what = f"{count} streams, {found.rate:,.0f} chunks/s in all"
    return [
        _row(f"{what}: chunk → watcher, p99", quantiles(found.took, n=100)[98] * 1000, P99_MS, "ms"),
        Row(
            "P17", f"{what}: chunks a second of those due", found.rate, count * CHUNKS_A_SECOND, "goal", "/s", 0.95, at_most=False
        ),
        _row(f"memory of a stream with its watcher, {count} of them", found.stream_kb, STREAM_KB, "KB"),
        Row("P17", f"append behind {LONG:,} chunks", found.late * 1000, found.early * 1000, "first", "ms", 1.25, at_most=True),
    ]


def _row(what: str, figure: float, goal: float, unit: str) -> Row:
    return Row("P17", what, figure, goal, "goal", unit, 1.0, at_most=True)


@dataclass(slots=True)
class Found:
    """Seconds of each chunk until its watcher had it, and of an append to a new and to a long stream."""

    took: list[float] = field(default_factory=list)
    rate: float = 0.0
    stream_kb: float = 0.0
    early: float = 0.0
    late: float = 0.0


class _Stream:
    def __init__(self, side: Stillhere, session: str) -> None:
        self._side, self._session, self._offset = side, session, 0
        self.arrived: list[float] = []
        self.name = ""

    async def begin(self) -> None:
        self.producer = await Saver.connect(self._side.port)
        wire = await asyncio.open_connection("127.0.0.1", self._side.port)
        path = f"/api/v1/sessions/{self._session}/streams"
        wire[1].write(request_bytes("POST", path, self._side.calls.headers, b'{"message":"m1"}'))
        head = await wire[0].readuntil(b"\r\n\r\n")
        if b" 201 " not in head.split(b"\r\n")[0]:
            raise WrongAnswer(head.decode())
        self.name = json.loads(await wire[0].read(int(_header(head, b"content-length"))))["stream"]
        self._reader, self._writer = wire

    def watch(self) -> asyncio.Task[None]:
        self._writer.write(request_bytes("GET", f"/api/v1/streams/{self.name}", self._side.calls.headers))
        return asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        """Each chunk is the time at which it was sent."""
        while line := await self._reader.readline():
            if line.startswith(DATA):
                self.arrived.append(time.perf_counter() - float(line[len(DATA) : -2]))

    @property
    def sent(self) -> int:
        return self._offset

    async def append(self, count: int) -> float:
        began = time.perf_counter()
        body = json.dumps({"offset": self._offset, "chunks": [f"{began:.6f}"] * count}).encode()
        await self.producer.send(request_bytes("POST", f"/api/v1/streams/{self.name}/chunks", self._side.calls.headers, body))
        self._offset += count
        return time.perf_counter() - began

    def close(self) -> None:
        self._writer.close()
        self.producer.close()


def _header(head: bytes, name: bytes) -> str:
    lines = (line.partition(b":") for line in head.split(b"\r\n"))
    return next(value for found, _, value in lines if found.lower() == name).decode()


async def _measure(side: Stillhere, count: int, seconds: float, requests: int) -> Found:
    found = Found()
    sessions = side.new_sessions(2 * count + 1)
    first = _Stream(side, sessions.pop())
    await first.begin()
    await _appends(first, WARM_UP)
    found.early = await _appends(first, requests)
    for _ in range(LONG // 1_000):
        await first.append(1_000)
    found.late = await _appends(first, requests)
    # As many streams that stay: what the server's threads and their connections take under this load, however many streams there
    # are, is no part of a further stream's memory.
    earlier = [_Stream(side, session) for session in sessions[count:]]
    watching = await _begin(earlier)
    await _produce_all(earlier, seconds)
    held = [_Stream(side, session) for session in sessions[:count]]
    before = resident_kb(side.server.pid)
    watching += await _begin(held)
    with without_gc():
        began = await _produce_all(held, seconds)
        found.rate = sum(len(stream.arrived) for stream in held) / (time.perf_counter() - began)
    found.stream_kb = (resident_kb(side.server.pid) - before) / count
    found.took = [took for stream in held for took in stream.arrived]
    for task in watching:
        task.cancel()
    for stream in [first, *earlier, *held]:
        stream.close()
    return found


async def _begin(streams: list[_Stream]) -> list[asyncio.Task[None]]:
    for stream in streams:
        await stream.begin()
    return [stream.watch() for stream in streams]


async def _until_arrived(held: list[_Stream]) -> None:
    deadline = time.perf_counter() + PATIENCE_SECONDS
    while any(len(stream.arrived) < stream.sent for stream in held) and time.perf_counter() < deadline:
        await asyncio.sleep(0.01)


async def _appends(stream: _Stream, count: int) -> float:
    return median([await stream.append(1) for _ in range(count)])


async def _produce_all(held: list[_Stream], seconds: float) -> float:
    """Returns when it began, once each watcher has everything."""
    began = time.perf_counter() + 0.5
    shift = EVERY_SECONDS / len(held)
    await asyncio.gather(*(_produce(stream, began + number * shift, seconds) for number, stream in enumerate(held)))
    await _until_arrived(held)
    return began


async def _produce(stream: _Stream, first: float, seconds: float) -> None:
    """At a fixed rate; one request at a time, so a slow server gets them late."""
    for number in range(int(seconds / EVERY_SECONDS)):
        await asyncio.sleep(max(0.0, first + number * EVERY_SECONDS - time.perf_counter()))
        await stream.append(int(CHUNKS_A_SECOND * EVERY_SECONDS))
