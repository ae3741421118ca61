"""Random histories of two writers in one session with branches, on the real services. After each step: nothing that was
acknowledged is lost, nothing that was removed is back, the tree has no circle, and the path that is stored is that to the head.

The seed is in the test's id.
"""

import random
from collections.abc import Callable
from typing import Any

import pytest

from sessions_app.models import ChatSession, Message
from tests.support.chat import Chat
from tests.support.saves import Writer, delete, patch, pop, truncate, upsert
from tests.support.suite import first_of

pytestmark = pytest.mark.django_db
STEPS = 25


class History:
    def __init__(self, chat: Chat, seed: int) -> None:
        self.chat, self.dice = chat, random.Random(seed)
        self.writers = [Writer(chat), Writer(chat)]
        self.live, self.gone = set[str](), set[str]()
        self.made, self.epoch = 0, 1
        # Parents that were named before they were saved.
        self.promised = list[str]()

    def step(self) -> None:
        act: Callable[[], None] = self.dice.choices(
            [self.add, self.add_many, self.delete, self.truncate, self.pop, self.restore, self.move, self.reparent, self.clear],
            weights=[30, 8, 6, 4, 4, 8, 14, 5, 1],
        )[0]
        act()
        self.check()

    def add(self) -> None:
        self.save(self.new())

    def add_many(self) -> None:
        ops = [self.new() for _ in range(self.dice.randint(2, 5))]
        self.dice.shuffle(ops)
        self.save(*ops)

    def new(self) -> dict[str, Any]:
        self.made += 1
        message_id = f"n{self.made}"
        if self.promised and self.dice.random() < 0.4:
            message_id = self.promised.pop(self.dice.randrange(len(self.promised)))
        op = upsert(message_id, f"word {message_id}")
        kind = self.dice.random()
        if kind < 0.5 and (self.live or self.gone):
            op["parent_id"] = self.dice.choice(sorted(self.live | self.gone))
        elif kind < 0.6:
            op["parent_id"] = None
        elif kind < 0.75:
            op["parent_id"] = f"p{self.made}"
            self.promised.append(f"p{self.made}")
        elif kind < 0.78:
            op["parent_id"] = message_id
        return op

    def save(self, *ops: dict[str, Any], **body: Any) -> None:
        answer = self.dice.choice(self.writers).save(*ops, epoch=self.epoch, **body)
        for entry in answer["applied"]:
            (self.gone if entry.get("removed") else self.live).add(entry["id"])
            (self.live if entry.get("removed") else self.gone).discard(entry["id"])

    def delete(self) -> None:
        if self.live:
            self.save(*[delete(found) for found in self.dice.sample(sorted(self.live), min(2, len(self.live)))], base_rev=10**6)

    def truncate(self) -> None:
        if self.live:
            self.save(truncate(self.dice.choice(sorted(self.live))), base_rev=10**6)

    def pop(self) -> None:
        self.save(pop(self.dice.randint(1, 3)))

    def restore(self) -> None:
        if self.gone:
            wanted = self.dice.choice(sorted(self.gone))
            answer = self.chat.api.post(f"/sessions/{self.chat.id}/removed/{wanted}/restore", {})
            assert answer.status_code == 200, answer.content
            self.live.add(wanted)
            self.gone.discard(wanted)

    def move(self) -> None:
        if self.live:
            wanted = self.dice.choice(sorted(self.live))
            moved = self.chat.api.patch(f"/sessions/{self.chat.id}", {"head": wanted, "to_end": self.dice.random() < 0.3})
            assert moved.status_code == 200, moved.content

    def reparent(self) -> None:
        if len(self.live) > 1:
            moved, parent = self.dice.sample(sorted(self.live), 2)
            self.save(patch(moved, parent_id=parent), base_rev=10**6)

    def clear(self) -> None:
        self.chat.clear(epoch=self.epoch)
        self.epoch += 1
        self.chat.undo(of=self.epoch - 1, epoch=self.epoch)

    def check(self) -> None:
        session = ChatSession.objects.get(id=self.chat.id)
        rows = list(Message.objects.filter(session=session, epoch=session.epoch, removed="").order_by("position"))
        nodes = {row.message_id: row for row in rows}
        assert set(nodes) == self.live
        assert session.message_count == len(rows)
        above = dict[str, str]()
        trunk = ""
        for row in rows:
            if row.under is None:
                assert not row.aside
                above[row.message_id], trunk = trunk, row.message_id
                continue
            above[row.message_id] = row.under
            assert row.under == "" or nodes[row.under].position < row.position
        self.check_path(session.head, [row.message_id for row in rows if not row.aside], above, trunk)
        self.check_parents(nodes)

    def check_path(self, head: str | None, shown: list[str], above: dict[str, str], trunk: str) -> None:
        if head is None:
            assert len(shown) == len(above)
            return
        path, at = list[str](), head
        while at:
            path.append(at)
            at = above[at]
        assert shown == path[::-1]
        read = self.chat.get("messages?limit=500").json()["items"]
        assert [item["id"] for item in read] == shown
        some = self.dice.choice(sorted(above) or [""])
        if some:
            assert self.chat.get(f"messages?head={some}&limit=500").json()["items"][-1]["id"] == some

    def check_parents(self, nodes: dict[str, Message]) -> None:
        """A message that is not where its parent is has a reason: the parent is not there, or follows it."""
        for row in nodes.values():
            parent = nodes.get(row.parent_id or "")
            if row.under is not None and parent is not None and row.under != row.parent_id:
                at: Message | None = parent
                while at is not None and at is not row:
                    at = nodes.get(at.under or "")
                assert at is row, (row.message_id, row.parent_id, row.under)


@pytest.mark.parametrize("seed", first_of(range(8), 2))
def test_histories_with_branches(chat: Chat, seed: int) -> None:
    history = History(chat, seed)
    for _ in range(STEPS):
        history.step()


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(100, 1100))
def test_a_thousand_histories_with_branches(chat: Chat, seed: int) -> None:
    history = History(chat, seed)
    for _ in range(2 * STEPS):
        history.step()
