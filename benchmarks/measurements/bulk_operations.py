"""G1 to G3: large imports, forks and exports beside their limits, through HTTP or as a command."""

import hashlib
import json
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import quantiles
from typing import Any

from benchmarks.support import postgresql
from benchmarks.support.http_client import Wire, request_bytes
from benchmarks.support.sample_sizes import Plan
from benchmarks.support.sides import TEXTS, Stillhere, StillhereOnPostgresql, filled
from benchmarks.support.table import Row

SAVERS, EVERY_SECONDS, LEAST_SAVES, PER_SESSION = 8, 0.1, 16, 500
TIME = "2026-01-01T00:00:00Z"
# Of `Plan.many`: with its 100,000 the sizes are the goals' own.
BYTES_EACH, SESSIONS_SHARE = 2_680, 5


def imports(plan: Plan) -> list[Row]:
    """268 MB by command, beside eight savers."""
    with Stillhere() as side:
        file = side.server.folder / "import.ndjson"
        size = _write_export(file, plan.many * BYTES_EACH)
        p99, seconds = _beside_savers(side, lambda: side.server.run("manage.py", "import", "--user", "bench", str(file)))
    what = f"import of {size / 1e6:.1f} MB in {seconds:.0f} s: a save meanwhile, p99"
    return [_row("G1", what, p99, 250)]


def forks(plan: Plan) -> list[Row]:
    """A session of 100,000 messages: fork it, clear it, undo that."""
    seed = ("-m", "benchmarks.seeding.seed", "bench", "1", str(plan.many))
    seeded = filled(*seed)
    with Stillhere(seeded) as side:
        rows = _forks_of(plan, side, json.loads(seeded.said)["session"], "SQLite")
    if why := postgresql.missing():
        print(f"G2 on PostgreSQL is left out: {why}", file=sys.stderr)
        return rows
    with StillhereOnPostgresql(workers=1) as side:
        return rows + _forks_of(plan, side, json.loads(side.server.run(*seed))["session"], "PostgreSQL")


def _forks_of(plan: Plan, side: Stillhere | StillhereOnPostgresql, session: str, where: str) -> list[Row]:
    rows = []
    steps = {"fork": {}, "clear": {"seq": 1, "epoch": 1}, "undo-clear": {"seq": 2, "epoch": 2, "of": 1}}
    for name, step in steps.items():
        body = json.dumps({**step, "writer_id": "bench"} if step else {}).encode()
        request = request_bytes("POST", f"/api/v1/sessions/{session}/{name}", side.calls.headers, body)
        p99, seconds = _beside_savers(side, lambda request=request: _send(side.port, request))  # type: ignore[misc]
        if name != "clear":
            rows.append(_row("G2", f"{where}, {name} of {plan.many} messages", seconds * 1000, 2_000))
            rows.append(_row("G2", f"{where}, {name}: a save meanwhile, p99", p99, 250))
    return rows


def exports(plan: Plan) -> list[Row]:
    """An account of many sessions, and one session of many messages."""
    rows = []
    for sessions, messages, goal in ((plan.many // SESSIONS_SHARE, 1, 1.0), (1, plan.many, 2_000 / plan.many)):
        seeded = filled("-m", "benchmarks.seeding.seed", "bench", str(sessions), str(messages))
        with Stillhere(seeded) as side:
            began = time.perf_counter()
            _send(side.port, side.calls.get("/export"))
            took = time.perf_counter() - began
        what = "session" if messages == 1 else "message"
        each = took * 1000 / max(sessions, messages)
        rows.append(_row("G3", f"export, each of {max(sessions, messages)} {what}s", each, goal))
    return rows


def _send(port: int, request: bytes) -> None:
    wire = Wire(port)
    wire.send(request)
    wire.close()


def _beside_savers(side: Stillhere | StillhereOnPostgresql, act: Callable[[], Any]) -> tuple[float, float]:
    """The p99 of saves in milliseconds, and the seconds that `act` took."""
    took: list[float] = []
    ended = threading.Event()
    threads = [threading.Thread(target=_save, args=(side, name, took, ended)) for name in side.new_sessions(SAVERS)]
    for thread in threads:
        thread.start()
    began = time.perf_counter()
    try:
        act()
        seconds = time.perf_counter() - began
        while len(took) < LEAST_SAVES:
            time.sleep(EVERY_SECONDS)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    return (quantiles(took, n=100)[98]) * 1000, seconds


def _save(side: Stillhere | StillhereOnPostgresql, session: str, took: list[float], ended: threading.Event) -> None:
    wire = Wire(side.port)
    while not ended.wait(EVERY_SECONDS):
        began = time.perf_counter()
        wire.send(side.save(session))
        took.append(time.perf_counter() - began)
    wire.close()


def _write_export(path: Path, size: int) -> int:
    """Writes a file like `GET /export`; returns its size in bytes."""
    messages = max(1, size // 1_250)
    sessions = -(-messages // PER_SESSION)
    counts = {"project": 1, "session": sessions, "message": messages}
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for line in _lines(messages, counts):
            content = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            digest.update(content)
            file.write(content)
        file.write(json.dumps({"end": True, "counts": counts, "sha256": digest.hexdigest()}).encode() + b"\n")
        return file.tell()


def _lines(messages: int, counts: dict[str, int]) -> Iterator[Any]:
    yield {"format": "stillhere-export", "version": 1, "of": "account", "made_at": TIME, "counts": counts}
    yield {"project": {"id": str(uuid.uuid4()), "path": "/imported", "created_at": TIME, "updated_at": TIME}}
    for number in range(messages):
        place = number % PER_SESSION + 1
        if place == 1:
            size = min(PER_SESSION, messages - number)
            counters = {"rev": size, "last_position": size, "message_count": size}
            yield {"session": {"id": str(uuid.uuid4()), "created_at": TIME, "updated_at": TIME, **counters}}
        said = {"message_id": f"m{place}", "role": "user", "text": TEXTS[number % len(TEXTS)], "status": "complete"}
        yield {"message": {**said, "epoch": 1, "position": place, "rev": place, "size_bytes": 1_000}}


def _row(name: str, what: str, took: float, limit: float) -> Row:
    return Row(name, what, took, limit, "goal", "ms", 1.0, at_most=True)
