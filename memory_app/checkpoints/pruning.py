"""Which checkpoints of a thread are kept when it is pruned (pure).

A delta channel (of LangGraph) is in few checkpoints with its value; between them it is rebuilt from the writes of the checkpoints
before. So the newest checkpoint needs its ancestors back to the one that has the value. The metadata of such a checkpoint names
these channels under `counters_since_delta_snapshot`.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from memory_app.checkpoints.rows import Place

DELTA_CHANNELS = "counters_since_delta_snapshot"


class Known(NamedTuple):
    """A checkpoint without its data. `versions`: of the channels that have a value in it, as JSON."""

    ns: str
    id: str
    parent: str
    metadata: str
    versions: str


def kept(newest: Iterable[Known], find: Callable[[Place], Known | None]) -> set[Place]:
    """The newest of each namespace, and what its delta channels are rebuilt from. `find` reads a checkpoint."""
    return {place for each in newest for place in _with_needed(each, find)}


def _with_needed(newest: Known, find: Callable[[Place], Known | None]) -> set[Place]:
    places: set[Place] = set()
    missing = set(_object(_object(newest.metadata).get(DELTA_CHANNELS)))
    found: Known | None = newest
    while found is not None and (found.ns, found.id) not in places:
        places.add((found.ns, found.id))
        missing -= _object(found.versions).keys()
        found = find((found.ns, found.parent)) if missing else None
    return places


def _object(value: Any) -> dict[str, Any]:
    """The object itself, or of its JSON; empty, if it is none."""
    try:
        value = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
