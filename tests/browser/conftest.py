"""A real Chromium. One for all tests of a process; each test finds it empty."""

from collections.abc import Iterator

import pytest
from selenium import webdriver

from tests.browser.driving import Browser, NoBrowser, start_chromium


@pytest.fixture(scope="session")
def chromium() -> Iterator[webdriver.Chrome]:
    try:
        chrome = start_chromium()
    except NoBrowser as error:
        pytest.fail(str(error))
    yield chrome
    chrome.quit()


@pytest.fixture
def browser(chromium: webdriver.Chrome) -> Iterator[Browser]:
    """Signed out, one tab, online, nothing logged."""
    own = Browser(chromium)
    own.forget()
    yield own
    own.forget()
