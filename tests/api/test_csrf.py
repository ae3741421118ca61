"""A login cookie alone changes nothing: every mutation wants its token, from this very origin.

A route that writes and has no row in tests/support/routes/ fails in test_scoping.py.
"""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.conftest import Alone
from tests.support.example_objects import World
from tests.support.routes import API, NOUNS, Row
from tests.support.suite import some_of

# Refused before the database is asked for more than who it is.
pytestmark = pytest.mark.once
MUTATIONS = {name: row for name, row in API.items() if row.writes and not row.credentials_inside}
OWN = "http://127.0.0.1:8000"
FOREIGN = [
    "https://evil.example",
    "null",
    "http://127.0.0.1:8001",
    "https://127.0.0.1:8000",
    "http://127.0.0.1.evil.example:8000",
]
# What a page may send elsewhere without asking first.
OF_FORMS = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")
# What takes a form: address and fields. Each is refused without its token.
FORMS: dict[str, str] = {
    "login": "/login/",
    "logout": "/logout/",
    "welcome": "/welcome/token/",
    "home": "/",
    "account": "/account/",
    "end_login": "/account/logins/{login}/end/",
    "delete_account": "/account/delete/",
    "import": "/import/",
    "import_act": "/import/{import}/stop/",
    "keys": "/keys/",
    "revoke_key": "/keys/{key}/revoke/",
    "restore_key": "/keys/{key}/restore/",
    "chat_words": "/chat/words",
    "project": "/projects/{project}/",
    "project_settings": "/projects/{project}/settings/",
    "handoff_act": "/projects/{project}/handoff/freeze/",
    "remove_project": "/projects/{project}/delete/",
    "restore_project": "/projects/{project}/restore/",
    "erase_project": "/projects/{project}/erase/",
    "resolve_error": "/projects/{project}/errors/{error}/resolve/",
    "reopen_error": "/projects/{project}/errors/{error}/reopen/",
    "mute_error": "/projects/{project}/errors/{error}/mute/",
    "unmute_error": "/projects/{project}/errors/{error}/unmute/",
    "change_errors": "/projects/{project}/errors-bulk/",
    "add_noise_rule": "/projects/{project}/noise/",
    "switch_noise_rule": "/projects/{project}/noise/switch/",
    "delete_noise_rule": "/projects/{project}/noise/delete/",
    "free_lease": "/projects/{project}/lease/free/",
    "prune_thread": "/projects/{project}/threads/{thread}/prune/",
    "delete_thread": "/projects/{project}/threads/{thread}/delete/",
    "take_over_lease": "/projects/{project}/runs/{run}/takeover/",
    "new_memory_entry": "/projects/{project}/memory-new/",
    "new_memory_entry_there": "/projects/{project}/memory-new/notes/",
    "undelete_memory_entry": "/projects/{project}/memory-deleted/{deleted}/restore/",
    "edit_memory_entry": "/projects/{project}/memory/notes/{entry}/edit/",
    "delete_memory_entry": "/projects/{project}/memory/notes/{entry}/delete/",
    "restore_memory_version": "/projects/{project}/memory/notes/{entry}/versions/1/restore/",
    "transfer": "/sessions/{session}/transfer/",
    "move_session": "/sessions/{session}/move/",
    "bulk_sessions": "/sessions/bulk/",
    "session_act": "/sessions/{session}/delete/",
}
FORMS |= {name: address for noun in NOUNS for name, address in noun.forms.items()}


@pytest.fixture
def browser(alice: User, alices_world: World) -> Client:
    """Hers, as a real browser: with the cookie, and checked."""
    client = Client(enforce_csrf_checks=True, headers={"Host": "127.0.0.1:8000"})
    client.force_login(alice)
    client.get("/keys/")
    return client


def send(client: Client, row: Row, world: World, *, content_type: str = "application/json", **headers: str) -> Any:
    body = json.dumps(world.body(row)) if row.body is not None else ""
    sent = {**row.headers, "Host": "127.0.0.1:8000", **headers}
    return client.generic(row.method, "/api/v1" + world.address(row), body, content_type=content_type, headers=sent)


def token_of(client: Client) -> str:
    return str(client.cookies["csrftoken"].value)


def test_a_cookie_without_its_token_changes_nothing(browser: Client, alices_world: World, alone: Alone) -> None:
    for name, row in MUTATIONS.items():
        with alone(name):
            answer = send(browser, row, alices_world, Origin=OWN)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "csrf_failed")
            wrong = send(browser, row, alices_world, Origin=OWN, **{"X-CSRFToken": "x" * 64})
            assert wrong.status_code == 403


@pytest.mark.slow
def test_a_token_sent_from_elsewhere_changes_nothing(browser: Client, alices_world: World, alone: Alone) -> None:
    for name, row in MUTATIONS.items():
        with alone(name):
            for origin in FOREIGN:
                answer = send(browser, row, alices_world, Origin=origin, **{"X-CSRFToken": token_of(browser)})
                assert answer.status_code == 403, origin


def test_a_form_or_beacon_of_another_site_changes_nothing(browser: Client, alices_world: World, alone: Alone) -> None:
    for name, row in MUTATIONS.items():
        with alone(name):
            for content_type in some_of(OF_FORMS, 3):
                answer = send(browser, row, alices_world, content_type=content_type, Origin="https://evil.example")
                assert answer.status_code == 403, content_type


def test_the_same_with_token_and_origin_is_let_in(browser: Client, alices_world: World, alone: Alone) -> None:
    for name, row in MUTATIONS.items():
        with alone(name):
            answer = send(browser, row, alices_world, Origin=OWN, **{"X-CSRFToken": token_of(browser)})
            assert answer.status_code != 403


@pytest.mark.parametrize("inside", [{}, {"csrf": "x" * 64}, {"flush_token": "invented"}])
def test_a_flush_brings_its_own_credentials(browser: Client, alices_world: World, inside: dict[str, str]) -> None:
    row = API["flush"]
    body = json.dumps({**row.body, **inside})
    address = "/api/v1" + alices_world.address(row)
    answer = browser.post(address, body, content_type="text/plain", headers={"Host": "127.0.0.1:8000", "Origin": OWN})
    assert answer.status_code in {401, 403}


@pytest.mark.parametrize("origin", FOREIGN)
def test_a_flush_with_a_good_token_from_elsewhere_is_refused(browser: Client, alices_world: World, origin: str) -> None:
    row = API["flush"]
    body = json.dumps({**row.body, "csrf": token_of(browser)})
    address = "/api/v1" + alices_world.address(row)
    answer = browser.post(address, body, content_type="text/plain", headers={"Host": "127.0.0.1:8000", "Origin": origin})
    assert answer.status_code == 403


def test_a_form_needs_its_token(browser: Client, alices_world: World, alone: Alone) -> None:
    for name, form in FORMS.items():
        with alone(name):
            address = form.format_map(alices_world.names)
            for origin in (OWN, *some_of(FOREIGN, 3)):
                answer = browser.post(address, {}, headers={"Host": "127.0.0.1:8000", "Origin": origin})
                assert answer.status_code == 403, origin
