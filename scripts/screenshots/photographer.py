"""A browser that takes screenshots of the sample store's pages."""

import base64
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from django.contrib.auth.models import User
from django.urls import reverse

from scripts.screenshots.page_states import CLEAN_UP, STATES, PageState
from scripts.screenshots.sample_words import CHAT, PROJECTS
from sessions_app.core.extension import extensions
from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, start_chromium

CHAT_PROJECT = "chart-shop"
OPEN = "-open"
OPEN_FOLDS = "for (const fold of document.querySelectorAll('[role=log] details')) fold.open = true;"
PHONE = 500
SHORTEST = 700


class Photographer:
    def __init__(self, url: str, places: dict[str, str]) -> None:
        self.url, self.places = url, places
        self._chrome = start_chromium()
        self.browser = Browser(self._chrome)
        self._user = User.objects.get(pk=places["user"])
        self.browser.sign_in_as(self._user, url)
        self._signed_in = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._chrome.quit()

    def _chats(self) -> dict[str, str]:
        return {
            "chat": f"/chat/?project={CHAT_PROJECT}",
            "chat-parts": f"/chat/?project={PROJECTS[1][0]}",
            "chat-new": "/chat/?project=new",
        }

    def pages(self) -> dict[str, str]:
        project = f"/projects/{self.places['project']}/"
        return {
            "projects": "/",
            "projects-none": "/?q=nothing-like-it",
            "projects-trash": "/?state=deleted",
            "sessions": project,
            "sessions-found": f"{project}?q=cart",
            "trash": f"{project}?state=deleted",
            "handoff": f"{project}handoff/",
            "handoff-snapshot": f"{project}handoff/1/",
            "handoff-compare": f"{project}handoff/compare/",
            "memory-entry": f"{project}memory/notes/conventions/",
            "error": f"{project}errors/{self.places['error']}/",
            "activity": f"{project}activity/",
            **self._tabs_of_other_apps(),
            "settings": f"{project}settings/",
            **self._session_pages(),
            "overview": "/overview/",
            "overview-project": f"{project}overview/",
            "all-sessions": "/sessions/",
            "import": "/import/",
            "search": "/search/?q=cart",
            "search-none": "/search/?q=nothing-like-it",
            "keys": "/keys/",
            "account": "/account/",
            **self._chats(),
            "missing": "/nowhere/",
            "offline": "/offline/",
            "login": "/login/",
            "welcome": "/welcome/token/",
        }

    def _tabs_of_other_apps(self) -> dict[str, str]:
        names = [tab.address for extension in extensions() for tab in extension.tabs]
        return {name: reverse(name, args=[self.places["project"]]) for name in names}

    def _session_pages(self) -> dict[str, str]:
        session = f"/sessions/{self.places['session']}/"
        names = ("content", "versions", "empty", "long", "parts", "recorded")
        others = {name: f"/sessions/{self.places[name]}/" for name in names if name in self.places}
        return {
            "session": session,
            **{f"session-{name}": address for name, address in others.items()},
            "session-hit": f"{session}?at=m1&q=cart#message-1",
            # The contact sheets, with all folds open.
            **{f"session-{name}{OPEN}": others[name] for name in ("parts", "recorded") if name in others},
            **{name: f"{session}{name}/" for name in ("transfer", "move")},
            "session-around": f"/sessions/{self.places['content']}/?at=m2#message-2",
            "contents": f"{session}contents/",
            "find": f"{session}find/?q=cart",
            "history": f"/sessions/{self.places['history']}/history/?at=5",
            "trace": f"/sessions/{self.places['trace']}/trace/",
            "compare": f"/sessions/{self.places['history']}/compare/?a=4&b=8",
            "compare-states": f"{session}compare/?a=1&b={self.places['trace']}",
        }

    def chat(self) -> None:
        """Sends messages in the chat of a separate project."""
        chat = ChatPage(self.browser, self.url, CHAT_PROJECT)
        chat.open()
        for text in CHAT:
            chat.say(text)
            chat.until_still()

    def take(self, name: str, to: Path, *, width: int, height: int, scheme: str) -> None:
        """Takes the full page, at most `height` high. A state is taken as high as its window."""
        state = STATES.get(name)
        self.show(name, width=width, height=SHORTEST if height > SHORTEST * 2 else height, scheme=scheme)
        if name.endswith(OPEN):
            self.browser.run(OPEN_FOLDS)
            height *= 3
        if height > SHORTEST * 2 and not state:
            whole = int(self.browser.run("return document.documentElement.scrollHeight;"))
            self._size(width, min(height, max(whole, SHORTEST)))
        wide = self.browser.run("return document.documentElement.scrollWidth;")
        if wide > width:
            print(f"{name} is {wide} wide at {width}")
        self.browser.run("scrollTo(0, 0);")
        self.browser.pause(0.2)
        to.write_bytes(base64.b64decode(self._do("Page.captureScreenshot", {"format": "png"})["data"]))
        if state:
            self.leave()

    def show(self, name: str, *, width: int, height: int, scheme: str) -> None:
        """Opens a page, or makes a state."""
        state = STATES.get(name)
        self.prefer(scheme)
        self._size(width, height)
        self._sign(in_=name not in {"login", "welcome"})
        self.browser.open(self.url + self.pages()[state.page if state else name])
        if name.startswith("chat"):
            self.browser.until("return document.getElementById('chat')?.dataset.ready === '1';")
        self.browser.pause(0.4)
        if state:
            self._make(state)

    def prefer(self, scheme: str) -> None:
        self._do("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def leave(self) -> None:
        """Takes back what a state changed in the browser."""
        self.browser.online()
        self.browser.run(CLEAN_UP)

    def _make(self, state: PageState) -> None:
        if state.offline:
            self.browser.offline()
        self.browser.run(state.script, self.places["session"])
        self.browser.pause(0.3)

    def _sign(self, *, in_: bool) -> None:
        """Once for all pages that need it: the account page lists each login."""
        if in_ == self._signed_in:
            return
        self._do("Network.clearBrowserCookies")
        if in_:
            self.browser.sign_in_as(self._user, self.url)
        self._signed_in = in_

    def _size(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < PHONE}
        self._do("Emulation.setDeviceMetricsOverride", metrics)

    def _do(self, command: str, arguments: dict[str, Any] | None = None) -> Any:
        return self._chrome.execute_cdp_cmd(command, arguments or {})
