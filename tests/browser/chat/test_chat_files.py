"""Files in the chat: chosen, dropped, uploaded with progress, sent with or without words, tried again after a failure."""

from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By

from sessions_app.core.web.template_tags import formatting
from sessions_app.models import Message, StoredFile
from tests.browser.accessibility import assert_accessible
from tests.browser.chat_page import ChatPage
from tests.browser.driving import Browser, wait_for
from tests.support.files import PNG, folder_of_files
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
STORED = "return document.querySelectorAll('#chat-files li[data-stored]').length === args[0];"
SAID = "return document.getElementById('chat-files-said').textContent;"
SHOWN = "const image = document.querySelector('[role=log] .attachment img'); return image?.complete && image.naturalWidth;"
DROP = """
    const data = new DataTransfer();
    data.items.add(new File(["dropped words"], "dropped.txt", { type: "text/plain" }));
    const form = document.getElementById("chat-say");
    for (const type of ["dragenter", "dragover", "drop"]) {
      form.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: data }));
    }
"""


@pytest.fixture
def page(signed_in: Browser, server: LiveServer, settings: Any, tmp_path: Path) -> Any:
    settings.CHAT_WORD_MS = 0
    with folder_of_files(settings, tmp_path / "files"):
        page = ChatPage(signed_in, server.url)
        page.open()
        yield page


def choose(page: ChatPage, path: Path, content: bytes) -> None:
    path.write_bytes(content)
    page.browser.driver.find_element(By.ID, "chat-file").send_keys(str(path))


def parts() -> list[Any]:
    wait_for(lambda: Message.objects.filter(role="user").count() == 1)
    return list(StoredFile.objects.order_by("id").values_list("name", "media_type"))


@pytest.mark.slow
def test_the_size_of_a_file_is_said_as_in_the_message(page: ChatPage, tmp_path: Path) -> None:
    for size, said in ((10, "10 B"), (1_234, "1.2 KB"), (56_789, "57 KB"), (999_600, "1.0 MB")):
        choose(page, tmp_path / f"{size}.txt", b"x" * size)
        page.browser.until("return document.querySelector('#chat-files li:last-child .number')?.textContent === args[0];", said)
        assert formatting.size(size) == said


def test_a_chosen_image_and_a_dropped_text_are_sent_and_shown(page: ChatPage, tmp_path: Path) -> None:
    choose(page, tmp_path / "dot.png", PNG)
    page.browser.until(STORED, 1)
    page.browser.run(DROP)
    page.browser.until(STORED, 2)
    assert_accessible(page.browser)
    page.say("What is this?")
    assert parts() == [("dot.png", "image/png"), ("dropped.txt", "text/plain")]
    page.browser.until(SHOWN)
    assert page.browser.run("return document.querySelectorAll('#chat-files li').length;") == 0
    page.browser.open(page.session())
    page.browser.until("const image = document.querySelector('.attachment img'); return image?.complete && image.naturalWidth;")


@pytest.mark.slow
def test_a_jump_within_the_page_costs_no_file(page: ChatPage, tmp_path: Path) -> None:
    choose(page, tmp_path / "notes.txt", b"notes")
    page.browser.until(STORED, 1)
    page.browser.run("document.querySelector('a.skip').click();")
    page.browser.driver.back()
    page.browser.until("return location.hash === '';")
    # The project that is open already.
    page.press("Open")
    page.browser.pause(0.3)
    assert page.browser.run(STORED, 1)


@pytest.mark.slow
def test_a_file_needs_no_words(page: ChatPage, tmp_path: Path) -> None:
    choose(page, tmp_path / "dot.png", PNG)
    page.browser.until(STORED, 1)
    page.press("Send")
    assert parts() == [("dot.png", "image/png")]
    page.browser.until(SHOWN)


@pytest.mark.slow
def test_a_refused_file_is_told_and_can_be_tried_again_or_removed(page: ChatPage, tmp_path: Path, settings: Any) -> None:
    settings.MAX_FILE_BYTES = 10
    choose(page, tmp_path / "dot.png", PNG)
    page.browser.until("return document.querySelector('#chat-files .problem')?.textContent.includes('at most 10 bytes');")
    page.say("Not yet.")
    assert page.browser.run(SAID).startswith("A file was not uploaded")
    assert page.browser.run("return document.activeElement.textContent;") == "Try again dot.png"
    settings.MAX_FILE_BYTES = 25_000_000
    page.browser.run("document.activeElement.click();")
    page.browser.until(STORED, 1)
    page.press("Send")
    assert parts() == [("dot.png", "image/png")]


@pytest.mark.slow
def test_a_file_that_was_attached_without_a_connection_is_uploaded_when_it_is_back(page: ChatPage, tmp_path: Path) -> None:
    page.say("count to 2")
    page.until_answered("1 2")
    page.until_still()
    page.browser.offline()
    choose(page, tmp_path / "dot.png", PNG)
    page.browser.until("return document.querySelector('#chat-files .problem')?.textContent.startsWith('No connection.');")
    page.say("What is this?")
    assert page.browser.run(SAID).startswith("A file was not uploaded")
    page.browser.online()
    page.browser.until(STORED, 1)
    page.press("Send")
    wait_for(lambda: Message.objects.filter(role="user").count() == 2)
    page.browser.until(SHOWN)
