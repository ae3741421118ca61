"""A real Chromium. One for all tests of a process; each test finds it empty."""

import shutil
from collections.abc import Iterator

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from tests.browser.driving import Browser

BINARIES = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = (
    *("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1280,900"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server"),
)


@pytest.fixture(scope="session")
def chromium() -> Iterator[webdriver.Chrome]:
    binary = next((path for name in BINARIES if (path := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.fail("No Chromium with ChromeDriver here: run scripts/browser.sh.")
    options = Options()
    options.binary_location = binary
    for switch in SWITCHES:
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(driver))
    chrome.set_script_timeout(30)
    chrome.set_page_load_timeout(30)
    yield chrome
    chrome.quit()


@pytest.fixture
def browser(chromium: webdriver.Chrome) -> Iterator[Browser]:
    """Signed out, one tab, online, nothing logged."""
    own = Browser(chromium)
    own.forget()
    yield own
    own.forget()
