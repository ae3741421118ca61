"""A real Chromium. One for all tests of a process; each test finds it empty."""

import http.server
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium import webdriver

from tests.browser.driving import Browser, NoBrowser, start_shell
from tests.support.live_server import LiveServer


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def chromium() -> Iterator[webdriver.Chrome]:
    try:
        chrome = start_shell()
    except NoBrowser as error:
        pytest.fail(str(error))
    yield chrome
    chrome.quit()


@pytest.fixture(autouse=True)
def offline_pages(request: pytest.FixtureRequest, settings: Any) -> None:
    """Only tests with the mark `offline` get a service worker: each server is a new origin, where it would load 100 files."""
    settings.OFFLINE_PAGES = request.node.get_closest_marker("offline") is not None


@pytest.fixture
def browser(chromium: webdriver.Chrome) -> Iterator[Browser]:
    """Signed out, one tab, online, nothing logged."""
    own = Browser(chromium)
    own.forget()
    yield own
    own.leave()


@pytest.fixture
def signed_in(browser: Browser, server: LiveServer, alice: User) -> Iterator[Browser]:
    """Alice, with the server's login cookie."""
    browser.sign_in_as(alice, server.url)
    yield browser
    browser.leave()  # Before the server: it answers to the end.


@pytest.fixture
def emulated(signed_in: Browser) -> Iterator[Callable[..., None]]:
    """A setting of the device, until the end of the test."""

    def emulate(what: str, **settings: Any) -> None:
        signed_in.driver.execute_cdp_cmd(f"Emulation.{what}", settings)

    yield emulate
    emulate("clearDeviceMetricsOverride")
    emulate("setTimezoneOverride", timezoneId="")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[str]:
    """Another site, with one empty page."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text("<!doctype html><title>Elsewhere</title>")
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{site.server_address[1]}"
    site.shutdown()
    thread.join()
    site.server_close()
