"""A chat session as a client of the API sees it: the steps that many tests take, without the ceremony."""

import itertools
import uuid
from typing import Any


class Chat:
    """One session of one caller. `api` is the fixture's client; requests count their own `seq`."""

    def __init__(self, api: Any, *, project: str = "/home/alice/shop", session_id: str = "") -> None:
        self.api, self.project = api, project
        self.id = session_id or str(uuid.uuid4())
        self.writer = str(uuid.uuid4())
        self._seq = itertools.count(1_000)
        if not session_id:
            made = api.put(f"/sessions/{self.id}", {"project": project}, **{"If-None-Match": "*"})
            assert made.status_code == 201, made.content

    def get(self, path: str) -> Any:
        return self.api.get(f"/sessions/{self.id}/{path}")

    def post(self, path: str, **body: Any) -> Any:
        """To the session's `path`, as this chat's writer in epoch 1 unless the body says otherwise."""
        step = {"epoch": 1, "writer_id": self.writer, "seq": next(self._seq)}
        return self.api.post(f"/sessions/{self.id}/{path}", {**step, **body})

    def post_plain(self, path: str, body: dict[str, Any]) -> Any:
        """To the session's `path`, for operations that have no writer."""
        return self.api.post(f"/sessions/{self.id}/{path}", body)

    def ops(self, *ops: dict[str, Any], **body: Any) -> Any:
        answer = self.post("changes", ops=list(ops), **body)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def say(self, message_id: str, text: str, *, role: str = "user", **body: Any) -> Any:
        answer = self.ops({"op": "upsert", "id": message_id, "role": role, "text": text}, **body)
        assert answer["applied"], answer
        return answer

    def clear(self, *, epoch: int = 1) -> Any:
        answer = self.post("clear", epoch=epoch)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def undo(self, *, of: int, epoch: int) -> Any:
        answer = self.post("undo-clear", of=of, epoch=epoch)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def read(self) -> Any:
        return self.api.get(f"/sessions/{self.id}").json()

    def texts(self) -> list[str]:
        return [message["text"] for message in self.read()["messages"]]

    def removed(self) -> list[Any]:
        items: list[Any] = self.get("removed").json()["items"]
        return items

    def conflicts(self) -> list[Any]:
        items: list[Any] = self.get("conflicts").json()["items"]
        return items
