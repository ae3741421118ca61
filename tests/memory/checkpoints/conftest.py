import base64
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

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
