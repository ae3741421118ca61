"""P4: is the cost independent of the store's size? Three stores: a small one, one with a long session,
one with many sessions; the same request goes to a small and a big one in turn."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median

from benchmarks.seeding.seed import NEEDLE
from benchmarks.support.http_client import Wire, without_gc
from benchmarks.support.sample_sizes import WARM_UP, Plan
from benchmarks.support.sides import Stillhere, filled
from benchmarks.support.table import Row

FEW_MESSAGES, FEW_SESSIONS = 20, 10
MOST = 1.15


@dataclass(frozen=True, slots=True)
class Store:
    """A seeded store, served."""

    side: Stillhere
    session: str
    project: str

    def save(self) -> bytes:
        return self.side.save(self.session)

    def resume(self) -> bytes:
        return self.side.resume(self.session)

    def browse(self) -> bytes:
        """The number of sessions in the small store."""
        return self.side.calls.get(f"/projects/{self.project}/sessions?limit={FEW_SESSIONS}")

    def search(self) -> bytes:
        """Searches for a word that only one session contains."""
        return self.side.calls.get(f"/search?q={NEEDLE}&limit={FEW_SESSIONS}")


CALLS: dict[str, Callable[[Store], bytes]] = {"save": Store.save, "resume": Store.resume, "session list": Store.browse}
LIMITS = {"search": 3.0}


def flat_cost(plan: Plan) -> list[Row]:
    """Save, resume, session list and search. The window is set to 20 messages, so that every resume carries as many."""
    with ExitStack() as stack:
        small = _store(stack, FEW_SESSIONS, FEW_MESSAGES)
        long = _store(stack, FEW_SESSIONS, plan.many)
        rows = [_row(f"{what}, {FEW_MESSAGES} → {plan.many:,} messages", call, small, long, plan) for what, call in CALLS.items()]
        rows += _with_branches(small, long, plan)
        many = _store(stack, plan.many, FEW_MESSAGES)
        calls = {**CALLS, "search": Store.search}
        rows += [
            _row(f"{what}, {FEW_SESSIONS} → {plan.many:,} sessions", call, small, many, plan, LIMITS.get(what, MOST))
            for what, call in calls.items()
        ]
    return rows


def _with_branches(small: Store, long: Store, plan: Plan) -> list[Row]:
    """The same sessions with branches: half of each is linked, and a branch begins in the middle of it."""
    for store, count in ((small, FEW_MESSAGES), (long, plan.many)):
        wire = Wire(store.side.port)
        for message_id in (f"m{count // 2}", f"m{count - 1}"):
            wire.send(store.side.calls.move_head(store.session, f"m{count // 2}"))
            wire.send(store.save())
            wire.send(store.side.calls.move_head(store.session, message_id))
        wire.close()
    calls = {name: CALLS[name] for name in ("save", "resume")}
    what = f"with branches, {FEW_MESSAGES} → {plan.many:,} messages"
    return [_row(f"{name} {what}", call, small, long, plan) for name, call in calls.items()]


def _store(stack: ExitStack, sessions: int, messages: int) -> Store:
    seeded = filled("-m", "benchmarks.seeding.seed", "bench", str(sessions), str(messages))
    made = json.loads(seeded.said)
    side = stack.enter_context(Stillhere(seeded, WINDOW_MESSAGES=str(FEW_MESSAGES)))
    side.calls.adopt(made["session"], made["path"])
    return Store(side, made["session"], made["project"])


def _row(what: str, call: Callable[[Store], bytes], small: Store, big: Store, plan: Plan, limit: float = MOST) -> Row:
    pairs = [(store, Wire(store.side.port)) for store in (small, big)]
    for store, wire in pairs * WARM_UP:
        wire.send(call(store))
    took: tuple[list[float], list[float]] = ([], [])
    with without_gc():
        for _ in range(plan.rounds * plan.requests):
            for (store, wire), times in zip(pairs, took, strict=True):
                times.append(wire.seconds(call(store)))
    for _, wire in pairs:
        wire.close()
    at_few, at_many = (median(times) * 1000 for times in took)
    return Row("P4", what, at_many, at_few, "at few", "ms", limit, at_most=True)
