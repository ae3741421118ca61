"""What tests do with a browser: sign in, open tabs, cut the network, look at what was sent and logged."""

import contextlib
import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from selenium import webdriver
from selenium.common.exceptions import TimeoutException, WebDriverException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.remote.webelement import WebElement

from tests.support.suite import PROVING

NO_PAGE = "about:blank"
PATIENCE_SECONDS = 15.0
CSRF_SECRET = "c" * 32
BINARIES = ("chromium", "chromium-browser", "google-chrome")
# The same engine without a window's frame, menus and what else surrounds pages: a test takes two thirds of the CPU time.
# Debian's command of this name is a script that starts it: ChromeDriver would end the script and leave the browser.
SHELL = "/usr/lib/chromium/chromium-headless-shell"
SWITCHES = (
    *("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1280,900"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server"),
    # Pages of the browser itself, which each window would load beside ours.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup",
)


# What goes over the network, by any tab.
TRAFFIC = {
    "Network.requestWillBeSent": "request",
    "Network.webSocketCreated": "socket",
    "Network.webSocketFrameReceived": "frame",
    "Network.webSocketFrameSent": "frame",
}


@dataclass(frozen=True)
class Traffic:
    tab: str
    kind: str
    what: str


# All elements of a kind, those that mention a name in front: the browser takes a round trip to tell the name of each.
LIKELY_FIRST = """
    const [kind, name] = arguments;
    const plain = (text) => (text ?? "").replace(/\\s+/g, " ");
    const mentions = (element) => [element.textContent, element.ariaLabel, element.title, element.placeholder,
      ...[...(element.labels ?? [])].map((label) => label.textContent)].some((text) => plain(text).includes(name));
    const all = [...document.querySelectorAll(kind)];
    return [...all.filter(mentions), ...all.filter((element) => !mentions(element))];
"""


class NoBrowser(Exception):
    """There is none on this machine."""


def start_chromium(profile: Path | None = None) -> webdriver.Chrome:
    """The whole browser. `profile`: a folder that outlives it; without one it has a fresh one."""
    return _start(BINARIES, profile)


def start_shell() -> webdriver.Chrome:
    """What shows pages, if it is installed; else, and where guarantees are proved, the whole browser."""
    return _start(BINARIES if PROVING else (SHELL, *BINARIES), None)


def _start(binaries: tuple[str, ...], profile: Path | None) -> webdriver.Chrome:
    binary = next((path for name in binaries if (path := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        raise NoBrowser("No Chromium with ChromeDriver here: run scripts/browser.sh.")
    options = Options()
    options.binary_location = binary
    for switch in SWITCHES:
        options.add_argument(switch)
    if profile:
        options.add_argument(f"--user-data-dir={profile}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(driver))
    chrome.set_script_timeout(30)
    chrome.set_page_load_timeout(30)
    return chrome


class Browser:
    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def forget(self) -> None:
        """As new."""
        self.leave()
        self.block()
        self.show()
        self.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        for log in ("browser", "performance"):
            self.driver.get_log(log)  # type: ignore[no-untyped-call]

    def leave(self) -> None:
        """One tab, without a page, and the network is there."""
        self.online()
        first, *others = self.driver.window_handles
        for other in others:
            self.driver.switch_to.window(other)
            self.driver.close()
        self.driver.switch_to.window(first)
        if self.driver.current_url != NO_PAGE:
            self.driver.get(NO_PAGE)

    def sign_in_as(self, user: User, url: str) -> None:
        client = Client()
        client.force_login(user)
        self.sign_in(url, client.cookies["sessionid"].value)

    def sign_in(self, url: str, session_key: str) -> None:
        """With the login cookie that the server knows, and a CSRF cookie as a page of ours would have set it."""
        for name, value in (("sessionid", session_key), ("csrftoken", CSRF_SECRET)):
            self.driver.execute_cdp_cmd("Network.setCookie", {"name": name, "value": value, "url": url})

    def open(self, url: str) -> None:
        self.driver.get(url)

    def new_tab(self, url: str) -> str:
        self.driver.switch_to.new_window("tab")
        self.driver.get(url)
        return self.driver.current_window_handle

    def go_to(self, tab: str) -> None:
        self.driver.switch_to.window(tab)

    def close_tab(self, *, then: str) -> None:
        self.driver.close()
        self.driver.switch_to.window(then)

    def crash_tab(self, *, then: str) -> None:
        """The tab's process dies: no event fires, nothing is said."""
        handle = self.driver.current_window_handle
        with contextlib.suppress(WebDriverException):
            self.driver.execute_cdp_cmd("Page.crash", {})
        self.driver.switch_to.window(then)
        self.driver.execute_cdp_cmd("Target.closeTarget", {"targetId": handle})

    def offline(self) -> None:
        conditions = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)

    def online(self) -> None:
        conditions = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)

    def pause(self, seconds: float) -> None:
        """Let the page live for so long."""
        time.sleep(seconds)

    @contextlib.contextmanager
    def focused(self) -> Iterator[None]:
        """Without focus, as behind other windows, there is no clipboard. Undone at the end: such a page is never hidden."""
        self.driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
        try:
            yield
        finally:
            self.driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": False})

    def hide(self, tab: str = "") -> None:
        """As when another tab lies over it: the present one, or this one."""
        self._window("minimized", tab)

    def show(self, tab: str = "") -> None:
        self._window("normal", tab)

    def _window(self, state: str, tab: str) -> None:
        if tab:
            self.go_to(tab)
        window = self.driver.execute_cdp_cmd("Browser.getWindowForTarget", {})["windowId"]
        self.driver.execute_cdp_cmd("Browser.setWindowBounds", {"windowId": window, "bounds": {"windowState": state}})
        self.until("return document.hidden === args[0];", state == "minimized")

    def block(self, *patterns: str) -> None:
        """What the present tab asks of these addresses does not get through, until the next call."""
        self.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": list(patterns)})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of an async function's body in the page; an exception there fails the test."""
        wrapped = (
            "const done = arguments[arguments.length - 1]; const given = [...arguments].slice(0, -1);"
            f"(async (...args) => {{ {script} }})(...given).then((value) => done({{ value }}),"
            " (error) => done({ error: `${error.name}: ${error.message} ${error.stack}` }));"
        )
        answer = self.driver.execute_async_script(wrapped, *arguments)
        if "error" in answer:
            raise AssertionError(answer["error"])
        return answer.get("value")

    def until(self, script: str, *arguments: Any, seconds: float = PATIENCE_SECONDS) -> Any:
        """Run it until it answers something true."""
        what = f"{script} with {arguments}"
        try:
            return wait_for(lambda: self.run(script, *arguments), seconds, what)
        except TimeoutException:  # The page was left while the script ran: the browser never answered.
            return wait_for(lambda: self.run(script, *arguments), seconds, what)

    def requests(self) -> list[dict[str, Any]]:
        """What was sent since the last look, by any tab: `{tab, method, url, body}`."""
        sent = []
        for line in self.driver.get_log("performance"):  # type: ignore[no-untyped-call]
            entry = json.loads(line["message"])
            if entry["message"]["method"] == "Network.requestWillBeSent":
                request = entry["message"]["params"]["request"]
                sent.append({"tab": entry["webview"], "body": request.get("postData", ""), **request})
        return sent

    def traffic(self) -> list[Traffic]:
        """All that went over the network since the last look."""
        seen = []
        for line in self.driver.get_log("performance"):  # type: ignore[no-untyped-call]
            entry = json.loads(line["message"])
            if kind := TRAFFIC.get(entry["message"]["method"]):
                parameters = entry["message"]["params"]
                what = parameters.get("request", parameters.get("response", parameters))
                seen.append(Traffic(entry["webview"], kind, str(what.get("url") or what.get("payloadData") or "")))
        return seen

    def complaints(self) -> list[str]:
        """What the console shows as errors."""
        lines = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [line["message"] for line in lines if line["level"] == "SEVERE"]

    def warnings(self) -> list[str]:
        """What the console shows as warnings."""
        lines = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [line["message"] for line in lines if line["level"] == "WARNING"]

    def button(self, name: str) -> WebElement:
        return self._named("button", name)

    def textbox(self, name: str) -> WebElement:
        return self._named("input, textarea", name)

    def click(self, name: str) -> None:
        wait_for(lambda: self._try_click(name), PATIENCE_SECONDS, f"button {name}")

    def _try_click(self, name: str) -> bool:
        try:
            self.button(name).click()
        except Exception:
            return False
        return True

    def _named(self, kind: str, name: str) -> WebElement:
        """By its accessible name, as people and screen readers find it."""

        def find() -> WebElement | None:
            elements: list[WebElement] = self.driver.execute_script(LIKELY_FIRST, kind, name)
            for element in elements:
                if element.accessible_name == name and element.is_displayed():
                    return element
            return None

        found: WebElement = wait_for(find, PATIENCE_SECONDS, f"{kind} {name!r}")
        return found


def wait_for(ask: Callable[[], Any], seconds: float = PATIENCE_SECONDS, what: str = "") -> Any:
    deadline = time.monotonic() + seconds
    while True:
        if found := ask():
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"It did not come within {seconds} s: {what}")
        time.sleep(0.05)
