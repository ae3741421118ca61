"""Every page in a real browser: accessible in both schemes, nothing on the console, no other host, and narrow enough."""

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axe_selenium_python import Axe
from django.contrib.auth.models import User

from sessions_app.accounts.users import create_sign_in_link
from tests.browser.driving import Browser
from tests.support.chat import Chat
from tests.support.example_objects import World, whole_pages, world_of
from tests.support.live_server import LiveServer
from tests.support.suite import some_of

pytestmark = [pytest.mark.browser, pytest.mark.once]
STATES = ("/?state=deleted", "/?q=nothing-like-it", "/search/?q=Decimal&in=everything", "/search/", "/chat/?project=new")
# The browser itself says so of the document that it asked for.
ERRORS = {"/nowhere/": "404", "/?cursor=nonsense": "422"}
CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
# Of WCAG 2.2: what one points at is 24 px high and wide, or has as much room. axe leaves out the squares of the overview,
# which no focus reaches: `test_reading.py` presses them. Chips have an area that axe does not see.
TARGETS = {"runOnly": {"type": "rule", "values": ["target-size"]}}
# Only colours differ in the other scheme.
RULES = {"light": None, "dark": CONTRAST}
UNFOLD = "document.querySelectorAll('details').forEach((fold) => (fold.open = true));"
PHONE = 360
# Once the page is drawn in its new size: in the first layout, what is out of sight still has the size that it had.
PAGE_WIDTH = """
    for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
    return document.documentElement.scrollWidth;
"""


@pytest.fixture
def alices_world(server: LiveServer, api: Callable[..., Any], alice: User) -> World:
    world = world_of(api, alice)
    chat = Chat(api(alice), session_id=world.names["session"])
    answer = "## Why\n\n`Decimal`, [here](https://example.org):\n\n```python\nprint(1)  # one\n```\n\n| a |\n|---|\n| 1 |"
    chat.say("a1", answer, role="assistant")
    chat.say("a2", f"{'long' * 60} https://example.org/{'path' * 40}")
    # Titles, tags and names that cannot be broken between words.
    chat.api.patch(f"/sessions/{chat.id}", {"title": "T" * 182, "tags": ["t" * 64]})
    chat.api.patch(f"/projects/{world.names['project']}", {"name": "N" * 182})
    _name_long(chat, world.names["project"])
    _give_state(chat.api, f"/projects/{world.names['project']}/threads/{world.names['thread']}/checkpoints/~/c9")
    other = Chat(chat.api)
    other.api.patch(f"/sessions/{other.id}", {"title": "A title of great length " * 8})
    other.ops({"op": "upsert", "id": "m1", "role": "assistant", "text": "not yet", "status": "streaming"})
    gone = chat.api.post("/projects", {"path": "gone"}).json()["id"]
    chat.api.delete(f"/projects/{gone}")
    return world


def _name_long(chat: Chat, project: str) -> None:
    """Names of what agents have."""
    question = {"id": "a2", "kind": "k" * 60, "payload": {"f" * 100: "v" * 200}}
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": {"title": "P" * 190, "steps": []}, "pending_action": question})
    chat.api.put(f"/sessions/{chat.id}/ai-states/{'a' * 64}", {"working_notes": "n" * 300})
    assert chat.api.post(f"/projects/{project}/runs", {"agent": "A" * 64}).status_code == 201


def _give_state(api: Any, checkpoint: str) -> None:
    """Messages, a question, and a channel with a long name, as LangGraph keeps them."""
    call = {"role": "assistant", "content": "I look.", "tool_calls": [_called("search", json.dumps({"query": "q" * 300}))]}
    values: dict[str, Any] = {
        "messages": [{"role": "user", "content": "w" * 400}, call, {"role": "tool", "tool_call_id": "1", "content": "[]"}] * 5,
        "c" * 200: {"field": ["v" * 400]},
        "__pregel_tasks": [],
    }
    versions = dict.fromkeys(values, "1")
    body = {"checkpoint": _as_json({}), "versions": versions, "values": {name: _as_json(value) for name, value in values.items()}}
    assert api.put(checkpoint, body).status_code == 201
    asked = {"idx": -3, "channel": "__interrupt__", **_as_json([{"question": "?" * 300}])}
    assert api.put(f"{checkpoint}/writes/task", {"writes": [asked]}).status_code == 200


def _called(name: str, arguments: str) -> dict[str, Any]:
    return {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}


def _as_json(value: Any) -> dict[str, str]:
    return {"type": "json", "base64": base64.b64encode(json.dumps(value).encode()).decode()}


@pytest.fixture
def visitor(browser: Browser, server: LiveServer) -> Iterator[Browser]:
    yield browser
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    show_in(browser, "")
    browser.leave()  # Before the server: it answers to the end.


def show_in(browser: Browser, scheme: str) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)


def size(browser: Browser, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def check(browser: Browser, page: str, scheme: str) -> None:
    """With everything unfolded."""
    browser.run(UNFOLD)
    axe = Axe(browser.driver)
    axe.inject()
    show_in(browser, scheme)
    violations = axe.run(options=RULES[scheme])["violations"]
    assert violations == [], (page, scheme, axe.report(violations))
    for width in (PHONE, 1280):
        size(browser, width)
        assert browser.run(PAGE_WIDTH) <= width, page
        if scheme == "light":
            violations = axe.run({"exclude": [[".list a.chip"]]}, TARGETS)["violations"]
            assert violations == [], (page, width, axe.report(violations))


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_every_page(visitor: Browser, server: LiveServer, alices_world: World, alice: User, scheme: str) -> None:
    size(visitor, 1280)
    for page in ("/login/", f"/welcome/{create_sign_in_link(user_id=alice.pk)}/"):
        visitor.open(server.url + page)
        check(visitor, page, scheme)
    visitor.sign_in_as(alice, server.url)
    pages = (*whole_pages(alices_world).values(), f"/projects/{alices_world.names['project']}/?state=deleted", *STATES)
    for page in some_of(pages, one_in=6):
        visitor.open(server.url + page)
        check(visitor, page, scheme)
        assert visitor.complaints() == [], page
    for page, status in ERRORS.items():
        visitor.open(server.url + page)
        check(visitor, page, scheme)
        assert [line for line in visitor.complaints() if f"status of {status}" not in line] == []
    # The browser draws its own date fields with pictures that it has.
    own = (server.url, "data:image/svg+xml;base64,")
    assert {sent["url"] for sent in visitor.requests() if not sent["url"].startswith(own)} <= {"about:blank"}
