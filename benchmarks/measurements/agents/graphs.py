"""P15: LangGraph's state in a project, through HTTP and `stillhere.langgraph` (clients/python), beside LangGraph's own local
savers in the same run."""

import asyncio
import os
import time
from collections.abc import Awaitable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.base import BaseStore
from langgraph.store.sqlite.aio import AsyncSqliteStore

from benchmarks.support.http_client import without_gc
from benchmarks.support.sample_sizes import Plan
from benchmarks.support.sides import Stillhere, filled, kept
from benchmarks.support.table import Row
from stillhere.langgraph import StillhereSaver, StillhereStore

CHECKPOINTS, STATE_BYTES, LISTED = 100, 120_000, 20
THREADS = 5
# Ours may take so many times the local one's time.
PUT, READ = 3, 5


def graphs(plan: Plan) -> list[Row]:
    """Put, read the latest, list 20, delete a thread of 100 checkpoints of 120 KB; and a store of items."""
    return asyncio.run(_graphs(plan))


async def _graphs(plan: Plan) -> list[Row]:
    seeded = filled("-m", "benchmarks.seeding.memory_seed", "bench", "1")
    side = kept(Stillhere(seeded))
    named = (f"http://127.0.0.1:{side.port}", side.calls.headers["Authorization"].removeprefix("Bearer "), "/bench/graphs")
    ours, our_store = StillhereSaver(*named), StillhereStore(*named)
    threads = max(2, min(THREADS, plan.requests // 20))
    with TemporaryDirectory() as folder:
        async with (
            AsyncSqliteSaver.from_conn_string(str(Path(folder) / "savers.db")) as local,
            AsyncSqliteStore.from_conn_string(str(Path(folder) / "store.db")) as local_store,
        ):
            await local_store.setup()
            saved = [await _saver_times([ours, local], threads), await _store_times([our_store, local_store], plan)]
    await ours.connection.aclose()
    await our_store.connection.aclose()
    return [_row(what, took, limit) for figures in saved for what, took, limit in figures]


type Figure = tuple[str, list[float], float]


async def _saver_times(sides: list[BaseCheckpointSaver[Any]], threads: int) -> list[Figure]:
    """Milliseconds of each act of each side, in turn."""
    took: dict[str, list[list[float]]] = {name: [[] for _ in sides] for name in ("put", "latest", "list", "delete")}
    with without_gc():
        for thread in range(threads):
            for step in range(CHECKPOINTS):
                for at, side in enumerate(sides):
                    checkpoint = _checkpoint(step)
                    put = side.aput(_config(thread), checkpoint, _metadata(step), checkpoint["channel_versions"])
                    await _timed(took["put"][at], put)
                    await _timed(took["latest"][at], side.aget_tuple(_config(thread)))
            for at, side in enumerate(sides):
                for _ in range(5):
                    await _timed(took["list"][at], _listed(side, thread))
                await _timed(took["delete"][at], side.adelete_thread(f"t{thread}"))
    names = {
        "put": (f"put a checkpoint of {STATE_BYTES // 1000} KB", PUT),
        "latest": ("read the latest", READ),
        "list": (f"list {LISTED}", READ),
        "delete": (f"delete a thread of {CHECKPOINTS}", READ),
    }
    return [(f"LangGraph: {what}", [median(times) for times in took[name]], limit) for name, (what, limit) in names.items()]


async def _store_times(sides: list[BaseStore], plan: Plan) -> list[Figure]:
    took: dict[str, list[list[float]]] = {name: [[] for _ in sides] for name in ("put", "get", "search")}
    with without_gc():
        for number in range(max(20, min(100, plan.requests))):
            for at, side in enumerate(sides):
                key, value = f"k{number}", {"n": number, "text": "x" * 500}
                await _timed(took["put"][at], side.aput(("users", "1"), key, value))
                await _timed(took["get"][at], side.aget(("users", "1"), key))
                await _timed(took["search"][at], side.asearch(("users",), filter={"n": number}))
    limits = {"put": PUT, "get": READ, "search": READ}
    return [(f"LangGraph's store: {name}", [median(times) for times in took[name]], limits[name]) for name in took]


async def _timed(times: list[float], act: Awaitable[Any]) -> None:
    began = time.perf_counter()
    await act
    times.append((time.perf_counter() - began) * 1000)


async def _listed(side: BaseCheckpointSaver[Any], thread: int) -> None:
    found = [each async for each in side.alist(_config(thread), limit=LISTED)]
    if len(found) != LISTED:
        raise AssertionError(len(found))


def _config(thread: int) -> RunnableConfig:
    return {"configurable": {"thread_id": f"t{thread}", "checkpoint_ns": ""}}


def _metadata(step: int) -> CheckpointMetadata:
    return {"source": "loop", "step": step, "parents": {}}


def _checkpoint(step: int) -> Checkpoint:
    """With one channel that has another value each time, as a list of messages has."""
    return {
        "v": 4,
        "id": str(uuid6(clock_seq=step)),
        "ts": "2026-01-01T00:00:00+00:00",
        "channel_values": {"messages": os.urandom(STATE_BYTES // 2).hex()},
        "channel_versions": {"messages": f"{step + 1:032}.0"},
        "versions_seen": {},
        "updated_channels": None,
    }


def _row(what: str, took: list[float], limit: float) -> Row:
    ours, local = took
    return Row("P15", what, ours, local, "local", "ms", limit, at_most=True)
