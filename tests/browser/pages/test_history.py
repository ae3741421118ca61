"""A session's history, comparison and trace in a real browser: the slider, and content that wants to run."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.browser.accessibility import LIVE, assert_accessible
from tests.browser.driving import Browser
from tests.browser.keyboard import Keyboard
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
HOSTILE = "<img src=x onerror='window.ran = 1'><script>window.ran = 1</script>[x](javascript:window.ran=1)"
SHOWN = "return [...document.querySelectorAll('[role=log] article')].map((one) => one.dataset.id).join() === args[0];"


@pytest.fixture
def chat(server: LiveServer, api: Callable[..., Any], alice: User) -> Chat:
    chat = Chat(api(alice))
    for number in range(1, 5):
        chat.say(f"m{number}", f"words {number}")
    return chat


@pytest.mark.slow
def test_the_slider_opens_a_moment_by_keyboard_and_by_pointer(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    keys = Keyboard(signed_in)
    keys.press("h")
    signed_in.until(SHOWN, "m1,m2,m3,m4")
    signed_in.until("return performance.getEntriesByType('navigation')[0].loadEventEnd > 0;")
    signed_in.run("document.getElementById('at').focus();")
    keys.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    signed_in.until("return document.getElementById('at-now').textContent === '2';")
    signed_in.until(SHOWN, "m1,m2,m3,m4")  # Not yet.
    keys.press(Keys.ENTER)
    signed_in.until(SHOWN, "m1,m2")
    assert_accessible(signed_in)
    slider = signed_in.driver.find_element(By.ID, "at")
    ActionChains(signed_in.driver).move_to_element_with_offset(slider, slider.size["width"] // 2 - 2, 0).click().perform()
    signed_in.until(SHOWN, "m1,m2,m3,m4")
    signed_in.driver.find_element(By.LINK_TEXT, "Earlier").click()
    signed_in.until(SHOWN, "m1,m2,m3")
    signed_in.click("Fork from here")
    signed_in.until("return !location.pathname.includes(args[0]);", chat.id)
    signed_in.until(SHOWN, "m1,m2,m3")
    assert signed_in.complaints() == []


@pytest.mark.slow
def test_a_past_message_looks_as_it_does_now(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    chat.say("m5", "Try this:\n```python\nprint(1)\n```\n" + "more words\n\n" * 800, role="assistant")
    look = "const one = document.querySelector('.words pre'); return [one.dataset.language, getComputedStyle(one).padding];"
    signed_in.open(f"{server.url}/sessions/{chat.id}/")
    signed_in.until(LIVE)
    now = signed_in.run(look)
    signed_in.open(f"{server.url}/sessions/{chat.id}/history/")
    assert signed_in.run(look) == now
    assert signed_in.button("Copy code").is_displayed()
    signed_in.until("return document.querySelector('[data-all]').checkVisibility();")
    assert_accessible(signed_in)


def test_hostile_content_runs_nowhere(signed_in: Browser, server: LiveServer, chat: Chat) -> None:
    tool = {
        "type": f"tool-{HOSTILE}",
        "toolCallId": "1",
        "state": "output-error",
        "input": {"path": HOSTILE},
        "errorText": HOSTILE,
    }
    chat.api.patch(f"/sessions/{chat.id}", {"title": HOSTILE[:200]})
    chat.say("m5", HOSTILE)
    chat.ops({"op": "upsert", "id": "m6", "role": "assistant", "parts": [tool], "metadata": {"model": HOSTILE}})
    todos = [{"content": HOSTILE, "status": "pending", "activeForm": HOSTILE}]
    chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"todos": todos, "working_notes": HOSTILE})
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": {"title": HOSTILE, "steps": []}})
    Chat(chat.api, session_id=chat.id).ops({"op": "upsert", "id": "m5", "role": "user", "text": f"other {HOSTILE}"})
    fork = chat.post_plain("fork", {}).json()["id"]
    chat.say("m5", f"again {HOSTILE}")
    for page in ("history/", "history/?at=6", f"compare/?a={fork}", "trace/"):
        signed_in.open(f"{server.url}/sessions/{chat.id}/{page}")
        signed_in.run("document.querySelectorAll('details').forEach((fold) => (fold.open = true));")
        assert signed_in.run("return document.body.textContent.includes('onerror');"), page
        assert signed_in.run("return window.ran === undefined && !document.querySelector('main img, main script');"), page
        assert_accessible(signed_in)
        assert signed_in.complaints() == [], page
