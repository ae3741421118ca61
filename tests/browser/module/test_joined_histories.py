"""Two devices begin the same chat, in whatever order of words, closed pages and lost answers: one session has it all, once."""

import random
import uuid
from collections.abc import Callable
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User

from sessions_app.models import ConflictCopy, Message
from tests.browser.driving import Browser, wait_for
from tests.browser.module.joining import ASK, CHAT, SAY, Device, Tab, play
from tests.conftest import Api
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
STEPS = 14
SAID = {"say": 6, "stream": 4, "edit": 3, "remove": 1, "draft": 2, "state": 2, "clear": 2, "undo": 1, "ask": 2}
LIKELY = SAID | {"away": 3, "bad": 2, "back": 2, "load": 3, "close": 2, "kill": 1, "pause": 3}


class History:
    """`last`: the text that each message must have at the end. `cleared`: the one tab that clears the chat, if it
    does; `before`: what it said and is cleared at the end; `again`: of this what an undo restores; `after`: what stays of it."""

    def __init__(self, browser: Browser, server: LiveServer, user: User, api: Api, seed: int) -> None:
        self.dice = random.Random(seed)
        self.browser, self.api = browser, api
        browser.leave()
        self.base = browser.driver.current_window_handle
        self.project = f"/home/{user.username}/{uuid.uuid4()}"
        urls = (server.url, server.url.replace("127.0.0.1", "localhost"))
        for url in urls:
            browser.sign_in_as(user, url)
        self.devices = [Device(browser, url, self.project, user.username, self.dice) for url in urls]
        self.count = 0
        self.last: dict[str, str] = {}
        self.cleared: Tab | None = None
        self.before: set[str] = set()
        self.again: set[str] = set()
        self.after: set[str] = set()
        self.asked: set[str] = set()
        self.drafts: dict[tuple[int, str], str] = {}
        self.context: str | None = None
        self.steps: list[str] = []

    def run(self) -> None:
        for device in self.devices:
            device.network = self.dice.choice(("", "away", "away", "away", "bad"))
            for _ in range(self.dice.choice((1, 1, 2))):
                device.open()
            # So that most of these histories join.
            for tab in device.tabs:
                self.browser.go_to(tab.handle)
                self.say(tab)
        for _ in range(STEPS):
            self.step(*self.dice.choices(*zip(*LIKELY.items(), strict=True)))
        for device in self.devices:
            device.set_network("")
        for device in self.devices * 2:
            device.settle()
        self.wait_for_answers()
        self.check()

    def step(self, name: str) -> None:
        device = self.dice.choice(self.devices)
        tab = self.dice.choice(device.tabs)
        number = self.devices.index(device)
        self.steps.append(f"{name} {number}.{device.tabs.index(tab)}")
        self.browser.go_to(tab.handle)
        match name:
            case "say" | "stream" | "edit" | "remove" | "clear" | "undo" | "ask":
                getattr(self, name)(tab)
            case "draft":
                kind = self.dice.choice(("", "note"))
                self.browser.go_to(device.tabs[0].handle)
                self.drafts[number, kind] = text = self.word()
                self.browser.run("chat.saveDraft(...args);", text, kind)
            case "state":
                self.browser.go_to(self.devices[0].tabs[0].handle)
                self.context = text = self.word()
                self.browser.run("chat.saveState({ context: args[0] });", text)
            case "away" | "bad" | "back":
                device.set_network("" if name == "back" else name)
            case "pause":
                self.browser.pause(self.dice.random() / 2)
            case "load":
                device.load(tab)
            case _:
                getattr(device, name)(tab, self.base)

    def word(self) -> str:
        self.count += 1
        return f"w{self.count}"

    def write(self, tab: Tab, message: str, role: str, *, streaming: bool = False) -> None:
        said = self.browser.run(SAY, message, role, f" {self.word()}", streaming, message in self.last)
        if said is None:
            return
        self.last[message] = said
        if tab is self.cleared:
            self.after.add(message)

    def say(self, tab: Tab) -> None:
        tab.said.append(self.word())
        self.write(tab, tab.said[-1], "user")

    def ask(self, tab: Tab) -> None:
        """A question that the server answers."""
        message = self.word()
        tab.said.append(message)
        self.asked.add(message)
        self.last[message] = self.browser.run(ASK, message)
        if tab is self.cleared:
            self.after.add(message)

    def stream(self, tab: Tab) -> None:
        """An answer begins, and grows at each further step; the last one may never come."""
        message = f"{self.word()}-answer"
        tab.said.append(message)
        for _ in range(self.dice.randrange(1, 4)):
            self.write(tab, message, "assistant", streaming=True)
        if self.dice.random() < 0.7:
            self.write(tab, message, "assistant")

    def shown(self, tab: Tab) -> list[str]:
        """What is this tab's to change, and on its screen."""
        shown = self.browser.run("return list.map(({ id }) => id);")
        return [message for message in tab.said if message in shown and message in self.last and message not in self.asked]

    def edit(self, tab: Tab) -> None:
        if shown := self.shown(tab):
            message = self.dice.choice(shown)
            self.write(tab, message, "assistant" if message.endswith("-answer") else "user")

    def remove(self, tab: Tab) -> None:
        """Not the first one of the list: a list that begins later is one that shows less."""
        shown = [message for message in self.shown(tab) if self.browser.run("return list[0].id;") != message]
        if shown and self.cleared is None:
            message = self.dice.choice(shown)
            del self.last[message]
            self.browser.run("chat.save(list); list = list.filter(({ id }) => id !== args[0]); chat.save(list);", message)

    def clear(self, tab: Tab) -> None:
        if (self.cleared is None or self.cleared is tab) and self.browser.run("return chat.session !== null;"):
            self.again = (set(tab.said) & self.last.keys()) - self.before
            self.cleared = tab
            self.before, self.after = set(tab.said), set()
            self.browser.run("void chat.clear(); await null;")

    def undo(self, tab: Tab) -> None:
        """Of the last clear, if this tab has cleared anything of its own since. A page without a session has no clear."""
        if tab is self.cleared and self.again and self.browser.run("return chat.session !== null;"):
            self.before -= self.again
            self.after |= self.again
            self.again = set()
            self.browser.run("void chat.undoClear(); await null;")

    def wait_for_answers(self) -> None:
        """A question that came while another one was answered is asked later."""
        quiet = 0
        while self.asked and quiet < 2:
            quiet += 1
            for tab in [tab for device in self.devices for tab in device.tabs]:
                self.browser.go_to(tab.handle)
                if self.browser.run("return chat.answering !== null;"):
                    wait_for(lambda: self.browser.run("return chat.answering === null;"), 25, "the end of an answer")
                    quiet = 0
            self.browser.pause(2)

    def check(self) -> None:
        [session] = [one for one in self.api.get("/sessions?limit=200").json()["items"] if one["project"] == self.project]
        assert session["external_id"] == CHAT
        found = self.api.get(f"/resume?project={quote(self.project)}&external_id={CHAT}&quiet=1").json()
        assert found["session"]["id"] == session["id"]
        messages = [[message["id"], message["text"]] for message in found["messages"]]
        self.check_words(session["id"], messages)
        for number, device in enumerate(self.devices):
            for tab in device.tabs:
                device.shows(tab, messages)
                assert self.browser.run("return heard;") == []
            assert device.waiting() == []
            device.load(tab)
            device.shows(tab, messages)
            for (owner, kind), text in self.drafts.items():
                if owner == number:
                    assert self.browser.run("return chat.draft(args[0]);", kind) == text, (number, kind)
        self.check_state(session["id"])

    def check_state(self, session: str) -> None:
        """What a page could not save is saved by the next one at the latest."""
        path = f"/sessions/{session}/agent-state"
        if self.context is not None:
            wait_for(lambda: self.api.get(path).json().get("context") == self.context, what=f"{self.context} in {path}")

    def check_words(self, session: str, messages: list[list[str]]) -> None:
        there = dict(messages)
        assert len(there) == len(messages)
        answers = [there.pop(message) for message in there.keys() - self.last.keys()]
        assert len(answers) <= len(there.keys() & self.asked), "not removed, or not of this chat"
        if self.cleared is None:
            assert there == self.last
            return
        assert not there.keys() & (self.before - self.after), "not cleared"
        assert {message: there.get(message) for message in self.after} == {one: self.last[one] for one in self.after}
        # The clear took the others, or they came after it.
        rows = (model._default_manager.filter(session=uuid.UUID(session)) for model in (Message, ConflictCopy))
        kept = {word for found in rows for text in found.values_list("text", flat=True) for word in text.split()}
        assert {word for text in self.last.values() for word in text.split()} <= kept


def run(seed: int, browser: Browser, server: LiveServer, user: User, api: Api) -> None:
    play(History(browser, server, user, api, seed), seed)


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 13, 40))])
def test_two_devices_that_begin_one_chat_lose_nothing(
    browser: Browser, server: LiveServer, alice: User, api: Callable[..., Api], seed: int
) -> None:
    run(seed, browser, server, alice, api(alice))


@pytest.mark.prove
def test_two_hundred_chats_that_two_devices_begin(
    browser: Browser, server: LiveServer, alice: User, api: Callable[..., Api]
) -> None:
    for seed in range(1_000, 1_200):
        run(seed, browser, server, alice, api(alice))
