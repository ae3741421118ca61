"""Random histories of two writers against a plain program of the rules of branches (reference.py). After every step the server
has the same tree, head and path, and a client that reads only changes has what a whole read has. At the end a search, the
session's page and a file that was exported and imported say the same.

The seed is in the test's id.
"""

import random
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.models import ChatSession, Message
from tests.chats.branches.reference import Node, Op, Reference
from tests.chats.branches.test_version_pages import ids as ids_on_page
from tests.support.chat import Chat
from tests.support.export_files import download, purge, upload
from tests.support.saves import Writer, delete, patch, pop, truncate, upsert
from tests.support.suite import first_of

pytestmark = pytest.mark.django_db
STEPS = 20
ACTS = {"add": 10, "mixed": 10, "again": 6, "restore": 6, "move": 6, "clear": 1, "undo": 2, "repeat": 2}


class History:
    def __init__(self, chat: Chat, seed: int) -> None:
        self.chat, self.dice = chat, random.Random(seed)
        self.model = Reference()
        self.writers = [Writer(chat), Writer(chat)]
        self.epoch, self.made = 1, 0
        self.cleared = list[int]()
        # What was removed without a link: its neighbours have none that lead back to it, so its place is the server's choice.
        self.unlinked = set[str]()
        self.sent = list[tuple[Writer, list[Op], dict[str, Any], Any]]()
        # A client that reads changes only.
        self.shown: dict[str, Any] = {}
        self.rev, self.shown_epoch = 0, 1

    def run(self, steps: int) -> None:
        for number in range(steps):
            act = self.dice.choices([*ACTS], weights=[*ACTS.values()])[0]
            getattr(self, act)()
            self.check()
            if number % 4 == 3:
                self.catch_up()

    def new(self) -> Op:
        self.made += 1
        op, die = upsert(f"n{self.made}", f"word n{self.made}."), self.dice.random()
        if die < 0.5 and self.model.nodes:
            op["parent_id"] = self.dice.choice([*self.model.nodes])
        elif die < 0.6:
            op["parent_id"] = None
        elif die < 0.75:  # One that is saved soon, or itself.
            op["parent_id"] = f"n{self.made + self.dice.randrange(4)}"
        return op

    def save(self, ops: list[Op]) -> None:
        writer = self.dice.choice(self.writers)
        rev = self.session().rev
        # A writer that has not seen the last changes.
        base_rev = rev if self.dice.random() < 0.7 else max(rev - 3, 0)
        body = {"epoch": self.epoch, "base_rev": base_rev, "seq": next(writer._seq)}
        answer = writer.send(*ops, **body)
        assert answer.status_code == 200, answer.content
        self.sent.append((writer, ops, body, answer))
        said = answer.json()
        self.model.save(ops, {*said["spared"], *(entry["id"] for entry in said["conflicts"])})

    def add(self) -> None:
        ops = [self.new() for _ in range(self.dice.randint(1, 4))]
        self.dice.shuffle(ops)
        self.save(ops)

    def mixed(self) -> None:
        self.save([self.op() for _ in range(self.dice.randint(1, 4))])

    def op(self) -> Op:
        die, live = self.dice.random(), self.model.live()
        if die < 0.3 or len(live) < 2:
            return self.new()
        one, other = self.dice.sample(live, 2)
        if die < 0.5:
            return delete(one)
        if die < 0.65:
            return truncate(self.dice.choice([one, None]))
        if die < 0.75:
            return pop(self.dice.randint(1, 2))
        self.made += 1
        return patch(one, parent_id=other) if die < 0.85 else upsert(one, f"word n{self.made}.")

    def again(self) -> None:
        """A cut, and what it took said again: as clients edit that know no branches."""
        path = self.model.path()
        place = self.dice.randrange(len(path) + 1)
        back = [self.said_again(name) for name in path[place:] if self.dice.random() < 0.7]
        back += [self.new() for _ in range(self.dice.randrange(2))]
        self.dice.shuffle(back)
        self.save([truncate(path[place - 1] if place else None), *back])

    def said_again(self, name: str) -> Op:
        self.made += 1
        named = {"parent_id": self.dice.choice(self.model.live())} if self.dice.random() < 0.3 else {}
        return upsert(name, f"word n{self.made}.", **named)

    def restore(self) -> None:
        # A parent that was named before a clear is waited for or not, as there were branches or not.
        present = self.session().epoch
        gone = [item for item in self.chat.removed() if item["epoch"] == present or "parent_id" not in item]
        if not gone:
            return
        wanted = self.dice.choice(gone)
        path = f"removed/{wanted['id']}/restore?epoch={wanted['epoch']}"
        assert self.chat.post_plain(path, {}).status_code == 200
        node = self.model.nodes.get(wanted["id"])
        if node is None or node.live or wanted["id"] in self.unlinked:
            self.adopt()
        else:
            self.model.restore(wanted["id"])

    def move(self) -> None:
        if live := self.model.live():
            wanted = self.dice.choice(live)
            assert self.chat.api.patch(f"/sessions/{self.chat.id}", {"head": wanted}).status_code == 200
            self.model.move(wanted)

    def clear(self) -> None:
        self.chat.clear(epoch=self.epoch)
        self.cleared.append(self.epoch)
        self.epoch += 1
        self.model = Reference()
        late = self.writers[0].send(upsert("late", "late"), epoch=self.epoch - 1)
        assert late.status_code == 409

    def undo(self) -> None:
        if self.cleared:
            of = self.cleared.pop(self.dice.randrange(len(self.cleared)))
            self.chat.undo(of=of, epoch=self.epoch)
            self.adopt()

    def repeat(self) -> None:
        if self.sent:
            writer, ops, body, answer = self.dice.choice(self.sent)
            assert writer.send(*ops, **body).content == answer.content

    # Comparisons.

    def session(self) -> ChatSession:
        return ChatSession.objects.get(id=self.chat.id)

    def adopt(self) -> None:
        """Go on from the server's tree. It must be sound: see `check`."""
        session, self.model, before = self.session(), Reference(), ""
        for row in Message.objects.filter(session=session, epoch=session.epoch).order_by("position"):
            follows = before if row.under is None else row.under
            parent = follows if row.parent_id is None and session.head is not None else row.parent_id
            self.model.nodes[row.message_id] = Node(row.position, parent, follows, live=not row.removed)
            before = row.message_id if row.under is None and not row.removed else before
        self.model.head, self.model.last = session.head, session.last_position

    def check(self) -> None:
        session = self.session()
        every = self.chat.get("messages?branches=1&limit=500").json()["items"]
        assert session.head == self.model.head
        assert {item["id"] for item in every} == set(self.model.live())
        assert session.message_count == len(every)
        if session.head is not None:
            assert {item["id"]: item["follows"] or "" for item in every} == self.model.tree()
        assert [item["id"] for item in self.chat.get("messages?limit=500").json()["items"]] == self.model.path()
        if every:
            to = self.dice.choice(every)["id"]
            path = self.model.path() if session.head is None else self.model.above(to)
            read = self.chat.get(f"messages?head={to}&limit=500").json()["items"]
            assert [item["id"] for item in read] == path[: path.index(to) + 1]
        for item in every:  # Of several that wait for one parent the first counts, and what moves goes behind all others.
            self.model.nodes[item["id"]].order = item["position"]
        self.model.last = session.last_position
        gone = Message.objects.filter(session=session, epoch=session.epoch, under=None).exclude(removed="")
        self.unlinked |= set(gone.values_list("message_id", flat=True))

    def catch_up(self) -> None:
        """What it has of each message is what a whole read has, but for siblings, which are as of the read."""
        if self.shown_epoch != self.epoch:
            self.shown, self.shown_epoch, self.rev = {}, self.epoch, 0
        more = True
        while more:
            changes = self.chat.get(f"messages?since_rev={self.rev}&limit={self.dice.choice([1, 3, 500])}").json()
            for message_id in changes["removed"]:
                self.shown.pop(message_id, None)
            self.shown |= {item["id"]: plain(item) for item in changes["items"]}
            self.rev, more = changes["rev"], changes["more"]
        whole = [plain(item) for item in self.chat.get("messages?limit=500").json()["items"]]
        assert sorted(self.shown.values(), key=lambda item: int(item["position"])) == whole


