"""One device goes through sessions and projects with a bad network: what is said is where it was said, once."""

import random
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.models import ConflictCopy, Message
from tests.browser.driving import Browser, wait_for
from tests.browser.module import joining
from tests.browser.module.joining import SHOWN, SOCKET_SECONDS, WAITING, Device, Tab, play
from tests.conftest import Api
from tests.support.live_server import LiveServer
from tests.support.suite import first_of

pytestmark = [pytest.mark.browser, pytest.mark.once]
STEPS = 16
LIKELY = {"say": 6, "stream": 4, "edit": 3, "new": 2, "switch": 2}
LIKELY |= {"away": 3, "bad": 2, "back": 2, "load": 3, "close": 2, "kill": 1, "pause": 3}
CONNECT = """
    const { connect } = await import(args[0]);
    window.chat = connect(args[1]);
    window.heard = [];
    window.list = [];
    // The page waits for another session, and says nothing.
    window.busy = true;
    window.turn = async (turning) => { busy = true; list = (await turning).messages; busy = false; };
    for (const type of ["changed", "cleared", "restored"]) chat.on(type, (detail) => { list = detail.messages; });
    chat.on("refused", (detail) => heard.push(JSON.stringify(detail)));
    await turn(chat.resume());
"""
# What it says, and where; null: it says nothing now.
SAY = """
    const [id, role, more, streaming, again] = args;
    const known = list.find((message) => message.id === id);
    if (busy || (again && !known)) return null;
    const text = (known?.text ?? "") + more;
    list = known ? list.map((one) => (one === known ? { id, role, text } : one)) : [...list, { id, role, text }];
    chat.save(list, { streaming });
    return [text, chat.project, chat.session?.id ?? null];
"""
SETTLE = "return (await Promise.all(chat._clients.map((client) => client.settled(25000)))).every(Boolean);"
# What is left in a project is sent by its next page.
VISIT = """
    const { connect } = await import("/static/js/stillhere.js");
    for (const project of args[0]) {
      const other = connect({ ...args[1], project });
      await other.resume();
      other.close();
    }
"""


class History:
    """`last`: each message's text at the end. `place`: its project, and its session if there was one."""

    def __init__(self, browser: Browser, server: LiveServer, user: User, api: Api, seed: int) -> None:
        self.dice = random.Random(seed)
        self.browser, self.api = browser, api
        browser.leave()
        self.base = browser.driver.current_window_handle
        root = f"/home/{user.username}/{uuid.uuid4()}"
        self.projects = [f"{root}/a", f"{root}/b"]
        browser.sign_in_as(user, server.url)
        self.device = Device(browser, server.url, self.projects[0], user.username, self.dice)
        del self.device.options["chat"]
        self.count = 0
        self.last: dict[str, str] = {}
        self.place: dict[str, tuple[str, str | None]] = {}
        self.steps: list[str] = []

    def run(self) -> None:
        self.device.network = self.dice.choice(("", "", "away", "bad"))
        for _ in range(self.dice.choice((1, 2))):
            self.device.open()
        for _ in range(STEPS):
            self.step(*self.dice.choices(*zip(*LIKELY.items(), strict=True)))
        self.device.set_network("")
        for tab in self.device.tabs * 2:
            self.settle(tab)
        self.check()

    def step(self, name: str) -> None:
        tab = self.dice.choice(self.device.tabs)
        self.steps.append(f"{name} {self.device.tabs.index(tab)}")
        self.browser.go_to(tab.handle)
        match name:
            case "say" | "stream" | "edit":
                getattr(self, name)(tab)
            case "new":
                self.browser.run("if (!busy) turn(chat.newSession()); await null;")
            case "switch":
                self.browser.run("if (!busy) turn(chat.switchProject(args[0])); await null;", self.dice.choice(self.projects))
            case "away" | "bad" | "back":
                self.device.set_network("" if name == "back" else name)
            case "pause":
                self.browser.pause(self.dice.random())
            case "load":
                self.device.load(tab)
            case _:
                getattr(self.device, name)(tab, self.base)

    def word(self) -> str:
        self.count += 1
        return f"w{self.count}"

    def say(self, tab: Tab) -> None:
        self.write(tab, self.word(), "user")

    def stream(self, tab: Tab) -> None:
        message = f"{self.word()}-answer"
        for _ in range(self.dice.randrange(1, 4)):
            self.write(tab, message, "assistant", streaming=True)
        if self.dice.random() < 0.7:
            self.write(tab, message, "assistant")

    def edit(self, tab: Tab) -> None:
        shown = self.browser.run("return busy ? [] : list.map(({ id }) => id);")
        if own := [message for message in tab.said if message in shown]:
            message = self.dice.choice(own)
            self.write(tab, message, "assistant" if message.endswith("-answer") else "user")

    def write(self, tab: Tab, message: str, role: str, *, streaming: bool = False) -> None:
        if told := self.browser.run(SAY, message, role, f" {self.word()}", streaming, message in self.last):
            text, project, session = told
            if message not in self.last:
                tab.said.append(message)
                self.place[message] = (project, session)
            self.last[message] = text

    def settle(self, tab: Tab) -> None:
        self.browser.go_to(tab.handle)
        wait_for(lambda: self.browser.run("return !busy;"), 30, "another session")
        self.browser.run(VISIT, self.projects, self.device.options)
        assert self.browser.run(SETTLE), "not everything was acknowledged"
        wait_for(lambda: not self.browser.run(WAITING, self.projects[0].split("/")[3]), 25, "what earlier pages left")

    def check(self) -> None:
        rows = Message.objects.filter(session__project__path__in=self.projects, removed="").order_by("position")
        there = rows.values_list("message_id", "text", "session__project__path", "session_id")
        assert sorted((message, text) for message, text, _, _ in there) == sorted(self.last.items())
        for message, _, project, session in there:
            said_in, shown = self.place[message]
            assert (project, str(session)) == (said_in, shown or str(session)), message
        assert not ConflictCopy.objects.filter(session__project__path__in=self.projects)
        for tab in self.device.tabs:
            self.shows(tab)
            assert self.browser.run("return heard;") == []
            self.device.load(tab)
            self.shows(tab)

    def shows(self, tab: Tab) -> None:
        """The session that the page is in, as the module has it and as the page was told."""
        self.browser.go_to(tab.handle)
        found: Any = None

        def same() -> bool:
            nonlocal found
            session = self.browser.run("return chat.session?.id ?? null;")
            items = self.api.get(f"/sessions/{session}/messages?limit=500").json()["items"] if session else []
            texts = [[message["id"], message["text"]] for message in items]
            found = (self.browser.run(SHOWN), texts)
            return bool(found[0] == [texts, texts])

        try:
            wait_for(same, SOCKET_SECONDS)
        except AssertionError:
            raise AssertionError(f"The page shows {found[0]}, the server has {found[1]}") from None


def run(seed: int, browser: Browser, server: LiveServer, user: User, api: Api) -> None:
    play(History(browser, server, user, api, seed), seed)


@pytest.fixture(autouse=True)
def connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "CONNECT", CONNECT)


@pytest.mark.parametrize("seed", first_of([203, 331, 16, 31], 1))
def test_what_is_said_is_in_its_session_once(
    browser: Browser, server: LiveServer, alice: User, api: Callable[..., Api], seed: int
) -> None:
    run(seed, browser, server, alice, api(alice))


@pytest.mark.prove
def test_a_hundred_ways_through_sessions_and_projects(
    browser: Browser, server: LiveServer, alice: User, api: Callable[..., Api]
) -> None:
    for seed in range(100, 200):
        run(seed, browser, server, alice, api(alice))
