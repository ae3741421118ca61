"""P11b and P11c: a message's size in the file, the cost of durable commits, and 200 messages in one request."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from statistics import median

from benchmarks.measurements.speed import WRITERS
from benchmarks.support.http_client import Wire, per_second, without_gc
from benchmarks.support.sample_sizes import WARM_UP, Plan, in_turn
from benchmarks.support.sides import AT_ONCE, Stillhere, copied, filled, kept, shared
from benchmarks.support.table import Row

MESSAGE_BYTES, LEAST_OF_NORMAL, MOST_TIMES = 4_000, 0.7, 4.0
# Of `Plan.many`: enough that one database page more or less makes no difference.
SHARE, LEAST_SAVES = 20, 100
FEW_SESSIONS = 10
PRAGMAS = ("page_count", "freelist_count", "page_size")


class Relaxed(Stillhere):
    """With `synchronous=NORMAL`."""

    name = "NORMAL"

    def __init__(self) -> None:
        super().__init__()
        self.server.environment["DJANGO_SETTINGS_MODULE"] = "benchmarks.support.normal_settings"


def file_growth(plan: Plan) -> list[Row]:
    """Size with the text indexed; and durable saves per second, beside saves that a power cut would lose."""
    count = max(LEAST_SAVES, plan.many // SHARE)
    seeded = filled("-m", "benchmarks.seeding.seed", "bench", str(FEW_SESSIONS), str(plan.many))
    made = json.loads(seeded.said)
    with Stillhere(seeded) as side:
        side.calls.adopt(made["session"], made["path"])
        sessions = {0: side.new_sessions(1)[0], plan.many: made["session"]}
        grown = {messages: _grown(side, session, count) for messages, session in sessions.items()}
    what = "the file grows, a message of 1 KB into a session of {:,}"
    rows = [
        Row("P11b", what.format(messages), size, MESSAGE_BYTES, "goal", "B", 1.0, at_most=True)
        for messages, size in grown.items()
    ]
    return [*rows, _full_beside_normal(plan)]


def _grown(side: Stillhere, session: str, count: int) -> float:
    """Bytes a message."""
    wire = Wire(side.port)
    before = _used(side, wire)
    for _ in range(count):
        wire.send(side.save(session))
    after = _used(side, wire)
    wire.close()
    return (after - before) / count


def _used(side: Stillhere, wire: Wire) -> int:
    """Bytes of the used pages, after searches have brought every text into the index."""
    with closing(sqlite3.connect(f"file:{side.server.folder}/data/stillhere.sqlite3?mode=ro", uri=True)) as store:
        while store.execute("SELECT 1 FROM sessions_app_textqueue LIMIT 1").fetchone():
            wire.send(side.calls.get("/search?q=nowhere"))
        pages, free, size = (store.execute(f"PRAGMA {name}").fetchone()[0] for name in PRAGMAS)
    return int((pages - free) * size)


def _full_beside_normal(plan: Plan) -> Row:
    measured: dict[str, Callable[[], float]] = {}
    for name, side in (("FULL", shared(Stillhere)), ("NORMAL", kept(Relaxed()))):
        sources = [partial(side.save, session) for session in side.new_sessions(WRITERS)]
        per_second(side.port, sources, min(0.5, plan.seconds))
        measured[name] = partial(per_second, side.port, sources, plan.seconds)
    found = in_turn(plan.rounds, measured)
    what = f"saves a second, {WRITERS} clients, synchronous=FULL"
    return Row("P11b", what, found["FULL"], found["NORMAL"], "NORMAL", "/s", LEAST_OF_NORMAL, at_most=False)


def many_at_once(plan: Plan) -> list[Row]:
    """In turn with a program that writes the same rows into the same tables by Django's `bulk_create`."""
    side = shared(Stillhere)
    [session] = side.new_sessions(1)
    wire, ours, beside = Wire(side.port), list[float](), list[float]()
    with copied(filled()) as alone:
        for _ in range(plan.starts):
            for _ in range(WARM_UP // 3):
                wire.send(side.calls.save(session, AT_ONCE))
            with without_gc():
                ours += [wire.seconds(side.calls.save(session, AT_ONCE)) * 1000 for _ in range(plan.requests)]
            beside.append(float(alone.run("-m", "benchmarks.yardsticks.bulk_insert", "bench", str(AT_ONCE), str(plan.requests))))
    wire.close()
    what = f"{AT_ONCE} messages in one request"
    return [Row("P11c", what, median(ours), median(beside), "in process", "ms", MOST_TIMES, at_most=True)]