def plain(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name != "siblings"}


def everything(chat: Chat) -> list[Any]:
    whole = [chat.get(f"{path}limit=500").json() for path in ("messages?branches=1&", "messages?", "removed?")]
    paths = [chat.get(f"messages?head={item['id']}&limit=500").json() for item in whole[0]["items"]]
    return [chat.read(), *whole, *paths]


def found(chat: Chat, text: str) -> list[str]:
    hits = chat.api.get(f"/search?q={text}&in=messages").json()["items"]
    return [hit["message"] for hit in hits]


def check_elsewhere(history: History, page: Client) -> None:
    """A search, the page, and an imported file, which goes on like the session that was exported."""
    chat, model = history.chat, history.model
    texts = {item["id"]: item["text"] for item in chat.get("messages?branches=1&limit=500").json()["items"]}
    for name in history.dice.sample(model.live(), min(3, len(texts))):
        assert name in found(chat, texts[name])
    html = page.get(f"/sessions/{chat.id}/").content.decode()
    assert ids_on_page(html) == model.path()[-40:]
    before, content = everything(chat), download(chat.api)
    purge(chat.api)
    assert upload(chat.api, content).status_code == 200
    assert everything(chat) == before
    history.sent.clear()  # Stored answers stay where they are.
    history.run(5)


@pytest.mark.parametrize("seed", first_of(range(12), 4))
def test_histories_are_those_of_the_reference(chat: Chat, client: Client, alice: User, seed: int) -> None:
    client.force_login(alice)
    history = History(chat, seed)
    history.run(STEPS)
    check_elsewhere(history, client)


@pytest.mark.prove
@pytest.mark.parametrize("seed", range(1_000, 1_350))
def test_hundreds_of_histories_are_those_of_the_reference(chat: Chat, client: Client, alice: User, seed: int) -> None:
    test_histories_are_those_of_the_reference(chat, client, alice, seed)
