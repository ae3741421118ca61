"""Each example is started by its command, talked to, ended, and started again: the conversation is there."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.browser.driving import Browser, wait_for
from tests.clients.js.conftest import MODULES, NODE
from tests.support.live_server import LiveServer
from tests.support.server_process import ROOT, free_port
from tests.support.suite import is_patient

pytestmark = pytest.mark.once
TEXTS = "return [...document.querySelectorAll('p')].map((line) => line.textContent);"
FIRST = ["user Hello", "assistant That was line 1. The first one was: Hello"]
SECOND = ["user Again", "assistant That was line 2. The first one was: Hello"]
CHATS = [("langgraph", ("human", "ai")), pytest.param("openai-agents", ("user", "assistant"), marks=pytest.mark.slow)]
type Settings = dict[str, str]


@pytest.fixture
def settings_of_example(server: LiveServer, secret: str) -> Settings:
    return {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "STILLHERE_URL": server.url, "STILLHERE_KEY": secret}


def talk(name: str, lines: str, settings: Settings) -> list[str]:
    done = subprocess.run(
        [ROOT / "examples/start.sh", name], env=settings, input=lines, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@contextmanager
def page_of(settings: Settings) -> Iterator[str]:
    """The address of the AI SDK's example. Another port each time: the browser's own copy is not there."""
    port = free_port()
    command = [str(ROOT / "examples/start.sh"), "ai-sdk", "--port", str(port), "--strictPort", "--host", "127.0.0.1"]
    with subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            said = next((line for line in process.stdout if "Local" in line), None)
            assert said is not None
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.send_signal(signal.SIGTERM)


@pytest.mark.parametrize(("name", "roles"), CHATS)
def test_a_conversation_at_the_command_line_goes_on(name: str, roles: tuple[str, str], settings_of_example: Settings) -> None:
    user, assistant = roles
    first = f"{assistant}: That was line 1. The first one was: Hello"
    assert talk(name, "Hello\n", settings_of_example) == [first]
    second = f"{assistant}: That was line 2. The first one was: Hello"
    assert talk(name, "Again\n", settings_of_example) == [f"{user}: Hello", first, second]


@pytest.mark.browser
@pytest.mark.skipif(NODE is None or not (MODULES / "vite").exists(), reason="Node or Vite is missing.")
def test_a_chat_on_a_page_goes_on(browser: Browser, settings_of_example: Settings) -> None:
    with page_of(settings_of_example) as address:
        browser.open(address)
        browser.textbox("Message").send_keys("Hello\n")
        wait_for(lambda: browser.run(TEXTS) == FIRST)
        browser.forget()
        if not is_patient():  # What is on the server is there for a page of another start too.
            goes_on(browser, address)
    if is_patient():
        with page_of(settings_of_example) as address:
            goes_on(browser, address)


def goes_on(browser: Browser, address: str) -> None:
    browser.open(address)
    wait_for(lambda: browser.run(TEXTS) == FIRST)
    browser.textbox("Message").send_keys("Again\n")
    wait_for(lambda: browser.run(TEXTS) == FIRST + SECOND)
    browser.forget()


def test_without_a_key_it_says_what_is_missing() -> None:
    done = subprocess.run(
        [ROOT / "examples/start.sh", "langgraph"], env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "STILLHERE_KEY" in done.stderr
