"""Importing by hand in a real browser: a file of any size goes to the job in the background, and the page follows it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import override_settings
from selenium.webdriver.common.by import By

from sessions_app.models import ImportJob, Message
from sessions_app.models.import_job import ImportState
from sessions_app.models.times import now
from tests.browser.accessibility import assert_accessible
from tests.browser.driving import Browser
from tests.browser.pages.test_every_page import PHONE, size
from tests.support.chat import Chat
from tests.support.export_files import download, purge
from tests.support.live_server import LiveServer
from tests.support.suite import is_patient

pytestmark = [pytest.mark.browser, pytest.mark.once]
SAYS = "return document.getElementById('imports').innerText.includes(args[0]);"
STATUS = "return document.getElementById('newest').textContent;"
SENT = "return document.getElementById('sent').value;"
MESSAGES = 70


@pytest.fixture
def file(server: LiveServer, api: Callable[..., Any], alice: User, tmp_path: Path) -> Path:
    """An export of what is gone since, larger than a request may be."""
    chat = Chat(api(alice))
    for number in range(MESSAGES):
        chat.say(f"m{number}", f"{number} " + "word " * 18_000)
    path = tmp_path / "export.ndjson"
    path.write_bytes(download(chat.api))
    purge(chat.api)
    return path


def choose(browser: Browser, file: Path) -> None:
    browser.driver.find_element(By.ID, "file").send_keys(str(file))


def held_up(alice: User) -> ImportJob:
    """Another import of the same account, running."""
    return ImportJob.objects.create(user=alice, state=ImportState.RUNNING, heartbeat_at=now())


def look_over(browser: Browser) -> None:
    for width in (PHONE, 1280):
        size(browser, width)
        assert browser.run("return document.documentElement.scrollWidth;") <= width
        assert_accessible(browser)


@pytest.mark.slow
def test_a_large_file_is_looked_into_imported_and_taken_back(signed_in: Browser, server: LiveServer, file: Path) -> None:
    assert file.stat().st_size > 6_000_000
    signed_in.open(f"{server.url}/import/")
    broken = file.with_name("broken.ndjson")
    broken.write_bytes(file.read_bytes()[:-9])
    choose(signed_in, broken)
    signed_in.click("Import")
    signed_in.until(SAYS, "Nothing was imported")
    choose(signed_in, file)
    signed_in.click("Look inside")
    signed_in.until(SAYS, "Dry run: nothing was imported")
    signed_in.until(SAYS, f"1 session, {MESSAGES} messages")
    assert not Message.objects.exists()
    signed_in.click("Import")
    signed_in.until("return document.querySelector('#imports h3').innerText === 'Imported';")
    assert (Message.objects.count(), signed_in.run(STATUS)) == (MESSAGES, "Imported")
    look_over(signed_in)
    signed_in.click("Undo")
    signed_in.until("return document.querySelector('#imports h3').innerText === 'Undone';")
    assert not Message.objects.exists()
    signed_in.until("return document.activeElement.matches('#imports article');")
    assert signed_in.complaints() == []
    posted = [request["url"] for request in signed_in.requests() if request["method"] == "POST"]
    assert [url for url in posted if url.endswith("/import/")] == [], "nothing goes through the form"


def test_the_page_follows_an_import_and_stops_one(signed_in: Browser, server: LiveServer, file: Path, alice: User) -> None:
    first = held_up(alice)
    signed_in.open(f"{server.url}/import/")
    for _ in range(2):
        choose(signed_in, file)
        signed_in.click("Import")
        signed_in.until("return document.getElementById('sending').hidden;")
    signed_in.until(
        "return [...document.querySelectorAll('#imports h3')].filter((h) => h.innerText.startsWith('Queued')).length === 2;"
    )
    look_over(signed_in)
    signed_in.run("document.querySelector('#imports article button').focus();")
    signed_in.click("Stop")
    signed_in.until("return document.querySelector('#imports h3').innerText.startsWith('Stopped');")
    first.delete()
    signed_in.until(SAYS, "Imported")
    assert Message.objects.count() == MESSAGES
    signed_in.until("return !('active' in document.getElementById('imports').dataset);")
    signed_in.requests()
    signed_in.pause(2.5 if is_patient() else 1.5)
    assert signed_in.requests() == [], "nothing is asked where nothing goes on"


@pytest.mark.slow
def test_a_file_on_its_way_shows_how_much_of_it_and_can_be_called_back(
    signed_in: Browser, server: LiveServer, file: Path
) -> None:
    signed_in.open(f"{server.url}/import/")
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 500_000}
    signed_in.driver.execute_cdp_cmd("Network.enable", {})
    signed_in.driver.execute_cdp_cmd("Network.emulateNetworkConditions", slow)
    choose(signed_in, file)
    signed_in.click("Import")
    signed_in.until(f"const sent = (() => {{ {SENT} }})(); return sent > 0 && sent < 1;")
    look_over(signed_in)
    signed_in.click("Cancel")
    signed_in.until("return document.getElementById('sending').hidden;")
    signed_in.online()
    assert not ImportJob.objects.exists()
    signed_in.click("Import")
    signed_in.until(SAYS, "Imported")


def drop(browser: Browser, *files: Path) -> None:
    """As a person does, from outside of the browser, beside the form."""
    data = {"items": [], "files": [str(file) for file in files], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        event = {"type": kind, "x": 400, "y": 60, "data": data}
        browser.driver.execute_cdp_cmd("Input.dispatchDragEvent", event)


@pytest.mark.slow
def test_a_file_that_is_dropped_is_looked_into_and_then_imported(signed_in: Browser, server: LiveServer, file: Path) -> None:
    signed_in.open(f"{server.url}/import/")
    drop(signed_in, file, file)
    signed_in.until("return document.getElementById('problem').textContent.includes('one file at a time');")
    drop(signed_in, file)
    signed_in.until(SAYS, "Dry run: nothing was imported")
    signed_in.until(SAYS, f"1 session, {MESSAGES} messages")
    assert (Message.objects.count(), signed_in.run("return location.pathname;")) == (0, "/import/")
    signed_in.until("return document.getElementById('import-this')?.checkVisibility();")
    look_over(signed_in)
    signed_in.click("Import this file")
    signed_in.until("return document.querySelector('#imports h3').innerText === 'Imported';")
    assert Message.objects.count() == MESSAGES
    signed_in.open(f"{server.url}/import/")
    assert signed_in.run("return document.getElementById('import-this') === null;")
    signed_in.click("Undo")
    signed_in.until("return document.querySelector('#imports h3').innerText === 'Undone';")
    assert not Message.objects.exists()


def test_what_is_no_export_is_refused_in_words(signed_in: Browser, server: LiveServer, tmp_path: Path) -> None:
    other = tmp_path / "conversations.json"
    other.write_text('[{"title": "from elsewhere"}]')
    signed_in.open(f"{server.url}/import/")
    drop(signed_in, other)
    signed_in.until(SAYS, "This file cannot be imported")
    assert signed_in.run(SAYS, "no export of Stillhere")
    assert signed_in.run("return document.querySelector('#imports article').innerText;").count("\n") >= 1
    assert not signed_in.run("return document.getElementById('import-this')?.checkVisibility();")


def test_an_import_says_of_which_file_it_is(signed_in: Browser, server: LiveServer, tmp_path: Path, alice: User) -> None:
    for name in ("march.ndjson", "<b>april.ndjson"):
        (tmp_path / name).write_text("{}")
        signed_in.open(f"{server.url}/import/")
        choose(signed_in, tmp_path / name)
        signed_in.click("Look inside")
        signed_in.until(SAYS, "This file cannot be imported")
        signed_in.until(SAYS, name)
    signed_in.open(f"{server.url}/import/")
    told = signed_in.run("return [...document.querySelectorAll('#imports article')].map((one) => one.innerText);")
    assert ["<b>april.ndjson" in told[0], "march.ndjson" in told[1]] == [True, True]
    # While one is read, it is listed by its name too, beside the refusal of the one before it.
    signed_in.until("return !('active' in document.getElementById('imports').dataset);")
    held_up(alice)
    for _ in range(2):
        ImportJob.objects.create(user=alice, state=ImportState.QUEUED)
    choose(signed_in, tmp_path / "march.ndjson")
    signed_in.click("Import")
    signed_in.until("return document.getElementById('problem').textContent.startsWith('march.ndjson: You have 3 imports');")


@override_settings(MAX_IMPORT_BYTES=1_000)
def test_a_file_that_is_too_large_is_not_sent(signed_in: Browser, server: LiveServer, tmp_path: Path) -> None:
    file = tmp_path / "export.ndjson"
    file.write_bytes(b"{}\n" * 500)
    signed_in.open(f"{server.url}/import/")
    signed_in.requests()
    choose(signed_in, file)
    assert "too large" in signed_in.run("return document.getElementById('file').validationMessage;")
    signed_in.click("Import")
    assert [request["url"] for request in signed_in.requests() if request["method"] == "POST"] == []
    signed_in.run("document.getElementById('import').dataset.most = '1e12';")
    signed_in.run("document.getElementById('file').dispatchEvent(new Event('change'));")
    signed_in.click("Import")
    signed_in.until("return document.getElementById('problem').textContent.includes('at most 1,000 bytes');")


def test_a_file_waits_for_the_login_that_it_is_for(signed_in: Browser, server: LiveServer, tmp_path: Path, alice: User) -> None:
    file = tmp_path / "other.ndjson"
    file.write_text("{}")
    signed_in.open(f"{server.url}/import/")
    signed_in.driver.execute_cdp_cmd("Network.deleteCookies", {"name": "sessionid", "url": server.url})
    choose(signed_in, file)
    signed_in.click("Look inside")
    signed_in.until("return document.getElementById('problem').textContent.startsWith('other.ndjson: You are signed out.');")
    signed_in.sign_in_as(alice, server.url)
    another = {"name": "csrftoken", "value": "d" * 32, "url": server.url}
    signed_in.driver.execute_cdp_cmd("Network.setCookie", another)
    drop(signed_in, file)
    signed_in.until(SAYS, "This file cannot be imported")
