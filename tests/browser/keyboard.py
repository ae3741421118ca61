"""A person who has no mouse."""

import contextlib

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.browser.driving import Browser

MOST_STEPS = 120


class Keyboard:
    def __init__(self, browser: Browser) -> None:
        self.browser = browser

    def press(self, *keys: str) -> None:
        ActionChains(self.browser.driver).send_keys(*keys).perform()

    def back_tab(self) -> None:
        ActionChains(self.browser.driver).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()

    @property
    def at(self) -> WebElement:
        return self.browser.driver.switch_to.active_element

    def name(self) -> str:
        """Of the focused element; the page may replace it meanwhile."""
        while True:
            with contextlib.suppress(StaleElementReferenceException):
                return str(self.at.accessible_name)

    def go_to(self, name: str, *, backwards: bool = False) -> None:
        """Tab until what has the focus has this accessible name; one that ends with … may go on."""
        seen: list[str] = []
        for _ in range(MOST_STEPS):
            present = self.name()
            if present == name or (name.endswith("…") and present.startswith(name[:-1])):
                return
            seen.append(present)
            if backwards:
                self.back_tab()
            else:
                self.press(Keys.TAB)
        raise AssertionError(f"No way by Tab to {name!r}, past {seen[:40]}")

    def choose(self, name: str, *, backwards: bool = False) -> None:
        self.go_to(name, backwards=backwards)
        self.press(Keys.ENTER)

    def write(self, name: str, text: str, *, backwards: bool = False) -> None:
        """At the end of the field's text."""
        self.go_to(name, backwards=backwards)
        self.press(Keys.END, text)
