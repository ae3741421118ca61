"""Another device with the same chat, by the API, and what holds a page up when it begins that chat too."""

from typing import Any
from urllib.parse import quote

from tests.conftest import Api

CHAT = "thread-42"
# The page is between finding no session and making one, until the test lets it go.
HOLD = """
    const send = window.fetch;
    const held = new Promise((resolve) => { window.letGo = resolve; });
    window.fetch = async (url, options) => {
      if (options?.method === "PUT") { window.begins = true; await held; }
      return send(url, options);
    };
"""
# Nothing gets through until then.
NO_NETWORK = """
    const send = window.fetch;
    let away = true;
    window.fetch = (url, options) => (away ? Promise.reject(new TypeError("lost")) : send(url, options));
    window.letGo = () => { away = false; window.dispatchEvent(new Event("online")); };
"""
# The page's socket does not get through until then.
NO_SOCKET = """
    const Socket = window.WebSocket;
    window.WebSocket = class extends Socket {
      constructor(url) { super(window.letGo ? url : url.replace("/ws/", "/nowhere/")); }
    };
"""


class Device:
    """Another one with the same chat."""

    def __init__(self, api: Api, project: str) -> None:
        self.api, self.project, self.seq = api, project, 0
        self.id = ""

    def begin(self, *texts: str) -> None:
        body = {"path": self.project}
        project = self.api.post("/projects", body).json()["id"]
        self.id = self.api.put(f"/projects/{project}/sessions/by-external/{CHAT}", {}).json()["id"]
        for text in texts:
            self.say(text)

    def say(self, text: str, *, epoch: int = 1) -> None:
        self.seq += 1
        op = {"op": "upsert", "id": f"t{self.seq}", "role": "user", "text": text}
        body = {"epoch": epoch, "writer_id": "their-page", "seq": self.seq, "ops": [op]}
        assert self.api.post(f"/sessions/{self.id}/changes", body).json()["applied"]

    def clear(self) -> None:
        assert self.api.post(f"/sessions/{self.id}/clear", {}).status_code == 200

    def found(self) -> dict[str, Any]:
        """What a page reads that resumes now."""
        found: dict[str, Any] = self.api.get(f"/resume?project={quote(self.project)}&external_id={CHAT}&quiet=1").json()
        return found

    def texts(self) -> list[str]:
        return [message["text"] for message in self.found()["messages"]]

    def sessions(self) -> list[str]:
        return [session["id"] for session in self.api.get("/sessions").json()["items"]]
