"""The code of the document: a backend gets tokens, and a page on another origin uses them, in Chromium."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.driving import Browser, wait_for
from tests.clients.js.chat_site import Site
from tests.clients.js.conftest import MODULES, bundled, needs_packages, run
from tests.clients.js.test_documents import blocks
from tests.support.live_server import LiveServer
from tests.support.server_process import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.once, needs_packages]
PAGE = """
const { thread_id } = await cloud.threads.create({ title: "Checkout", last_message_at: new Date() });
const content = { role: "user", parts: [{ type: "text", text: "Why?" }] };
await cloud.threads.messages.create(thread_id, { parent_id: null, format: "ai-sdk/v6", content });
await cloud.threads.update(thread_id, { title: "Cart" });
const { messages } = await cloud.threads.messages.list(thread_id);
const { threads } = await cloud.threads.list({ is_archived: false });
window.found = [threads.map(({ title, workspace_id }) => [title, workspace_id]), messages.map((row) => row.content)];
"""


class Backend(Site):
    """Answers a POST with the token."""

    token = ""

    def post(self, request: Any) -> None:
        self.asked.append(request.path)
        request.send_response(200)
        request.send_header("Content-Length", str(len(self.token)))
        request.end_headers()
        request.wfile.write(self.token.encode())


@pytest.fixture
def backend(settings: Any) -> Iterator[Backend]:
    with Backend(b"") as site:
        settings.CORS_ALLOWED_ORIGINS = [site.url]
        yield site


def test_a_page_with_a_token(
    browser: Browser, backend: Backend, server: LiveServer, secret: str, installed: Path, tmp_path: Path
) -> None:
    in_backend, in_page = (
        re.sub("http://127.0.0.1:8000", server.url, code).replace("sh_…", secret)
        for code in blocks(ROOT / "docs/frameworks/assistant-ui.md", "js")
    )
    (tmp_path / "node_modules").symlink_to(MODULES)
    (tmp_path / "backend.mjs").write_text(in_backend + 'console.log(await tokenFor("ana"));')
    backend.token = run("node", tmp_path / "backend.mjs").strip()
    (tmp_path / "page.js").write_text(in_page + PAGE)
    backend.script = bundled(tmp_path / "page.js", installed)
    browser.open(f"{backend.url}/")
    wait_for(lambda: browser.run("return window.found;") is not None)
    content = {"role": "user", "parts": [{"type": "text", "text": "Why?"}]}
    assert browser.run("return window.found;") == [[["Cart", "/users/ana"]], [content]]
    assert backend.asked == ["/api/assistant-ui-token"]
    browser.forget()
