"""Carrying work over in a dialog, with the keyboard alone."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.browser.accessibility import LIVE, assert_accessible
from tests.browser.driving import Browser
from tests.browser.keyboard import Keyboard
from tests.support.chat import Chat
from tests.support.live_server import LiveServer

pytestmark = [pytest.mark.browser, pytest.mark.once]
PREVIEW = "return document.getElementById('transfer-preview').textContent;"


@pytest.fixture
def source(server: LiveServer, api: Callable[..., Any], alice: User) -> Chat:
    chat = Chat(api(alice))
    chat.say("m1", "one")
    todos = [{"content": "Read", "status": "completed"}, {"content": "Mend", "status": "pending"}]
    chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"todos": todos})
    return chat


@pytest.fixture
def target(source: Chat) -> Chat:
    chat = Chat(source.api, project="/home/alice/other")
    chat.api.patch(f"/sessions/{chat.id}", {"title": "A target"})
    chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"todos": [{"content": "Tell", "status": "pending"}]})
    for number in range(12):
        Chat(source.api, project=f"/home/alice/{number}")
    return chat


def project_of(chat: Chat) -> str:
    return str(chat.read()["session"]["project_id"])


def test_work_is_carried_over_with_the_keyboard_alone(signed_in: Browser, server: LiveServer, source: Chat, target: Chat) -> None:
    signed_in.open(f"{server.url}/sessions/{source.id}/")
    keys = Keyboard(signed_in)
    keys.choose("Transfer")
    signed_in.until("return document.querySelector('dialog[open] #transfer');")
    assert_accessible(signed_in)
    keys.write("Find a session or project", "a targ")
    signed_in.until("return document.querySelectorAll('#transfer-places label').length === 1;")
    assert keys.name() == "Find a session or project"
    keys.press("\ue007")  # Enter finds nothing more, and leaves nothing.
    keys.go_to("A target in…")
    keys.press(" ")
    signed_in.until(f"{PREVIEW[:-1]}.includes('In the way: claude.');")
    keys.go_to("Transfer nothing")
    keys.press("\ue015")  # Down: the next choice.
    signed_in.until(f"{PREVIEW[:-1]}.includes('3 todos (1 done)');")
    assert len(target.api.get(f"/sessions/{target.id}/ai-states/claude").json()["todos"]) == 1
    assert_accessible(signed_in)
    keys.choose("Transfer")
    signed_in.until("return location.pathname === args[0];", f"/sessions/{target.id}/")
    signed_in.until("return document.querySelector('#rail-ai-claude').textContent.includes('1 of 3');")
    assert len(target.api.get(f"/sessions/{target.id}/ai-states/claude").json()["todos"]) == 3
    assert signed_in.complaints() == []


@pytest.mark.slow
def test_the_dialog_closes_and_gives_the_focus_back(signed_in: Browser, server: LiveServer, source: Chat) -> None:
    signed_in.open(f"{server.url}/sessions/{source.id}/")
    keys = Keyboard(signed_in)
    for by_escape in (True, False):
        keys.choose("Transfer")
        signed_in.until("return document.querySelector('dialog[open] #transfer');")
        if by_escape:
            keys.press("\ue00c")
        else:
            keys.choose("Cancel")
        signed_in.until("return !document.querySelector('dialog[open]');")
        assert keys.at.get_attribute("id") == "rail-transfer"


@pytest.mark.slow
def test_on_a_phone_the_focus_goes_back_to_the_button_of_the_drawer(signed_in: Browser, server: LiveServer, source: Chat) -> None:
    size = {"width": 360, "height": 780, "deviceScaleFactor": 1, "mobile": False}
    signed_in.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        signed_in.open(f"{server.url}/sessions/{source.id}/")
        signed_in.until(LIVE)
        keys = Keyboard(signed_in)
        keys.choose("Details")
        keys.choose("Transfer")
        signed_in.until("return document.querySelector('dialog[open] #transfer');")
        keys.press("\ue00c")
        signed_in.until("return !document.querySelector('dialog[open]');")
        assert keys.name() == "Details"
    finally:
        signed_in.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_both_sides_see_a_transfer_at_once(signed_in: Browser, server: LiveServer, source: Chat, target: Chat) -> None:
    signed_in.open(f"{server.url}/sessions/{source.id}/")
    signed_in.until(LIVE)
    body = {"to_session": target.id, "on_conflict": "overwrite", "mode": "move", "epoch": 1, "writer_id": "w", "seq": 1}
    assert target.api.post(f"/sessions/{source.id}/transfer", body).status_code == 200
    signed_in.until("return !document.getElementById('rail-ai-claude');")


@pytest.mark.slow
def test_a_session_is_moved_by_keys_and_an_open_page_follows_it(signed_in: Browser, server: LiveServer, source: Chat) -> None:
    source.api.post("/projects", {"path": "elsewhere"})
    crumbs = "return document.querySelector('.crumbs').textContent.includes(args[0]);"
    signed_in.open(f"{server.url}/sessions/{source.id}/")
    signed_in.until(LIVE)
    first = signed_in.driver.current_window_handle
    signed_in.new_tab(f"{server.url}/sessions/{source.id}/")
    keys = Keyboard(signed_in)
    keys.choose("Move to a project")
    signed_in.until("return document.querySelector('dialog[open] #move');")
    assert_accessible(signed_in)
    keys.go_to("To project")
    keys.press("elsew")
    keys.choose("Move session")
    signed_in.until(crumbs, "elsewhere")
    signed_in.until("return document.getElementById('toasts').textContent.includes('Moved to elsewhere');")
    signed_in.go_to(first)
    signed_in.show()
    signed_in.until(crumbs, "elsewhere")
    assert signed_in.complaints() == []


def test_a_move_is_undone_by_its_message(signed_in: Browser, server: LiveServer, source: Chat) -> None:
    source.api.post("/projects", {"path": "elsewhere"})
    crumbs = "return document.querySelector('.crumbs').textContent.includes(args[0]);"
    said = "return document.getElementById('toasts').textContent.includes(args[0]);"
    signed_in.open(f"{server.url}/sessions/{source.id}/")
    keys = Keyboard(signed_in)
    keys.choose("Move to a project")
    signed_in.until("return document.querySelector('dialog[open] #move');")
    keys.go_to("To project")
    keys.press("elsew")
    keys.choose("Move session")
    signed_in.until(crumbs, "elsewhere")
    source.say("m2", "said elsewhere")
    assert_accessible(signed_in)
    keys.choose("Undo")
    signed_in.until(said, "Moved back.")
    signed_in.until(crumbs, "shop")
    signed_in.until("return document.querySelector('main').textContent.includes('said elsewhere');")
    assert (source.read()["session"]["state"], source.texts()) == ("current", ["one", "said elsewhere"])
    assert signed_in.complaints() == []


def test_an_undo_of_a_move_that_is_refused_says_why(signed_in: Browser, server: LiveServer, source: Chat) -> None:
    old, project = source.read()["session"]["project_id"], source.api.post("/projects", {"path": "elsewhere"}).json()["id"]
    signed_in.open(f"{server.url}/sessions/{source.id}/move/")
    signed_in.run("document.querySelector('#move select').value = args[0];", project)
    signed_in.click("Move session")
    signed_in.until("return document.getElementById('toasts').textContent.includes('Moved to elsewhere');")
    assert source.api.delete(f"/projects/{old}").status_code == 204
    signed_in.click("Undo")
    refusal = "return document.getElementById('toasts-alert').textContent.includes(args[0]);"
    signed_in.until(refusal, "Nothing was moved back: the old project is in the trash. Restore the project first.")
    assert source.read()["session"]["project"] == "elsewhere"


def test_a_move_of_many_is_undone_by_its_message(signed_in: Browser, server: LiveServer, source: Chat) -> None:
    other, there = Chat(source.api), source.api.post("/projects", {"path": "elsewhere"}).json()["id"]
    signed_in.open(f"{server.url}/projects/{project_of(source)}/")
    signed_in.until("return document.querySelector('[data-bulk-all]')?.hidden === false;")
    for chat in (source, other):
        signed_in.run("document.getElementById('tick-' + args[0]).click();", chat.id)
    signed_in.run("document.querySelector('#bulk select[name=project]').value = args[0];", there)
    signed_in.run("document.querySelector('#bulk [value=move]').click();")
    signed_in.until("return document.getElementById('toasts').textContent.includes('2 sessions moved');")
    assert [chat.read()["session"]["project"] for chat in (source, other)] == ["elsewhere"] * 2
    source.say("m2", "said elsewhere")
    signed_in.click("Undo")
    signed_in.until("return document.getElementById('toasts').textContent.includes('Undone for 2 sessions.');")
    signed_in.until("return document.querySelectorAll('.list .title').length === 2;")
    sessions = [chat.read()["session"] for chat in (source, other)]
    assert [(one["project"], one["state"]) for one in sessions] == [(source.project, "earlier"), (source.project, "current")]
    assert source.texts() == ["one", "said elsewhere"]


def test_a_copy_into_a_new_session_is_undone_by_its_message(signed_in: Browser, server: LiveServer, source: Chat) -> None:
    there = Chat(source.api, project="/home/alice/other")
    signed_in.open(f"{server.url}/sessions/{source.id}/")
    signed_in.click("Transfer")
    signed_in.until("return document.querySelector('dialog[open] #transfer');")
    signed_in.run("document.querySelector('#transfer-places [value=\"project ' + args[0] + '\"]').click();", project_of(there))
    signed_in.until(f"{PREVIEW[:-1]}.includes('1 message');")
    signed_in.run("document.querySelector('.transfer [value=transfer]').click();")
    signed_in.until("return document.getElementById('toasts').textContent.includes('Carried over.');")
    signed_in.until(LIVE)
    made = signed_in.run("return location.pathname.split('/')[2];")
    assert made not in {source.id, there.id}
    assert there.read()["session"]["state"] == "earlier"
    signed_in.click("Undo")
    signed_in.until("return document.getElementById('toasts').textContent.includes('in the trash for 30 days');")
    assert signed_in.run("return location.pathname;") == f"/sessions/{source.id}/"
    assert source.api.get(f"/sessions/{made}").status_code == 410
    assert (there.read()["session"]["state"], source.texts()) == ("current", ["one"])
    assert signed_in.complaints() == []


@pytest.mark.slow
def test_a_double_click_opens_one_dialog(signed_in: Browser, server: LiveServer, source: Chat) -> None:
    signed_in.open(f"{server.url}/sessions/{source.id}/")
    signed_in.until(LIVE)
    signed_in.run("""
        const button = document.querySelector("form[data-dialog][action$='/transfer/'] button");
        button.click();
        button.click();
    """)
    signed_in.until("return document.querySelector('dialog[open] #transfer') !== null;")
    signed_in.pause(0.5)
    assert signed_in.run("return document.querySelectorAll('dialog[open]').length;") == 1
    signed_in.run("document.querySelector('dialog[open]').close();")
    signed_in.click("Transfer")
    signed_in.until("return document.querySelector('dialog[open] #transfer') !== null;")
