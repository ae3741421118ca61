"""Several writers on one session: no text is lost, and every conflict is reported to the client that caused it."""

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

SHARED = [f"shared-{number}" for number in range(5)]
Sent = dict[str, Any]


@dataclass
class Stored:
    """What a message is by the rules, as this test reckons it."""

    text: str
    rev: int
    writer: str


@dataclass
class Tab:
    """A frontend with its own copy of the session: the texts that it saw last, and up to which rev."""

    name: str
    base_rev: int = 0
    seq: int = 0
    seen: dict[str, str] = field(default_factory=dict)
    writer_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def step(self) -> Sent:
        self.seq += 1
        return {"epoch": 1, "writer_id": self.writer_id, "seq": self.seq, "base_rev": self.base_rev}


class TwoTabs:
    """Two tabs that change five messages in turn, by changes and by whole-session saves, each reading only now and then."""

    def __init__(self, chat: Chat, dice: random.Random) -> None:
        self.chat, self.dice = chat, dice
        self.stored: dict[str, Stored] = {}
        self.tabs = [Tab("left"), Tab("right")]
        self.rev = self.conflicts = 0
        self.lost_texts: set[str] = set()

    def save(self, tab: Tab, number: int) -> None:
        message_id, text = self.dice.choice(SHARED), f"<{tab.name} {number}>"
        step = tab.step()
        if self.dice.random() < 0.5:
            sent = {message_id: text}
            answer = self.chat.api.post(f"/sessions/{self.chat.id}/changes", {**step, "ops": [upsert(message_id, text)]})
        else:
            sent = {**tab.seen, message_id: text}
            messages = [{"id": name, "role": "user", "text": words} for name, words in sent.items()]
            answer = self.chat.api.put(f"/sessions/{self.chat.id}/messages", {**step, "messages": messages})
        assert answer.status_code == 200, answer.content
        told = answer.json()
        assert {conflict["id"] for conflict in told["conflicts"]} == self.reckon(tab, sent)
        assert told["rev"] == self.rev
        tab.seen[message_id] = text

    def reckon(self, tab: Tab, sent: dict[str, str]) -> set[str]:
        """What the rules make of it; answers the ids that must conflict."""
        conflicts, applied = set(), []
        for message_id, text in sent.items():
            stored = self.stored.get(message_id)
            if stored is not None and stored.text == text:
                continue
            if stored is None or stored.writer == tab.name or stored.rev <= tab.base_rev:
                applied.append(message_id)
            else:
                conflicts.add(message_id)
                self.lost_texts.add(text)
        self.rev += bool(applied)
        for message_id in applied:
            self.stored[message_id] = Stored(sent[message_id], self.rev, tab.name)
        self.conflicts += len(conflicts)
        return conflicts

    def read(self, tab: Tab) -> None:
        tab.seen = {message["id"]: message["text"] for message in self.chat.read()["messages"]}
        tab.base_rev = self.rev


def upsert(message_id: str, text: str, **more: Any) -> Sent:
    return {"op": "upsert", "id": message_id, "role": "user", "text": text, **more}


def interleave(api: Callable[..., Any], user: User, *, saves: int) -> None:
    dice = random.Random(saves)
    chat = Chat(api(user))
    both = TwoTabs(chat, dice)
    for number in range(saves):
        tab = both.tabs[number % 2]
        if dice.random() < 0.2:
            both.read(tab)
        both.save(tab, number)
    assert both.conflicts > saves / 20
    assert {message["id"]: message["text"] for message in chat.read()["messages"]} == {
        name: stored.text for name, stored in both.stored.items()
    }
    kept = " ".join(copy["text"] for copy in all_copies(chat)) + " ".join(stored.text for stored in both.stored.values())
    assert not [text for text in both.lost_texts if text not in kept]


def all_copies(chat: Chat) -> list[Any]:
    page = chat.api.get(f"/sessions/{chat.id}/conflicts?limit=500").json()
    found: list[Any] = page["items"]
    while page["next"]:
        page = chat.api.get(f"/sessions/{chat.id}/conflicts?limit=500&cursor={page['next']}").json()
        found += page["items"]
    return found


def test_two_tabs_that_know_little_of_each_other_lose_no_words(api: Callable[..., Any], alice: User) -> None:
    interleave(api, alice, saves=120)


@pytest.mark.prove
def test_two_tabs_and_a_thousand_saves(api: Callable[..., Any], alice: User) -> None:
    interleave(api, alice, saves=1_000)


class Agent:
    """Adds messages of its own and counts up a shared one by compare-and-set, trying again on every conflict."""

    def __init__(self, url: str, secret: str, session: str, name: str) -> None:
        self.address, self.name = f"{url}/api/v1/sessions/{session}/changes", name
        self.secret = secret
        self.seq = self.counted = self.conflicts = 0
        self.error: Exception | None = None

    def run(self, saves: int) -> None:
        try:
            with httpx.Client(headers={"Authorization": f"Bearer {self.secret}"}, timeout=60) as client:
                for number in range(saves):
                    own = upsert(f"{self.name}-{number}", f"<{self.name} {number}>")
                    assert self.send(client, own)["applied"]
                    if number % 5 == 0:
                        self.count_up(client)
        except Exception as error:
            self.error = error

    def count_up(self, client: httpx.Client) -> None:
        known = self.send(client, upsert("counter", "?", if_ver=0))
        self.conflicts += 1
        while True:
            server = known["conflicts"][0]["server"]
            count = int(server["text"].split()[0]) + 1
            # Who counted is part of the text: the same text from two writers would be no conflict.
            known = self.send(client, upsert("counter", f"{count} by {self.name}", if_ver=server["ver"]))
            if known["applied"]:
                self.counted += 1
                return
            self.conflicts += 1

    def send(self, client: httpx.Client, op: Sent) -> Any:
        self.seq += 1
        # A writer of its own for each: the rules let a writer overwrite what it wrote last itself.
        body = {"epoch": 1, "writer_id": f"{self.name}-{self.seq}", "seq": 1, "ops": [op]}
        answer = client.post(self.address, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()


def agents_at_once(server: LiveServer, api: Callable[..., Any], user: User, *, agents: int, saves: int) -> None:
    client = api(user)
    secret = client.client.defaults["HTTP_AUTHORIZATION"].removeprefix("Bearer ")
    chat = Chat(client)
    chat.say("counter", "0 by nobody")
    crowd = [Agent(server.url, secret, chat.id, f"agent{number}") for number in range(agents)]
    threads = [threading.Thread(target=agent.run, args=(saves,)) for agent in crowd]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [agent.error for agent in crowd if agent.error] == []
    page = client.get(f"/sessions/{chat.id}/messages?limit=500").json()
    found = {message["id"]: message["text"] for message in page["items"]}
    while page["next"]:
        page = client.get(f"/sessions/{chat.id}/messages?limit=500&before={page['next']}").json()
        found |= {message["id"]: message["text"] for message in page["items"]}
    assert int(found.pop("counter").split()[0]) == sum(agent.counted for agent in crowd)
    assert len(found) == agents * saves


@pytest.mark.scale
def test_eight_agents_on_one_session_lose_no_update(server: LiveServer, api: Callable[..., Any], alice: User) -> None:
    agents_at_once(server, api, alice, agents=8, saves=25)


@pytest.mark.prove
def test_eight_agents_and_two_thousand_saves(server: LiveServer, api: Callable[..., Any], alice: User) -> None:
    agents_at_once(server, api, alice, agents=8, saves=250)
