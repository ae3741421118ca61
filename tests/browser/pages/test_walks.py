"""What people come for, step by step: find what was decided last month, fork there, hand the fork over to another session.

A step is what a person does with one look: a key, words with Enter, a tap. docs/pages.md names the numbers.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from sessions_app.models import ChatSession, Message
from sessions_app.models.times import now
from tests.browser.driving import Browser, wait_for
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
DECISION = "We decided to lock the cart before the stock."
STEPS_TO_FORK = 3
STEPS_BY_KEYS, STEPS_BY_TAPS = 8, 8
AT = "return location.pathname.startsWith(args[0]) && document.readyState === 'complete' && location.pathname !== args[1];"
PREVIEW = "return document.getElementById('transfer-preview')?.textContent.includes('Then');"


@pytest.fixture
def next_week(api: Callable[..., Any], alice: User) -> Chat:
    """Some sessions; one of them has the decision, and one, which is returned, is to go on with it."""
    client = api(alice)
    for number in range(6):
        chat = Chat(client, project=f"/home/alice/shop-{number % 2}")
        client.patch(f"/sessions/{chat.id}", {"title": f"Talk {number}"})
        for at in range(4):
            chat.say(f"m{at}", DECISION if (number, at) == (2, 2) else f"words {number} {at}")
        if number == 2:
            month_ago = now() - timedelta(days=30)
            Message.objects.filter(session__pk=chat.id).update(created_at=month_ago, updated_at=month_ago)
            ChatSession.objects.filter(pk=chat.id).update(updated_at=month_ago)
    made = Chat(client, project="/home/alice/next")
    client.patch(f"/sessions/{made.id}", {"title": "Next week"})
    return made


@pytest.fixture
def page(signed_in: Browser, server: LiveServer) -> Browser:
    signed_in.open(f"{server.url}/")
    return signed_in


@pytest.fixture
def phone(page: Browser) -> Iterator[Browser]:
    metrics = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    yield page
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


class Steps:
    def __init__(self, browser: Browser) -> None:
        self.browser, self.count = browser, 0

    def press(self, *keys: str) -> None:
        self.count += 1
        ActionChains(self.browser.driver).send_keys(*keys).perform()

    def palette(self) -> None:
        self.count += 1
        ActionChains(self.browser.driver).key_down(Keys.CONTROL).send_keys("k").key_up(Keys.CONTROL).perform()
        self.browser.until("return document.getElementById('palette').open;")

    def write(self, selector: str, *words: str) -> None:
        """A tap into a field, and words."""
        self.count += 1
        [field] = wait_for(lambda: self.browser.driver.find_elements(By.CSS_SELECTOR, selector))
        wait_for(field.is_displayed)
        field.send_keys(*words)

    def tap(self, script: str) -> None:
        """What is tapped has to be seen."""
        self.count += 1
        element = wait_for(lambda: self.browser.driver.execute_script(script))
        wait_for(element.is_displayed)
        element.click()


def at_session(page: Browser, *, other_than: str = "") -> str:
    page.until(AT, "/sessions/", other_than)
    return str(page.run("return location.pathname;"))


@pytest.mark.slow
def test_by_keys_alone(page: Browser, next_week: Chat) -> None:
    steps = Steps(page)
    steps.press("/", "lock the cart", Keys.ENTER)
    page.until(AT, "/search/", "")
    steps.press("j", Keys.ENTER)
    found = at_session(page)
    steps.press("f")
    at_session(page, other_than=found)
    assert steps.count == STEPS_TO_FORK
    steps.palette()
    steps.press("transfer", Keys.ENTER)
    page.until("return document.activeElement.id === 'transfer-search';")
    steps.press("Next week")
    page.until("return document.querySelectorAll('#transfer-places input').length === 1;")
    steps.press(Keys.TAB, Keys.SPACE)
    page.until(PREVIEW)
    steps.press(Keys.ENTER, Keys.ENTER)
    wait_for(lambda: next_week.texts()[-1:] == [DECISION])
    assert steps.count == STEPS_BY_KEYS


def test_on_a_phone(phone: Browser, next_week: Chat) -> None:
    steps = Steps(phone)
    steps.write("#search", "lock the cart", Keys.ENTER)
    phone.until(AT, "/search/", "")
    steps.tap("return document.querySelector('main .list .title');")
    found = at_session(phone)
    steps.tap("return document.querySelector('article:target [data-key=f]');")
    at_session(phone, other_than=found)
    assert steps.count == STEPS_TO_FORK
    steps.tap("return document.querySelector('[popovertarget=rail]:not(.rail-close)');")
    steps.tap("return document.getElementById('rail-transfer');")
    steps.write("#transfer-search", "Next week")
    phone.until("return document.querySelectorAll('#transfer-places input').length === 1;")
    steps.tap("return document.querySelector('#transfer-places input');")
    phone.until(PREVIEW)
    steps.tap("return document.querySelector('.transfer [value=transfer]');")
    wait_for(lambda: next_week.texts()[-1:] == [DECISION])
    assert steps.count == STEPS_BY_TAPS
