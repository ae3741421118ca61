"""Saves as clients write them: ops, and a writer that counts its own requests."""

import itertools
import uuid
from typing import Any

from tests.support.chat import Chat

Op = dict[str, Any]


def upsert(message_id: str, text: str, *, role: str = "user", **more: Any) -> Op:
    return {"op": "upsert", "id": message_id, "role": role, "text": text, **more}


def answer_of_ai(message_id: str, text: str, **more: Any) -> Op:
    return upsert(message_id, text, role="assistant", **more)


def delete(message_id: str, **more: Any) -> Op:
    return {"op": "delete", "id": message_id, **more}


def patch(message_id: str, **fields: Any) -> Op:
    return {"op": "patch", "id": message_id, **fields}


def append(message_id: str, at: Any, text: Any, **more: Any) -> Op:
    return {"op": "append", "id": message_id, "at": at, "text": text, **more}


def pop(count: Any = 1) -> Op:
    return {"op": "pop", "n": count}


def truncate(after: str | None) -> Op:
    return {"op": "truncate", "after": after}


class Writer:
    """One page load or agent run: its own `writer_id`, its own `seq` from 1."""

    def __init__(self, chat: Chat) -> None:
        self.chat, self.id = chat, str(uuid.uuid4())
        self._seq = itertools.count(1)

    def send(self, *ops: Any, epoch: int = 1, seq: int | None = None, **body: Any) -> Any:
        """The raw response."""
        step = {"epoch": epoch, "writer_id": self.id, "seq": next(self._seq) if seq is None else seq}
        return self.chat.api.post(f"/sessions/{self.chat.id}/changes", {**step, "ops": list(ops), **body})

    def save(self, *ops: Any, **body: Any) -> Any:
        """The answer of a save that is not refused."""
        response = self.send(*ops, **body)
        assert response.status_code == 200, response.content
        return response.json()

    def step(self, path: str, *, epoch: int = 1, seq: int | None = None, **body: Any) -> Any:
        step = {"epoch": epoch, "writer_id": self.id, "seq": next(self._seq) if seq is None else seq}
        return self.chat.api.post(f"/sessions/{self.chat.id}/{path}", {**step, **body})


def refusal(response: Any) -> tuple[int, str]:
    """Status and code of an answer in the one shape."""
    error = response.json()["error"]
    assert set(error) == {"code", "message", "details"}
    assert error["message"]
    return response.status_code, error["code"]


def reasons(entries: list[Any]) -> dict[str, str]:
    """`{id: reason}` of `ignored` or `rejected`."""
    return {entry["id"]: entry["reason"] for entry in entries}
