"""Clients that keep a log of what was acknowledged, for tests in which servers and connections die."""

import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

import httpx

PATIENCE_SECONDS = 75


@dataclass
class Ack:
    """An answered save: what was in it and what the server said."""

    number: int
    rev: int
    at: float = field(default_factory=time.monotonic)


@dataclass
class Writer:
    """Saves pairs of messages, one pair a request, growing both each time; repeats what is not answered, word for word."""

    url: str
    key: str
    session: str
    name: str
    acks: list[Ack] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    writer_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def run(self, stop: threading.Event) -> None:
        with httpx.Client(headers={"Authorization": f"Bearer {self.key}"}, timeout=10) as client:
            number = 0
            while not stop.is_set():
                number += 1
                self._save(client, number)

    def text(self, number: int) -> str:
        return f"{self.name} wrote {number}"

    def _save(self, client: httpx.Client, number: int) -> None:
        ops = [
            {"op": "upsert", "id": f"{self.name}-{half}-{number // 10}", "role": "assistant", "text": self.text(number)}
            for half in "ab"
        ]
        body = {"epoch": 1, "writer_id": self.writer_id, "seq": number, "ops": ops}
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                answer = client.post(f"{self.url}/api/v1/sessions/{self.session}/changes", json=body)
            except httpx.TransportError:
                time.sleep(0.02)
                continue
            if answer.status_code == 200:
                self.acks.append(Ack(number, answer.json()["rev"]))
                return
            if answer.status_code != 503:
                self.refused.append(f"{number}: {answer.status_code} {answer.text[:200]}")
                return
            time.sleep(0.02)
        self.refused.append(f"{number}: never answered")


def problems(writers: list[Writer], stored: dict[str, dict[str, Any]]) -> list[str]:
    """What the acknowledgement logs say and the store (`session → message id → message`) does not."""
    found = [f"{writer.name} was refused {refusal}" for writer in writers for refusal in writer.refused]
    for writer in writers:
        messages = stored[writer.session]
        newest = {ack.number // 10: ack.number for ack in writer.acks}
        for ten, number in newest.items():
            halves = [messages.get(f"{writer.name}-{half}-{ten}") for half in "ab"]
            texts = {half["text"] if half else "nothing" for half in halves}
            if len(texts) != 1:
                found.append(f"half a save: {sorted(texts)}")
            elif int(texts.pop().rpartition(" ")[2].replace("nothing", "-1")) < number:
                found.append(f"{writer.name} lost {number}")
        revs = [ack.rev for ack in writer.acks]
        if revs != sorted(revs):
            found.append(f"{writer.name} saw rev fall")
    return found


def all_messages(api: Any, session: str) -> dict[str, Any]:
    """Every message of a session, page by page, by id."""
    page = api.call("GET", f"/sessions/{session}/messages", limit=500)
    found = list(page["items"])
    while page["next"]:
        page = api.call("GET", f"/sessions/{session}/messages", limit=500, before=page["next"])
        found += page["items"]
    return {message["id"]: message for message in found}
