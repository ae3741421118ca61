"""Random histories on the real services: clients that lose answers, repeat, come late, clear and undo. Whatever happens,
no acknowledged word is lost, nothing that was taken out comes back, and a repeated request gets its first answer.

The seed is in the test's id; `make prove` tries a thousand.
"""

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from sessions_app.core.serialization.json_text import json_text
from sessions_app.models import ConflictCopy, Message
from tests.support.chat import Chat
from tests.support.saves import Op, Writer, answer_of_ai, append, delete, patch, pop, truncate, upsert

pytestmark = pytest.mark.django_db
STEPS = 50


@dataclass
class Request:
    """What a client sent: `send` sends the very same again."""

    client: "Client"
    send: Callable[[], Any]
    ops: list[Op]
    seq: int
    epoch: int
    first: bytes | None = None


@dataclass
class Client:
    """Knows what it read last, and believes nothing until it reads again."""

    writer: Writer
    seq: int = 0
    epoch: int = 1
    rev: int = 0
    known: dict[str, dict[str, Any]] = field(default_factory=dict)

    def read(self) -> None:
        read = self.writer.chat.read()
        self.epoch, self.rev = read["session"]["epoch"], read["session"]["rev"]
        self.known = {message["id"]: message for message in read["messages"]}


class History:
    def __init__(self, chat: Chat, seed: int) -> None:
        self.chat, self.dice = chat, random.Random(seed)
        self.clients = [Client(Writer(chat)) for _ in range(3)]
        self.late: list[Request] = []
        self.words = 0
        self.acknowledged: set[str] = set()
        # Texts that their own writers replaced, and texts in what was removed and not restored.
        self.given_up: set[str] = set()
        self.gone: set[str] = set()
        # Each popped message, by id, text and `rev`: the request that took it.
        self.taken: dict[tuple[str, str, int], Request] = {}

    def word(self) -> str:
        self.words += 1
        return f"w{self.words}. "

    def run(self) -> None:
        for number in range(STEPS):
            client, die = self.dice.choice(self.clients), self.dice.random()
            if die < 0.2:
                self.read(client)
            elif die < 0.23 and self.late:
                self.see(client, self.dice.choice(self.late))
            elif die < 0.75:
                self.send(self.request(client, self.ops(client)))
            elif die < 0.93 and self.late:
                self.send(self.dice.choice(self.late))
            elif die < 0.965:
                self.step(client, "clear")
            else:
                self.step(client, "undo-clear")
            if number % 5 == 4:
                self.check()

    def read(self, client: Client) -> None:
        """A client reads again only when everything that it sent was answered."""
        for request in self.late:
            if request.client is client and request.first is None:
                self.deliver(request)
        client.read()

    def see(self, client: Client, request: Request) -> None:
        """A page shows what another one of its browser has not sent yet."""
        if request.client is client or request.epoch != client.epoch:
            return
        write = {"writer_id": request.client.writer.id, "seq": request.seq}
        # Each by its last op; not what is known from the server.
        last = {op["id"]: op for op in request.ops if "id" in op}
        for message_id in sorted(last.keys() - client.known.keys()):
            if last[message_id]["op"] == "upsert":
                client.known[message_id] = {"text": last[message_id]["text"], "write": write}

    def ops(self, client: Client) -> list[Op]:
        changes = (
            self.rewrite(client) if self.dice.random() < 0.1 else [self.op(client)] for _ in range(self.dice.randint(1, 3))
        )
        return [op for change in changes for op in change]

    def rewrite(self, client: Client) -> list[Op]:
        """A message said again under its id, behind a cut that takes it out with all that follows."""
        shown = list(client.known)
        if len(shown) < 2:
            return [self.op(client)]
        place = self.dice.randrange(1, len(shown))
        for message_id in shown[place + 1 :]:
            del client.known[message_id]
        message = client.known[shown[place]]
        self.given_up |= set(message["text"].split())
        message["text"] = self.word()
        return [truncate(shown[place - 1]), upsert(shown[place], message["text"])]

    def op(self, client: Client) -> Op:
        """A change to what the client shows, which from then on shows the change."""
        die = self.dice.random()
        if die < 0.4 or not client.known:
            op = self.dice.choice([upsert, answer_of_ai])(f"m{self.words}", self.word(), if_ver=0)
            client.known[op["id"]] = {"text": op["text"]}
            return op
        message_id, message = self.dice.choice(list(client.known.items()))
        seen = {"if_ver": message["ver"]} if "ver" in message and self.dice.random() < 0.6 else {}
        if "write" in message:
            seen = {"if_ver": 0, "if_write": message["write"]}
        if die < 0.48 and message.get("status") == "streaming":
            added, at = self.word(), len(message["text"])
            message["text"] += added
            return append(message_id, at, added)
        if die < 0.72:
            return self.patch(message_id, message, seen)
        if die < 0.86:
            before = message["text"] if die < 0.8 else ""
            if not before:
                self.given_up |= set(message["text"].split())
            message["text"] = before + self.word()
            return answer_of_ai(message_id, message["text"], **seen)
        if die < 0.89:
            return truncate(message_id)
        if die < 0.92:
            # It knows what it took once it reads again.
            return pop(self.dice.randint(1, 2))
        del client.known[message_id]
        return delete(message_id, **seen)

    def patch(self, message_id: str, message: dict[str, Any], seen: Op) -> Op:
        die = self.dice.random()
        if die < 0.3:
            return patch(message_id, metadata={"note": self.words}, **seen)
        if die < 0.4:
            return patch(message_id, status=self.dice.choice(["complete", "streaming"]), **seen)
        before = message["text"] if die < 0.8 else ""
        if not before:
            self.given_up |= set(message["text"].split())
        message["text"] = before + self.word()
        return patch(message_id, text=message["text"], **seen)

    def request(self, client: Client, ops: list[Op]) -> Request:
        client.seq += 1
        writer, seq, epoch, base = client.writer, client.seq, client.epoch, client.rev
        if_rev = {"if_rev": base} if self.dice.random() < 0.05 else {}
        more = {**if_rev, "atomic": self.dice.random() < 0.2}
        request = Request(client, lambda: writer.send(*ops, seq=seq, epoch=epoch, base_rev=base, **more), ops, seq, epoch)
        self.late.append(request)
        return request

    def send(self, request: Request) -> None:
        """Now, or (the request got lost) only when it is picked from `late`."""
        if request.first is not None or self.dice.random() < 0.75:
            self.deliver(request)

    def deliver(self, request: Request) -> None:
        before = self.window()
        answer = request.send()
        if answer.status_code in {412, 422}:
            # Nothing is done, and nothing is remembered: it may succeed later.
            assert answer.json()["error"]["code"] in {"rev_changed", "rejected"}
            assert (request.first, self.window()) == (None, before)
            return
        assert answer.status_code in {200, 409}, answer.content
        if request.first is not None:
            assert (answer.content, answer.headers.get("Idempotent-Replayed")) == (request.first, "true")
            assert self.window() == before
        request.first = answer.content
        rejected = {entry["index"] for entry in answer.json().get("rejected", [])}
        # Behind a gap nothing is kept, and the answer says so.
        gaps = {entry["id"] for entry in answer.json().get("conflicts", []) if "length" in entry and entry["copy_id"] is None}
        for index, op in enumerate(request.ops):
            if op["op"] == "append" and op["id"] in gaps:
                continue
            if index not in rejected and (answer.status_code == 200 or op["op"] == "upsert"):
                self.acknowledged |= set(op.get("text", "").split())
        if answer.status_code == 200:
            popped = answer.json().get("popped", [])
            for message in popped:
                taken = (message["id"], message["text"], message["rev"])
                assert self.taken.setdefault(taken, request) is request, "popped twice"
            out = {entry["id"] for entry in answer.json()["applied"] if entry.get("removed")}
            self.gone |= {word for message_id in out for word in before.get(message_id, "").split()}
            removed = {entry["id"] for entry in answer.json()["ignored"] if entry["reason"] == "removed"}
            pairs = (op for cut, op in pairwise(request.ops) if (cut["op"], op["op"]) == ("truncate", "upsert"))
            # Not if another op of the request may have removed it: a delete, or a pop, which takes what the client does not know.
            others = [op.get("id") for op in [*request.ops, *popped]]
            behind_cut = {op["id"] for op in pairs if "if_ver" not in op and others.count(op["id"]) == 1}
            assert not removed & behind_cut & before.keys(), "taken out by its own cut"

    def step(self, client: Client, path: str) -> None:
        client.seq += 1
        before = self.window()
        answer = client.writer.step(path, epoch=client.epoch, seq=client.seq)
        assert answer.status_code in {200, 409}, answer.content
        again = client.writer.step(path, epoch=client.epoch, seq=client.seq)
        assert again.json() == answer.json()
        if answer.status_code == 200 and path == "clear":
            self.gone |= {word for text in before.values() for word in text.split()}
        elif answer.status_code == 200:
            self.gone -= {word for text in self.window().values() for word in text.split()}

    def window(self) -> dict[str, str]:
        return {message["id"]: message["text"] for message in self.chat.read()["messages"]}

    def check(self) -> None:
        shown = {word for text in self.window().values() for word in text.split()}
        assert not shown & self.gone, "came back"
        rows = (model._default_manager.filter(session=uuid.UUID(self.chat.id)) for model in (Message, ConflictCopy))
        held = {word for found in rows for text in found.values_list("text", flat=True) for word in text.split()}
        assert self.acknowledged - held <= self.given_up, "lost"
        read = self.chat.read()
        sizes = [len(m["text"]) + (len(json_text(m["metadata"])) if "metadata" in m else 0) for m in read["messages"]]
        assert (read["session"]["message_count"], read["session"]["size_bytes"]) == (len(sizes), sum(sizes))


@pytest.mark.parametrize("seed", range(5))
def test_a_random_history_loses_nothing_and_brings_nothing_back(chat: Chat, seed: int) -> None:
    History(chat, seed).run()


@pytest.mark.prove
def test_a_thousand_random_histories(chat: Chat) -> None:
    for seed in range(1_000, 2_000):
        try:
            History(Chat(chat.api), seed).run()
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise
