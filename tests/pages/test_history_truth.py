"""Random histories: whatever a session went through, each moment that is shown as exact is as it was read at that time."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.chats.reading.sessions import get_session, session_uuid
from sessions_app.core.callers import caller_of_user
from sessions_app.pages.history.epochs import list_clearings
from sessions_app.pages.history.past_messages import moment_of, past_page
from tests.support.chat import Chat
from tests.support.suite import first_of

STEPS = 40


class Recorder:
    """A session, and what was read from it at each rev."""

    def __init__(self, chat: Chat, seed: int) -> None:
        self.chat, self.chance, self.number = chat, random.Random(seed), 0
        self.read: dict[int, dict[str, str]] = {}
        self.epoch, self.cleared = 1, list[int]()
        self.note()

    def note(self) -> None:
        bundle = self.chat.read()
        self.epoch = bundle["session"]["epoch"]
        self.ids = [message["id"] for message in bundle["messages"]]
        self.read[bundle["session"]["rev"]] = {message["id"]: message["text"] for message in bundle["messages"]}

    def step(self) -> None:
        act = self.chance.choices(
            (self.say, self.stream, self.edit, self.delete, self.truncate, self.clear, self.undo), (6, 3, 3, 2, 1, 1, 1)
        )[0]
        act()
        self.note()

    def say(self) -> None:
        self.number += 1
        self.ops({"op": "upsert", "id": f"m{self.number}", "role": "user", "text": f"words {self.number}"})

    def stream(self) -> None:
        self.number += 1
        for length in range(1, self.chance.randint(2, 5)):
            text = "word " * length
            self.ops({"op": "upsert", "id": f"m{self.number}", "role": "assistant", "text": text, "status": "streaming"})
            self.note()

    def edit(self) -> None:
        if self.ids:
            self.number += 1
            self.ops({"op": "upsert", "id": self.chance.choice(self.ids), "role": "user", "text": f"edited {self.number}"})

    def delete(self) -> None:
        if self.ids:
            self.ops({"op": "delete", "id": self.chance.choice(self.ids)})

    def truncate(self) -> None:
        if self.ids:
            self.ops({"op": "truncate", "after": self.chance.choice(self.ids[-3:])})

    def clear(self) -> None:
        self.cleared.append(self.chat.clear(epoch=self.epoch)["of"])

    def undo(self) -> None:
        if self.cleared:
            self.chat.undo(of=self.cleared.pop(), epoch=self.epoch)

    def ops(self, *ops: dict[str, Any]) -> None:
        newest = max(self.read)
        self.chat.ops(*ops, epoch=self.epoch, base_rev=newest)


class BranchingRecorder(Recorder):
    """With answers that are asked for again, and questions that are edited, as chats do it: each is a new message."""

    def step(self) -> None:
        act = self.chance.choices((self.say, self.stream, self.again, self.again_streaming), (5, 3, 4, 2))[0]
        act()
        self.note()

    def again(self) -> None:
        if len(self.ids) > 1:
            self.number += 1
            at = self.chance.randint(max(1, len(self.ids) - 4), len(self.ids) - 1)
            op = {"op": "upsert", "id": f"m{self.number}", "role": "assistant", "text": f"version {self.number}"}
            self.ops({**op, "parent_id": self.ids[at - 1]})

    def again_streaming(self) -> None:
        if len(self.ids) > 1:
            self.number += 1
            parent = self.ids[-2]
            for length in range(1, 5):
                op = {"op": "upsert", "id": f"m{self.number}", "role": "assistant", "text": "word " * length}
                self.ops({**op, "parent_id": parent, "status": "streaming"})
                self.note()


@pytest.mark.parametrize("kind", [Recorder, BranchingRecorder])
@pytest.mark.parametrize("seed", first_of(range(12), 2))
def test_each_moment_is_as_it_was_read(seed: int, kind: type[Recorder], api: Callable[..., Any], alice: User) -> None:
    recorder = kind(Chat(api(alice)), seed)
    for _ in range(STEPS):
        recorder.step()
    session = get_session(caller=caller_of_user(alice), session_id=session_uuid(recorder.chat.id))
    clearings = list_clearings(session.id)
    exact = 0
    for rev in sorted(recorder.read):
        moment = moment_of(session, rev, clearings)
        page = past_page(session, moment, clearings, limit=500)
        truth = recorder.read[rev if moment.exact else moment.last]
        assert {one.item["id"] for one in page.messages} == truth.keys(), (rev, moment)
        unchanged = {one.item["id"]: one.item["text"] for one in page.messages if one.changed_at is None and moment.exact}
        assert unchanged.items() <= truth.items(), (rev, moment)
        exact += moment.exact
    assert exact > len(recorder.read) / 4
