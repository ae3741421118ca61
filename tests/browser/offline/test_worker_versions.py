"""A new version of the static files: the next page has it whole, and it replaces the old one. Switched off, nothing stays."""

from typing import Any

import pytest

from tests.browser.chat_page import ChatPage
from tests.browser.driving import wait_for
from tests.browser.offline.conftest import KEPT, Station

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.offline]
SHELLS = "return (await caches.keys()).filter((name) => name.startsWith('stillhere-shell-'));"
WORKERS = """
    const { installing, waiting, active } = await navigator.serviceWorker.getRegistration();
    const kept = [];
    for (const name of await caches.keys()) kept.push([name, (await (await caches.open(name)).keys()).length]);
    return JSON.stringify({ installing: installing?.state, waiting: waiting?.state, active: active?.state, kept });
"""
SHIPPED = "return document.documentElement.dataset.shipped ?? '';"
# The new worker asks for ten seconds to replace the old one.
REPLACED_SECONDS = 20
IMPORTED = "chat/page-state.js"


def ship(station: Station, number: int) -> None:
    """Another version: one module says so in the page."""
    module = station.static / "js" / IMPORTED
    source = module.read_text().partition("\ndocument.documentElement")[0]
    module.write_text(f"{source}\ndocument.documentElement.dataset.shipped = '{number}';\n")
    station.changed()


def test_a_new_version_is_whole_at_once_and_replaces_the_old_one(chat: ChatPage, station: Station) -> None:
    former = chat.browser.run(SHELLS)
    assert len(former) == 1
    station.leave()
    ship(station, 2)
    station.come_back()
    # The page of the new version, under the old worker.
    chat.open()
    assert chat.browser.run(SHIPPED) == "2"
    chat.browser.until(f"const names = await (async () => {{ {SHELLS} }})(); return names.join() !== args[0];", former[0])
    try:
        wait_for(lambda: len(chat.browser.run(SHELLS)) == 1, REPLACED_SECONDS, "one shell")
    except AssertionError:
        raise AssertionError(chat.browser.run(WORKERS)) from None
    chat.browser.until(KEPT)
    station.leave()
    chat.browser.driver.refresh()
    chat.ready()
    assert chat.browser.run(SHIPPED) == "2"
    assert chat.texts() == ["count to 2", "1 2"]


@pytest.mark.slow
def test_a_version_that_is_not_complete_replaces_nothing(chat: ChatPage, station: Station) -> None:
    former = chat.browser.run(SHELLS)
    station.leave()
    ship(station, 3)
    station.come_back(lacks="js/chat/input/long-text.js")
    chat.browser.run("await (await navigator.serviceWorker.ready).update().catch(() => {});")
    chat.browser.until("return !(await navigator.serviceWorker.ready).installing;")
    assert chat.browser.run("return (await navigator.serviceWorker.ready).waiting;") is None
    station.leave()
    chat.browser.driver.refresh()
    chat.ready()
    assert chat.browser.run(SHIPPED) == ""
    assert chat.browser.run(SHELLS) == former


@pytest.mark.slow
def test_a_worker_makes_no_cache_where_it_only_looks(chat: ChatPage) -> None:
    """What it made after its successor had removed everything would stay."""
    chat.browser.run("for (const name of await caches.keys()) await caches.delete(name);")
    chat.browser.run("await fetch('/static/js/stillhere/util.js');")
    assert chat.browser.run("return await caches.keys();") == []


@pytest.mark.slow
def test_switched_off_it_goes_with_all_that_it_kept(chat: ChatPage, station: Station, settings: Any) -> None:
    settings.OFFLINE_PAGES = False
    chat.open()
    chat.browser.run("await navigator.serviceWorker.getRegistration().then((one) => one?.update());")
    chat.browser.until("return !(await navigator.serviceWorker.getRegistration()) && (await caches.keys()).length === 0;")
    chat.open()
    chat.say("count to 3")
    chat.until_answered("1 2 3")
