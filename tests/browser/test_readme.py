"""README tells no tales: its twenty lines run as they stand there, and its pictures are there and light."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.auth import caller_of_user
from sessions_app.services.keys import create_key
from tests.browser.driving import Browser
from tests.live_server import LiveServer

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
STATED = "http://127.0.0.1:8000"
HEAVIEST = 200_000
# What README leaves to the reader: how answers are made and shown.
READERS = """
    window.painted = [];
    const paint = (messages) => (window.painted = messages.map(({ text }) => text));
    async function* yourModel(messages) { yield "You said: "; yield messages.at(-1).text; }
"""


def twenty_lines() -> str:
    [lines] = re.findall(r"```js\n(.*?)```", README, re.DOTALL)
    assert len([line for line in lines.splitlines() if line.strip()]) <= 20
    return str(lines)


def test_the_twenty_lines_save_and_resume(browser: Browser, server: LiveServer, api: Callable[..., Any], alice: User) -> None:
    client = api(alice)
    key = create_key(caller=caller_of_user(alice)).secret
    lines = twenty_lines().replace(STATED, server.url).replace("sh_…", key)
    lines = re.sub(r'import \{ (.*?) \} from (".*?");', r"const { \1 } = await import(\2);", lines)
    program = f"{READERS}\n{lines}\nwindow.say = say; window.chat = chat;"
    browser.open(f"{server.url}/healthz")
    browser.run(program)
    browser.run("await window.say('Hello'); return window.chat.settled(8000);")
    answer = client.get("/resume?project=/home/ana/shop").json()
    assert [message["text"] for message in answer["messages"]] == ["Hello", "You said: Hello"]
    browser.open(f"{server.url}/healthz")
    browser.run(program)
    assert browser.run("return window.painted;") == ["Hello", "You said: Hello"]
    browser.run("window.chat.close();")


def test_the_pictures_are_there_and_light() -> None:
    pictures = [ROOT / path for path in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)]
    assert len(pictures) >= 3
    for picture in pictures:
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < HEAVIEST, picture
