"""The code of the documents runs: the page in Chromium, the rest in Node."""

import json
import re
from pathlib import Path

import pytest

from tests.browser.driving import Browser, wait_for
from tests.clients.js.chat_site import Site
from tests.clients.js.conftest import MODULES, PACKAGE, STRICT, bundled, needs_packages, run
from tests.support.live_server import LiveServer
from tests.support.server_process import ROOT

pytestmark = [pytest.mark.once, needs_packages]
PAGE = ROOT / "docs/frameworks/ai-sdk.md"
EXAMPLE = ROOT / "examples/ai-sdk/chat.jsx"
BROWSER = ROOT / "docs/browser.md"
# What the examples of the browser module take for granted.
TAKEN = """
declare const paint: (messages: Message[]) => void;
declare const yourModel: (messages: Message[]) => AsyncIterable<string>;
"""
TAKEN_IN_PARTS = """
import { type Connection, type Message, type StoredMessage, uuid } from "stillhere/browser";
declare const chat: Connection;
declare const messages: Message[];
declare const message: StoredMessage;
declare const at: number;
declare const edited: string;
declare const input: HTMLInputElement;
declare const bar: HTMLProgressElement;
declare const paint: (messages: Message[]) => void;
declare const done: (state: string, error: string | null) => void;
"""
MOUNT = """
import { createRoot } from "react-dom/client";
createRoot(document.querySelector("main")).render(<Chat id="thread-42" />);
"""
TEXTS = "return [...document.querySelectorAll('p')].map((line) => line.textContent);"
# What the example of the page takes for granted.
HELD = """
import { Client } from "stillhere";
const [url, key] = process.argv.slice(2);
const client = new Client({ url, key, project: "/home/alice/shop" });
const session = await client.openSession("thread-42");
const message = { id: "a1" };
const result = { async *toUIMessageStream() { yield { type: "start" }; yield { type: "finish" }; } };
"""


def blocks(document: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.browser
def test_the_page_of_the_ai_sdk(
    browser: Browser, site: Site, server: LiveServer, secret: str, installed: Path, tmp_path: Path
) -> None:
    (example,) = blocks(PAGE, "jsx")
    store = {"url": server.url, "key": secret, "project": "/home/alice/shop"}
    (tmp_path / "page.jsx").write_text(
        re.sub(r"^const store = .*$", f"const store = {json.dumps(store)};", example, flags=re.M) + MOUNT
    )
    site.script = bundled(tmp_path / "page.jsx", installed)
    browser.open(f"{site.url}/")
    box = browser.textbox("")
    box.send_keys("hello\n")
    wait_for(lambda: browser.run(TEXTS) == ["hello", "You said: hello"])
    browser.pause(0.5)
    browser.open(f"{site.url}/")
    wait_for(lambda: browser.run(TEXTS) == ["hello", "You said: hello"])
    browser.forget()


@pytest.mark.browser
@pytest.mark.parametrize("is_example", [False, True], ids=["ai-sdk.md", "chat.jsx"])
def test_a_page_says_that_its_key_is_wrong(
    browser: Browser, site: Site, server: LiveServer, installed: Path, tmp_path: Path, is_example: bool
) -> None:
    store = json.dumps({"url": server.url, "key": "sh_wrong", "project": "/home/alice/shop"})
    (in_document,) = blocks(PAGE, "jsx")
    code = (
        EXAMPLE.read_text()
        if is_example
        else re.sub("^const store = .*$", "const store = STORE;", in_document, flags=re.M) + MOUNT
    )
    (tmp_path / "page.jsx").write_text(code)
    site.script = bundled(tmp_path / "page.jsx", installed, f"--define:STORE={store}")
    browser.open(f"{site.url}/")
    browser.until("return document.querySelector('[role=alert]')?.textContent.length > 0;")
    browser.textbox("Message" if is_example else "").send_keys("hello\n")
    kept = "The key is refused. What you wrote is kept in this browser."
    browser.until("return document.querySelector('[role=alert]').textContent === args[0];", kept)
    browser.forget()


@pytest.mark.parametrize("document", [PAGE, PACKAGE / "README.md"], ids=["ai-sdk.md", "README.md"])
def test_the_code_for_servers(document: Path, server: LiveServer, secret: str, installed: Path) -> None:
    code = blocks(document, "js")[0]
    if document == PAGE:
        code = HELD + code
    script = installed.parent / "example.mjs"
    script.write_text(code.replace('"http://127.0.0.1:8000"', f'"{server.url}"').replace('"sh_…"', f'"{secret}"'))
    said = run("node", script, server.url, secret, NODE_PATH=str(MODULES))
    assert said == ("" if document == PAGE else "The cart\n is empty.\n")


def typed(lines: str, named: list[str]) -> str:
    """README's lines, of which some are written as the page says for TypeScript."""
    for line in named:
        start = re.escape(" ".join(re.split(r"[ :(]", line)[:2]))
        lines, found = re.subn(rf"^{start}\b.*$" if not line.startswith("import") else "^import .*$", line, lines, flags=re.M)
        assert found == 1, line
    return lines


def test_the_examples_of_the_browser_module_in_strict_typescript(installed: Path) -> None:
    [example], [named] = blocks(ROOT / "README.md", "js"), blocks(BROWSER, "ts")
    parts = blocks(BROWSER, "js")
    assert len(parts) >= 3
    pages = [TAKEN + typed(example, named.splitlines()), *(TAKEN_IN_PARTS + part for part in parts)]
    files = [installed.parent / f"example-{number}.ts" for number in range(len(pages))]
    for file, page in zip(files, pages, strict=True):
        file.write_text(f"{page}\nexport {{}};\n")
    run(MODULES / ".bin/tsc", *STRICT, *files)
