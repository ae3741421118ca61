"""A chat that is in this browser's mirror is painted in the frame in which it is mounted."""

import statistics
from pathlib import Path
from typing import Any

import pytest

from tests.clients.js.chat_page import ChatPage
from tests.clients.js.chat_site import Site
from tests.clients.js.conftest import bundled, needs_packages
from tests.support.live_server import LiveServer
from tests.support.machine_speed import allowed
from tests.support.server_process import Api

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.timed, needs_packages]
MESSAGES, MOUNTS = 200, 7
FRAME_MS = 1000 / 60
# From the call that mounts the chat until all is in the document; and whether the next frame shows it.
MOUNT = f"""
return new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => {{
  const items = () => document.querySelectorAll("li").length;
  const begun = performance.now();
  let mounted, frames = 0;
  new MutationObserver((_, observer) => {{
    if (items() < {MESSAGES}) return;
    mounted = performance.now() - begun;
    observer.disconnect();
  }}).observe(document.body, {{ childList: true, subtree: true }});
  const frame = () => {{
    frames += 1;
    if (mounted === undefined) requestAnimationFrame(frame);
    else resolve([mounted, frames]);
  }};
  requestAnimationFrame(frame);
  show(args[0], {{ strict: false }});
}})));
"""


@pytest.fixture
def page_as_users_have_it(page: ChatPage, site: Site, installed: Path) -> ChatPage:
    options = ('--define:process.env.NODE_ENV="production"', "--minify")
    site.script = bundled(Path(__file__).with_name("page.js"), installed, *options)
    return page


def stored(server: LiveServer, secret: str, project: str) -> None:
    api = Api(server.url, secret)
    made = api.call("POST", "/projects", {"path": project})["id"]
    session = api.call("PUT", f"/projects/{made}/sessions/by-external/a", {})["id"]
    text = "Why does the checkout fail if the cart is empty? " * 8
    ops: list[Any] = [
        {"op": "upsert", "id": f"m{at}", "role": ("user", "assistant")[at % 2], "text": f"{at} {text}"} for at in range(MESSAGES)
    ]
    api.call("POST", f"/sessions/{session}/changes", {"epoch": 1, "writer_id": "w", "seq": 1, "ops": ops})
    api.close()


def test_200_messages_are_painted_in_one_frame(page_as_users_have_it: ChatPage, server: LiveServer, secret: str) -> None:
    page = page_as_users_have_it
    stored(server, secret, page.options["project"])
    page.open()
    page.until(f"return chat.messages.length === {MESSAGES};")
    page.settle()
    mounts = []
    for _ in range(MOUNTS):
        page.browser.open(f"{page.url}/")
        page.browser.until("return window.ready === true;")
        mounts.append(page.browser.run(MOUNT, [page.options]))
        page.until("return chat.loaded;")
    times, frames = zip(*mounts, strict=True)
    print(f"mounted after {[round(each, 1) for each in times]} ms, painted by frame {frames}")  # noqa: T201
    assert statistics.median(times) <= allowed(FRAME_MS)
    assert statistics.median(frames) <= 1
