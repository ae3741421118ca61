from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from sessions_app.models.times import now
from tests.memory.conftest import Memory

# Where memory reads the clock.
CLOCKS = (
    *(f"key_value.entries.{name}" for name in ("entry_writer", "reading", "queries", "namespace_queries", "services")),
    *("key_value.batches.queries", "key_value.batches.services", "core.pruning"),
    *("errors.noise.queries", "errors.noise.filtering"),
)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Moves the clock of memory: so many minutes from now on."""

    def move(minutes: float) -> None:
        for module in CLOCKS:
            monkeypatch.setattr(f"memory_app.{module}.now", lambda: now() + timedelta(minutes=minutes))

    return move


def run(memory: Memory, *ops: dict[str, Any], **headers: str) -> Any:
    """The answer to a batch."""
    return memory.api.post(memory.address("memory/batch"), {"ops": list(ops)}, **headers)


def done(memory: Memory, *ops: dict[str, Any], **headers: str) -> list[Any]:
    """Its results."""
    answer = run(memory, *ops, **headers)
    assert answer.status_code == 200, answer.content
    return list(answer.json()["results"])


def set_namespace(memory: Memory, namespace: str, **values: Any) -> Any:
    return memory.api.put(memory.address(f"memory-settings/{namespace}"), values)
