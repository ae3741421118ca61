"""README is true: its twenty lines run as printed, and its pictures exist and are small."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.accounts.api_keys import create_key
from sessions_app.core.callers import caller_of_user
from tests.browser.driving import Browser, wait_for
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()
STATED = "http://127.0.0.1:8000"
HEAVIEST = 200_000
PICTURE = r"!\[[^\]]+\]\(([^)]+)\)"
# What README leaves to the reader: how answers are made and shown.
READERS = """
    window.painted = [];
    const paint = (messages) => (window.painted = messages.map(({ text }) => text));
    async function* yourModel(messages) { yield "You said: "; yield messages.at(-1).text; }
"""

# A model that waits for its gate to be opened before its last word.
WAITING = """
    window.painted = [];
    const paint = (messages) => (window.painted = messages.map(({ text }) => text));
    window.gates = {};
    async function* yourModel(messages) {
      const question = messages.at(-1).text;
      yield "begun ";
      await new Promise((go) => { window.gates[question] = go; });
      yield `and done: ${question}`;
    }
"""


def example() -> str:
    [lines] = re.findall(r"```js\n(.*?)```", README, re.DOTALL)
    assert len([line for line in lines.splitlines() if line.strip()]) <= 20
    return str(lines)


def printed(browser: Browser, server: LiveServer, alice: User, *, model: str) -> None:
    """The lines as they are printed, in a page of their own, with what they leave to the reader. A key each: so are mirrors."""
    key = create_key(caller=caller_of_user(alice)).secret
    lines = example().replace(STATED, server.url).replace("sh_…", key)
    lines = re.sub(r'import \{ (.*?) \} from (".*?");', r"const { \1 } = await import(\2);", lines)
    browser.open(f"{server.url}/healthz")
    browser.run(f"{model}\n{lines}\nwindow.say = say; window.chat = chat;")


def test_the_twenty_lines_save_and_resume(browser: Browser, server: LiveServer, api: Callable[..., Any], alice: User) -> None:
    client = api(alice)
    printed(browser, server, alice, model=READERS)
    browser.run("await window.say('Hello'); return window.chat.settled(8000);")
    answer = client.get("/resume?project=/home/ana/shop").json()
    assert [message["text"] for message in answer["messages"]] == ["Hello", "You said: Hello"]
    printed(browser, server, alice, model=READERS)
    assert browser.run("return window.painted;") == ["Hello", "You said: Hello"]
    browser.run("window.chat.close();")


def test_another_tab_may_save_while_an_answer_streams(
    browser: Browser, server: LiveServer, api: Callable[..., Any], alice: User
) -> None:
    client = api(alice)
    printed(browser, server, alice, model=WAITING)
    browser.run("window.saying = say('one');")
    browser.until("return Boolean(gates.one);")
    session = browser.until("return chat.session?.id;")
    wait_for(lambda: client.get("/resume?project=/home/ana/shop&quiet=1").json().get("messages"))
    op = {"op": "upsert", "id": "theirs", "role": "user", "text": "from another tab"}
    client.post(f"/sessions/{session}/changes", {"epoch": 1, "writer_id": "another", "seq": 1, "ops": [op]})
    browser.until("return painted.includes('from another tab');")
    browser.run("gates.one(); await saying; return chat.settled(8000);")
    answer = client.get("/resume?project=/home/ana/shop&quiet=1").json()
    texts = [message["text"] for message in answer["messages"]]
    assert sorted(texts) == ["begun and done: one", "from another tab", "one"]
    wait_for(lambda: browser.run("return painted;") == texts)
    browser.run("window.chat.close();")


def test_a_second_question_may_come_while_an_answer_streams(
    browser: Browser, server: LiveServer, api: Callable[..., Any], alice: User
) -> None:
    client = api(alice)
    printed(browser, server, alice, model=WAITING)
    browser.run("window.saying = [say('one')];")
    browser.until("return Boolean(gates.one);")
    browser.run("saying.push(say('two'));")
    browser.until("return Boolean(gates.two);")
    browser.run("gates.two(); await saying[1]; gates.one(); await saying[0]; return chat.settled(8000);")
    answer = client.get("/resume?project=/home/ana/shop&quiet=1").json()
    expected = ["one", "begun and done: one", "two", "begun and done: two"]
    assert [(message["text"], message["status"]) for message in answer["messages"]] == [(text, "complete") for text in expected]
    wait_for(lambda: browser.run("return painted;") == expected)
    browser.run("window.chat.close();")


def test_the_pictures_are_there_and_light() -> None:
    pages = (ROOT / "docs" / "pages.md").read_text()
    pictures = [ROOT / path for path in re.findall(PICTURE, README)]
    assert len(pictures) >= 3
    of_pages = [ROOT / "docs" / path for path in re.findall(PICTURE, pages)]
    assert len(of_pages) >= 11, "one for each part of docs/pages.md"
    pictures += of_pages
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < HEAVIEST, picture
