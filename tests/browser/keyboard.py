"""A person who has no mouse."""

import contextlib

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.browser.driving import Browser

MOST_STEPS = 120
# What the focused element may be named by. Its name itself takes the browser a look through the whole page.
WORDS = """
    const at = document.activeElement;
    const others = (at.getAttribute("aria-labelledby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent);
    const labels = [...(at.labels ?? [])].map((label) => label.textContent);
    return [at.ariaLabel, ...others, ...labels, at.textContent, at.value, at.title, at.placeholder, at.alt].join(" ");
"""


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
            words = str(self.browser.driver.execute_script(WORDS))
            present = self.name() if _squeezed(name.removesuffix("…")) in _squeezed(words) else words
            if present == name or (name.endswith("…") and present.startswith(name[:-1])):
                return
            seen.append(present[:60])
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


def _squeezed(text: str) -> str:
    """Names have blanks where texts have none, and the other way round."""
    return "".join(text.split())
