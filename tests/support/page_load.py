"""A page load as the server sees it: requests and a socket, and no state from the page before."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from websockets.sync.client import connect

from tests.support.server_process import Api
from tests.support.sockets import Socket

SHOP, OTHER = "/home/alice/shop", "/home/alice/other"
PLAN = {
    "title": "Create file secret.txt",
    "steps": [
        {"id": "s1", "title": "Open an editor", "status": "completed"},
        {"id": "s2", "title": "Write the code into it", "status": "in_progress"},
    ],
}
ASK = {"id": "a1", "kind": "write_file", "payload": {"path": "secret.txt"}}
TODO = {"content": "Task description", "status": "in_progress", "activeForm": "Working on task"}


@dataclass
class Page:
    """One page load: it knows nothing but where the server is and who it is."""

    host: str
    secret: str

    def __post_init__(self) -> None:
        self.api = Api(f"http://{self.host}", self.secret)
        self.writer = str(uuid.uuid4())

    def get(self, path: str, **parameters: Any) -> Any:
        return self.api.call("GET", path, **parameters)

    def resume(self, project: str) -> Any:
        return self.get("/resume", project=project)

    def ask(self, project: str, tag: str = "") -> dict[str, Any]:
        """A resume of one who may have a version already."""
        headers = {"If-None-Match": tag} if tag else {}
        answer = self.api.http.get("/resume", params={"project": project}, headers=headers)
        return {"status": answer.status_code, "body": answer.json() if answer.content else None, "ETag": answer.headers["ETag"]}

    def say(self, session: str, *texts: str, seq: int = 1, **more: Any) -> None:
        ops = [{"op": "upsert", "id": f"m{number}", "role": "user", "text": text} for number, text in enumerate(texts)]
        body = {"epoch": 1, "writer_id": self.writer, "seq": seq, "ops": ops, **more}
        assert len(self.api.call("POST", f"/sessions/{session}/changes", body)["applied"]) == len(texts)

    @contextmanager
    def listen(self, project: str) -> Iterator[Socket]:
        address = f"ws://{self.host}/ws/events/?project={quote(project)}"
        headers = {"Authorization": f"Bearer {self.secret}"}
        with connect(address, additional_headers=headers, compression=None, close_timeout=2) as connection:
            yield Socket(connection)


def texts(bundle: Any) -> list[str]:
    return [message["text"] for message in bundle["messages"]]


def handoff_of(page: Page, project: str, *decisions: str) -> str:
    """The address of this project's handoff, with these decisions added."""
    made = page.api.call("POST", "/projects", {"path": project})
    for text in decisions:
        page.api.call("POST", f"/projects/{made['id']}/handoff/decisions", {"text": text})
    return f"/projects/{made['id']}/handoff"
