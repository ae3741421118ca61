"""Conversations of agent frameworks in a project, through HTTP and clients/python, beside a local store in the same run.

That is the SQLite file of the OpenAI Agents SDK, and for the Claude Agent SDK a JSONL file: so its program keeps transcripts.
"""

import asyncio
import json
import os
from collections.abc import Awaitable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agents import SQLiteSession
from agents.memory import Session
from claude_agent_sdk import SessionKey

from benchmarks.support.beside_local import READ, WRITE, Act, timed_row
from benchmarks.support.sample_sizes import Plan
from benchmarks.support.sides import Stillhere, filled, kept
from benchmarks.support.table import Row
from stillhere.claude_agent import StillhereSessionStore
from stillhere.openai_agents import StillhereSession

ITEMS, READ_AT_ONCE = 200, 20
KEY: SessionKey = {"project_key": "-bench", "session_id": "s"}


def conversations(plan: Plan) -> list[Row]:
    return asyncio.run(_conversations(plan))


async def _conversations(plan: Plan) -> list[Row]:
    side = kept(Stillhere(filled("-m", "benchmarks.seeding.memory_seed", "bench", "1")))
    named = (f"http://127.0.0.1:{side.port}", side.calls.headers["Authorization"].removeprefix("Bearer "), "/bench/agents")
    items = max(20, min(ITEMS, plan.requests * 2))
    with TemporaryDirectory() as folder, StillhereSessionStore(*named, spool=Path(folder) / "spool.db") as store:
        local = SQLiteSession("s", Path(folder) / "sessions.db")
        rows = await _sessions(StillhereSession("s", *named), local, items)
        local.close()
        return rows + await _transcripts(store, _Lines(Path(folder) / "s.jsonl"), items)


async def _sessions(ours: Session, local: Session, items: int) -> list[Row]:
    def add(side: Session) -> Act:
        return lambda number: side.add_items([{"role": "user", "content": f"{number} {'x' * 500}"}])

    what = "OpenAI Agents:"
    return [
        await timed_row("AGENTS", f"{what} add an item", add(ours), add(local), items, WRITE),
        await timed_row(
            "AGENTS", f"{what} the newest 20", lambda _: ours.get_items(20), lambda _: local.get_items(20), READ_AT_ONCE, READ
        ),
        await timed_row(
            "AGENTS", f"{what} all {items}", lambda _: ours.get_items(), lambda _: local.get_items(), READ_AT_ONCE, READ
        ),
        await timed_row(
            "AGENTS", f"{what} pop an item", lambda _: ours.pop_item(), lambda _: local.pop_item(), READ_AT_ONCE, WRITE
        ),
    ]


async def _transcripts(ours: StillhereSessionStore, local: "_Lines", items: int) -> list[Row]:
    def entry(number: int) -> dict[str, Any]:
        return {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": f"{number} {'x' * 500}"}}

    def append(number: int) -> Awaitable[None]:
        given: Any = [entry(number)]
        return ours.append(KEY, given)

    appended = await timed_row(
        "AGENTS", "Claude Agent: append an entry, on the disk", append, lambda number: local.append(entry(number)), items, WRITE
    )
    await ours.load(KEY)  # Waits for what was appended.
    loaded = await timed_row(
        "AGENTS", f"Claude Agent: load {items}", lambda _: ours.load(KEY), lambda _: local.load(), READ_AT_ONCE, READ
    )
    return [appended, loaded]


class _Lines:
    """A file with one entry a line, each on the disk before the next: what `append` of the store promises too."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("a+b")

    async def append(self, entry: dict[str, Any]) -> None:
        self.file.write(json.dumps(entry).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    async def load(self) -> list[Any]:
        self.file.seek(0)
        return [json.loads(line) for line in self.file]
