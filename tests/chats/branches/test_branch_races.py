"""Writers that branch at once, and a person who switches branches meanwhile: every message stays, in one tree."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import httpx
import pytest

from tests.chats.branches.test_branch_histories import History
from tests.support.chat import Chat
from tests.support.live_server import LiveServer
from tests.support.saves import upsert

WRITERS, TURNS = 3, 8


class Client:
    """Connects to the session for itself."""

    def __init__(self, chat: Chat, url: str) -> None:
        self.url = f"{url}/api/v1/sessions/{chat.id}"
        self.headers = {"Authorization": f"Bearer {chat.api.secret}"}
        self.over = threading.Event()

    def write(self, writer: int) -> list[str]:
        """Continues a branch of its own from m4; the saves go by the group of saves."""
        ids = ["m4", *(f"w{writer}-{number}" for number in range(TURNS))]
        with httpx.Client(headers=self.headers, timeout=60) as http:
            for seq, (parent, message_id) in enumerate(pairwise(ids), start=1):
                step = {"epoch": 1, "writer_id": f"writer {writer}", "seq": seq}
                answer = http.post(f"{self.url}/changes", json={**step, "ops": [upsert(message_id, "x", parent_id=parent)]})
                assert answer.json()["applied"], answer.text
        return ids[1:]

    def switch(self) -> int:
        moves = 0
        with httpx.Client(headers=self.headers, timeout=60) as http:
            while not self.over.is_set():
                moved = http.patch(self.url, json={"head": f"m{moves % 4 + 1}", "to_end": moves % 2 == 0})
                assert moved.status_code == 200, moved.text
                moves += 1
        return moves


@pytest.mark.django_db(transaction=True)
def test_writers_that_branch_at_once_lose_nothing(chat: Chat, server: LiveServer) -> None:
    for number in range(1, 5):
        chat.say(f"m{number}", f"text {number}")
    client = Client(chat, server.url)
    with ThreadPoolExecutor(WRITERS + 1) as threads:
        switching = threads.submit(client.switch)
        try:
            written = list(threads.map(client.write, range(WRITERS)))
        finally:
            client.over.set()
        assert switching.result() > 0
    history = History(chat, seed=1)
    history.live = {"m1", "m2", "m3", "m4"}.union(*written)
    history.check()
    items: list[dict[str, Any]] = chat.get("messages?branches=1&limit=500").json()["items"]
    follows = {item["id"]: item["follows"] for item in items}
    for ids in written:
        assert [follows[message_id] for message_id in ids] == ["m4", *ids[:-1]]


@pytest.mark.django_db
def test_a_retry_of_a_branch_gets_its_first_answer(chat: Chat) -> None:
    chat.say("m1", "x")
    chat.say("m2", "y")
    writer = str(uuid.uuid4())
    body = {"writer_id": writer, "seq": 1, "ops": [upsert("e2", "z", parent_id="m1")], "session": {"head": "m2"}}
    first, second = chat.post("changes", **body), chat.post("changes", **body)
    assert (first.json()["head"], first.content) == ("m2", second.content)
    assert second.headers["Idempotent-Replayed"] == "true"
