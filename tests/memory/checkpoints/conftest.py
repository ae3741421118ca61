import base64
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.contrib.auth.models import User

from memory_app.checkpoints import row_erasing
from memory_app.checkpoints.rows import Place, Thread
from memory_app.checkpoints.threads import erasing
from memory_app.models import ChannelValue, Checkpoint, GraphThread, MemoryStore, PendingWrite
from tests.memory.conftest import Memory


def typed(content: bytes, name: str = "bytes") -> dict[str, str]:
    return {"type": name, "base64": base64.b64encode(content).decode()}


class Graph:
    """One thread, as a client of it sees it."""

    def __init__(self, memory: Memory, thread: str = "t") -> None:
        self.api, self.memory, self.thread = memory.api, memory, thread

    def address(self, rest: str = "") -> str:
        return self.memory.address(f"threads/{self.thread}{rest}")

    def put(self, checkpoint_id: str, *, ns: str = "~", **fields: Any) -> Any:
        """`values`: bytes by channel, each under the version that `versions` has."""
        body = {"checkpoint": typed(b"state"), **fields}
        body["values"] = {channel: typed(content) for channel, content in fields.get("values", {}).items()}
        return self.api.put(self.address(f"/checkpoints/{ns}/{checkpoint_id}"), body)

    def write(self, checkpoint_id: str, *writes: tuple[int, str, bytes], task: str = "task", path: str = "") -> Any:
        sent = [{"idx": idx, "channel": channel, **typed(content)} for idx, channel, content in writes]
        return self.api.put(self.address(f"/checkpoints/~/{checkpoint_id}/writes/{task}"), {"path": path, "writes": sent})

    def read(self, **query: Any) -> Any:
        answer = self.api.client.get(f"/api/v1{self.address('/checkpoints')}", query)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def ids(self, **query: Any) -> list[str]:
        return [item["id"] for item in self.read(**query)["items"]]


def grown(graph: Graph, count: int = 4, ns: str = "~", **metadata: Any) -> None:
    """A chain of checkpoints, each with a value of its own and a write."""
    for number in range(count):
        parent = f"c{number - 1}" if number else None
        versions = {"all": "1", "own": str(number)}
        values = {"own": b"%d" % number, **({"all": b"all"} if number == 0 else {})}
        answer = graph.put(f"c{number}", ns=ns, parent=parent, versions=versions, values=values, metadata=metadata)
        assert answer.status_code == 201
        graph.write(f"c{number}", (0, "x", b"%d" % number))


def in_pieces_of(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasing, "FIRST_PIECE", rows)
    monkeypatch.setattr("sessions_app.core.storage.paced_writes.MOST", rows)
    monkeypatch.setattr("sessions_app.core.storage.paced_writes.LEAST", rows)


def counted_pieces(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Of how many checkpoints the pieces are that are erased from now on."""
    pieces, erase_checkpoints = list[int](), row_erasing.erase_checkpoints

    def counted(thread: Thread, places: Sequence[Place]) -> tuple[int, int]:
        pieces.append(len(places))
        return erase_checkpoints(thread, places)

    monkeypatch.setattr(row_erasing, "erase_checkpoints", counted)
    return pieces


def check_sizes() -> None:
    """The sizes that are counted are those of the rows."""
    for thread in GraphThread.objects.all():
        rows: list[Any] = [*Checkpoint.objects.filter(thread=thread), *ChannelValue.objects.filter(thread=thread)]
        rows += PendingWrite.objects.filter(thread=thread)
        assert thread.size_bytes == sum(row.size_bytes for row in rows)
    for store in MemoryStore.objects.all():
        assert store.checkpoint_bytes == sum(thread.size_bytes for thread in GraphThread.objects.filter(project=store.project_id))


@pytest.fixture
def graph(memory: Memory) -> Graph:
    return Graph(memory)


@pytest.fixture
def shared_graph(transactional_db: None, api: Callable[..., Any], alice: User, path: str) -> Graph:
    """The same where transactions really end, for several threads."""
    return Graph(Memory(api(alice), path))
