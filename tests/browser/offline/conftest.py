"""A server that goes away and comes back at the same address, maybe with other static files."""

import contextlib
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.core.management import call_command

from config.http.static_files.folders import LEFT_OUT
from sessions_app.pages.chat.offline import static_version
from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser
from tests.config.static_files.collected import NOT_COMPRESSED
from tests.support.live_server import LiveServer

# All that it needs is in this browser, and the page is under its control.
KEPT = """
    if (!navigator.serviceWorker.controller) return false;
    for (const name of await caches.keys()) {
      if (name.startsWith("stillhere-pages-") && (await (await caches.open(name)).match(location.href))) return true;
    }
    return false;
"""


class Station:
    """`static`: a copy of the static files, which can be changed while the server is away; `changed()` says so."""

    def __init__(self, static: Path, settings: Any) -> None:
        self.static = static
        self._settings = settings
        self._served = static
        self._server: LiveServer | None = LiveServer().__enter__()
        self.host = self._server.host
        self.url = self._server.url

    def leave(self) -> None:
        if self._server:
            self._server.__exit__(None, None, None)
        self._server = None

    def come_back(self, *, lacks: str = "") -> None:
        """`lacks`: a static file that it names and does not serve."""
        forget_files()
        if lacks:
            static_version.static_version()
            static_version.module_addresses()
            (self._served / lacks).unlink()
        self._server = LiveServer(port=self.port).__enter__()

    def changed(self) -> None:
        """Where tests run on collected files, they are collected again, for this server only."""
        if not self._settings.STATIC_MANIFEST:
            return
        self._served = self._settings.STATIC_ROOT = self.static.parent / "collected"
        self._settings.STORAGES = {**self._settings.STORAGES, "staticfiles": {"BACKEND": NOT_COMPRESSED}}
        finders.get_finder.cache_clear()  # type: ignore[attr-defined]
        call_command("collectstatic", interactive=False, verbosity=0, clear=True, ignore_patterns=list(LEFT_OUT))

    @property
    def port(self) -> int:
        return int(self.host.partition(":")[2])

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """As a network that takes everything and answers nothing."""
        self.leave()
        with socket.socket() as ear:
            ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            ear.bind(("127.0.0.1", self.port))
            ear.listen(50)
            yield


def forget_files() -> None:
    """What a process remembers of its static files."""
    static_version.static_version.cache_clear()
    static_version.module_addresses.cache_clear()
    finders.get_finder.cache_clear()  # type: ignore[attr-defined]


@pytest.fixture
def station(transactional_db: None, settings: Any, tmp_path: Path) -> Iterator[Station]:
    static = tmp_path / "static"
    shutil.copytree(django_settings.STATICFILES_DIRS[0], static)
    settings.STATICFILES_DIRS = [static]
    forget_files()
    station = Station(static, settings)
    yield station
    station.leave()
    forget_files()


@pytest.fixture
def visitor(browser: Browser, station: Station, alice: User) -> Iterator[Browser]:
    browser.sign_in_as(alice, station.url)
    yield browser
    browser.leave()


@pytest.fixture
def chat(visitor: Browser, station: Station, settings: Any) -> ChatPage:
    """One answered question, and everything kept."""
    settings.CHAT_WORD_MS = 0
    chat = ChatPage(visitor, station.url, project="shop")
    chat.open()
    chat.say("count to 2")
    chat.until(lambda texts: texts == ["count to 2", "1 2"])
    chat.until_still()
    visitor.until(KEPT)
    return chat
