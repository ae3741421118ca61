"""Two devices that begin the same chat, each with one or two tabs, and what lies between them and the server.

A device is an origin of the one server: `127.0.0.1` and `localhost` share nothing that a browser stores.
"""

import random
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.browser.driving import Browser, wait_for

CHAT = "thread-42"
# A page that was away listens again after half a minute at the latest.
SOCKET_SECONDS = 40
# What the device's storage says of its network counts for all its tabs, and outlives a page: "away", "bad" (some requests are
# lost, and some answers), or "" (some take a little longer).
NETWORK = """
    const network = () => localStorage.getItem("network") ?? "";
    let dice = args[2];
    const chance = (part) => (dice = (dice * 1103515245 + 12345) % 2147483648) / 2147483648 < part;
    const later = () => new Promise((go) => setTimeout(go, chance(0.3) ? 60 : 0));
    const lost = () => { throw new TypeError("lost"); };
    const send = window.fetch;
    window.fetch = async (url, options) => {
      if (network() === "away" || (network() === "bad" && chance(0.3))) lost();
      await later();
      const answer = await send(url, options);
      await later();
      if (network() === "away" || (network() === "bad" && chance(0.3))) lost();
      return answer;
    };
    const beacon = navigator.sendBeacon.bind(navigator);
    navigator.sendBeacon = (...sent) => (network() === "" ? beacon(...sent) : true);
    const Socket = window.WebSocket;
    window.sockets = [];
    window.WebSocket = class extends Socket {
      constructor(url) {
        super(network() === "away" ? url.replace("/ws/", "/nowhere/") : url);
        window.sockets.push(this);
      }
    };
"""
CONNECT = """
    const { connect } = await import(args[0]);
    window.chat = connect(args[1]);
    window.heard = [];
    window.list = [];
    const follow = (detail) => { window.list = detail.messages; };
    for (const type of ["changed", "cleared", "restored"]) chat.on(type, follow);
    chat.on("refused", (detail) => heard.push(JSON.stringify(detail)));
    window.list = (await chat.resume()).messages;
"""
# A message that was said before is said again only while it is shown: another page may clear it at any moment.
SAY = """
    const [id, role, more, streaming, again] = args;
    const known = list.find((message) => message.id === id);
    if (again && !known) return null;
    const text = (known?.text ?? "") + more;
    list = known ? list.map((one) => (one === known ? { id, role, text } : one)) : [...list, { id, role, text }];
    chat.save(list, { streaming });
    return text;
"""
ASK = """
    const [id] = args;
    const text = "count to 12";
    list = [...list, { id, role: "user", text }];
    chat.save(list);
    chat.answer(id);
    return text;
"""
# What waits in this browser, of all its pages.
WAITING = """
    const rows = await new Promise((resolve, reject) => {
      const opening = indexedDB.open("stillhere");
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => {
        const all = opening.result.transaction("queue").objectStore("queue").getAll();
        all.onsuccess = () => { opening.result.close(); resolve(all.result); };
      };
    });
    const stashes = Object.keys(localStorage).filter((name) => name.startsWith("stillhere:stash:"));
    const ofChat = ({ scope }) => scope.includes(args[0]);
    return [...rows.filter(ofChat).map(({ key }) => key), ...stashes.filter((name) => name.includes(args[0]))];
"""
SHOWN = """
    const texts = (messages) => messages.map(({ id, text }) => [id, text]);
    return [texts(chat._sessionClient.parts.store.list()), texts(list)];
"""


class Played(Protocol):
    browser: Browser
    steps: list[str]

    def run(self) -> None: ...


def play(history: Played, seed: int) -> None:
    """What fails names the steps up to there."""
    try:
        history.run()
    except Exception as error:
        error.add_note(f"seed {seed}: {', '.join(history.steps)}")
        raise
    finally:
        history.browser.leave()


@dataclass
class Tab:
    """One place for a page, which is loaded again and again. `said`: the messages that are its to change."""

    device: "Device"
    handle: str
    said: list[str] = field(default_factory=list)


class Device:
    def __init__(self, browser: Browser, url: str, project: str, user: str, dice: random.Random) -> None:
        self.browser, self.url, self.dice = browser, url, dice
        self.project = project
        self.options = {"project": project, "chat": CHAT, "auth": {"cookie": True, "user": user}}
        self.network = ""
        self.tabs: list[Tab] = []

    def open(self) -> Tab:
        """A further tab. Each has a window: a page that is hidden reads nothing."""
        self.browser.driver.switch_to.new_window("window")
        tab = Tab(self, self.browser.driver.current_window_handle)
        self.tabs.append(tab)
        self.load(tab)
        return tab

    def load(self, tab: Tab) -> None:
        self.browser.go_to(tab.handle)
        self.browser.open(f"{self.url}/healthz")
        self.browser.run("localStorage.setItem('network', args[0]);", self.network)
        self.browser.run(NETWORK + CONNECT, "/static/js/stillhere.js", self.options, self.dice.randrange(2**31))

    def kill(self, tab: Tab, base: str) -> None:
        """And open another page in its place."""
        self.browser.go_to(tab.handle)
        self.browser.run("await chat.stored();")
        self.browser.crash_tab(then=base)
        self.replace(tab)

    def close(self, tab: Tab, base: str) -> None:
        self.browser.go_to(tab.handle)
        self.browser.close_tab(then=base)
        self.replace(tab)

    def replace(self, tab: Tab) -> None:
        tab.handle = self.open().handle
        self.tabs.pop()

    def set_network(self, state: str) -> None:
        self.network = state
        for tab in self.tabs:
            self.browser.go_to(tab.handle)
            self.browser.run("localStorage.setItem('network', args[0]);", state)
            if state == "away":
                self.browser.run("for (const socket of sockets.splice(0)) socket.close();")
            else:
                self.browser.run("window.dispatchEvent(new Event('online'));")

    def settle(self) -> None:
        for tab in self.tabs:
            self.browser.go_to(tab.handle)
            assert self.browser.run("return chat.settled(25000);"), ("not everything was acknowledged", self.waiting())
            wait_for(lambda: not self.waiting(), 25, "what earlier pages left")

    def waiting(self) -> list[str]:
        keys: list[str] = self.browser.run(WAITING, self.project.rpartition("/")[2])
        return keys

    def shows(self, tab: Tab, messages: list[list[str]]) -> None:
        """As the module has it, and as its page was told."""
        self.browser.go_to(tab.handle)
        shown: Any = None

        def same() -> bool:
            nonlocal shown
            shown = self.browser.run(SHOWN)
            return bool(shown == [messages, messages])

        try:
            wait_for(same, SOCKET_SECONDS)
        except AssertionError:
            raise AssertionError(f"{self.url} shows {shown}, the server has {messages}") from None
