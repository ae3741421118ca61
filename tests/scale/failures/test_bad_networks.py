"""Requests that come twice, late, in another order, or whose answers get lost: the end is the same."""

import random
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User

from tests.support.chat import Chat
from tests.support.live_server import LiveServer

Body = dict[str, Any]
WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "one", "lazy", "dog", "and", "runs", "far", "away"]
STATES = ["streaming", "complete"]


@dataclass
class Log:
    """What one writer sent, in the order of sending: before a clear and after it."""

    dice: random.Random
    writer_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    before: list[Body] = field(default_factory=list)
    after: list[Body] = field(default_factory=list)
    clears: bool = False

    def record(self) -> "Log":
        seq = self._fill(self.before, epoch=1, first=1)
        self.clears = self.dice.random() < 0.5
        if self.clears:
            self._fill(self.after, epoch=2, first=seq + 1)
        return self

    def _fill(self, bodies: list[Body], *, epoch: int, first: int) -> int:
        """Answers that grow, are finished, or are deleted; an id is never used again.

        No client sends a finished answer as streaming without more text. In that case the order would matter.
        """
        texts: dict[str, int] = {}
        gone: set[str] = set()
        seq = first
        for seq in range(first, first + self.dice.randint(4, 12)):
            message = f"e{epoch}m{self.dice.randint(0, 3)}"
            if message in gone:
                op: Body = {"op": "upsert", "id": f"e{epoch}extra{seq}", "role": "user", "text": f"said {seq}"}
            elif message in texts and self.dice.random() < 0.15:
                op = {"op": "delete", "id": message}
                gone.add(message)
            else:
                texts[message] = texts.get(message, 0) + self.dice.randint(1, 3)
                at_its_end = texts[message] >= len(WORDS)
                text, status = " ".join(WORDS[: texts[message]]), "complete" if at_its_end else self.dice.choice(STATES)
                op = {"op": "upsert", "id": message, "role": "assistant", "text": text, "status": status}
            bodies.append({"epoch": epoch, "writer_id": self.writer_id, "seq": seq, "ops": [op]})
        return seq

    def shuffled(self) -> tuple[list[Body], list[Body]]:
        """Each request one to three times in any order, and what of the first part comes only after the clear."""
        first = [body for body in self.before for _ in range(self.dice.randint(1, 3))]
        self.dice.shuffle(first)
        late = [body for body in self.before for _ in range(self.dice.randint(0, 1))]
        second = [body for body in self.after for _ in range(self.dice.randint(1, 3))] + (late if self.clears else [])
        self.dice.shuffle(second)
        return first, second


def play(chat: Chat, log: Log, first: list[Body], second: list[Body]) -> dict[str, tuple[str, str]]:
    """The final content: id → text and status."""
    send(chat, first)
    if log.clears:
        clear = {"epoch": 1, "writer_id": "the clearing page", "seq": 1}
        for _ in range(2):
            assert chat.api.post(f"/sessions/{chat.id}/clear", clear).json()["epoch"] == 2
    send(chat, second)
    return {message["id"]: (message["text"], message["status"]) for message in chat.read()["messages"]}


def send(chat: Chat, bodies: list[Body]) -> None:
    answers: dict[int, Any] = {}
    for body in bodies:
        answer = chat.api.post(f"/sessions/{chat.id}/changes", body)
        assert answer.status_code in {200, 409}, answer.content
        known = answers.setdefault(body["seq"], answer)
        assert (known.status_code, known.content) == (answer.status_code, answer.content)


def reorder(api: Callable[..., Any], user: User, *, logs: int, seed: int) -> None:
    dice, client = random.Random(seed), api(user)
    for number in range(logs):
        log = Log(dice).record()
        wanted = play(Chat(client), log, log.before, log.after)
        chat = Chat(client)
        found = play(chat, log, *log.shuffled())
        assert found == wanted, f"seed {seed}, log {number}"
        assert not log.clears or not [name for name in found if name.startswith("e1")], "a cleared message came back"
        assert chat.conflicts() == [] or log.clears


def test_requests_in_any_order_and_number_end_the_same(api: Callable[..., Any], alice: User) -> None:
    reorder(api, alice, logs=15, seed=random.randrange(10**6))


@pytest.mark.prove
def test_a_thousand_logs_in_any_order_and_number_end_the_same(api: Callable[..., Any], alice: User, settings: Any) -> None:
    settings.RATE_REQUESTS = settings.RATE_WRITE_BYTES = 0
    reorder(api, alice, logs=1_000, seed=5)


class Lossy:
    """A client behind a network that carries every request and loses three answers of ten. It repeats until it hears one."""

    def __init__(self, address: str, secret: str, name: str, seed: int) -> None:
        self.address, self.secret, self.name, self.dice = address, secret, name, random.Random(seed)
        self.lost = 0
        self.odd: list[str] = []

    def run(self, saves: int) -> None:
        with httpx.Client(headers={"Authorization": f"Bearer {self.secret}"}, timeout=60) as client:
            for number in range(1, saves + 1):
                # Every message is written twice, the second time on top of the first one's version.
                op = {"op": "upsert", "id": f"{self.name}-{(number + 1) // 2}", "role": "user", "text": f"<{number}>"}
                body = {"epoch": 1, "writer_id": self.name, "seq": number, "ops": [{**op, "if_ver": (number + 1) % 2}]}
                answer = self.until_heard(client, body)
                told = answer.json()
                if answer.status_code != 200 or told["conflicts"] or told["ignored"] or len(told["applied"]) != 1:
                    self.odd.append(answer.text)

    def until_heard(self, client: httpx.Client, body: Body) -> httpx.Response:
        while True:
            answer = client.post(self.address, json=body)
            if self.dice.random() >= 0.3:
                return answer
            self.lost += 1


def lose_answers(server: LiveServer, api: Callable[..., Any], user: User, *, saves: int) -> None:
    client = api(user)
    secret = client.client.defaults["HTTP_AUTHORIZATION"].removeprefix("Bearer ")
    chat = Chat(client)
    crowd = [Lossy(f"{server.url}/api/v1/sessions/{chat.id}/changes", secret, f"c{number}", number) for number in range(4)]
    threads = [threading.Thread(target=one.run, args=(saves // 4,)) for one in crowd]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [odd for one in crowd for odd in one.odd] == []
    assert sum(one.lost for one in crowd) > saves / 10
    session = client.get(f"/sessions/{chat.id}").json()["session"]
    assert (session["message_count"], session["rev"]) == (saves // 2, saves)
    assert chat.conflicts() == []


@pytest.mark.scale
def test_lost_answers_make_no_duplicates_and_no_conflicts(server: LiveServer, api: Callable[..., Any], alice: User) -> None:
    lose_answers(server, api, alice, saves=200)


@pytest.mark.prove
def test_two_thousand_requests_with_lost_answers(server: LiveServer, api: Callable[..., Any], alice: User) -> None:
    lose_answers(server, api, alice, saves=2_000)
