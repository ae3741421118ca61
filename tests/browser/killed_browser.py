"""A Chromium that is killed with all its processes, as by a power cut, and started again with the same profile."""

import contextlib
import os
import signal
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from selenium.webdriver.common.by import By
from selenium.webdriver.remote.remote_connection import RemoteConnection

from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, start_chromium, wait_for
from tests.support.server_process import ServerProcess

SESSION_KEY = (
    "from django.contrib.auth.models import User; from django.test import Client; "
    "client = Client(); client.force_login(User.objects.get(username='ana')); print(client.cookies['sessionid'].value)"
)


class MortalBrowser:
    """Signed in as ana at this server."""

    def __init__(self, profile: Path, server: ServerProcess) -> None:
        self._profile, self._server = profile, server
        self._session_key = server.shell(SESSION_KEY)
        self._browser: Browser | None = None

    def start(self) -> ChatPage:
        """With the chat page of one project."""
        self._browser = Browser(start_chromium(self._profile))
        self._browser.sign_in(self._server.url, self._session_key)
        chat = ChatPage(self._browser, self._server.url, "/home/ana/outlives")
        chat.open()
        return chat

    def kill(self) -> float:
        """When that was."""
        browser, self._browser = self._browser, None
        at = time.monotonic()
        if browser is None:
            return at
        service = browser.driver.service
        for pid in reversed(_tree(service.process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        service.process.wait()
        # Its driver is gone; this end of their connection is not.
        executor = browser.driver.command_executor
        if isinstance(executor, RemoteConnection):
            executor.close()  # type: ignore[no-untyped-call]
        return at

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.kill()


def say_offline(chat: ChatPage, text: str) -> None:
    """Type and send a message that nobody can answer, and wait until it is shown."""
    box = chat.browser.driver.find_element(By.ID, "chat-message")
    box.send_keys(text)
    wait_for(lambda: chat.browser.driver.find_element(By.ID, "chat-send").is_displayed())
    chat.browser.driver.find_element(By.ID, "chat-send").click()
    chat.until(lambda texts: text in texts)


def _tree(root: int) -> list[int]:
    """This process and all that came of it."""
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = status.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(status.parent.name))
    tree = [root]
    for pid in tree:
        tree += children.get(pid, [])
    return tree
