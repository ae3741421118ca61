"""Logins: not to be read out of the database, listed for their owner, and ended one by one."""

import importlib
import json
import re
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore as FormerStore
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client

from sessions_app.accounts import api_keys
from sessions_app.accounts.users import create_sign_in_link
from sessions_app.frontends.sockets.authentication import Handshake, Refused, admit
from sessions_app.models import Login
from tests.support.chat import Chat

PASSWORD = "a long and quiet river"
ENDING = re.compile(r'action="(/account/logins/[0-9a-f]+/end/)"')
take_over = importlib.import_module("sessions_app.migrations.0018_logins").take_over


def signed_in(user: User, browser: str = "") -> Client:
    client = Client(headers={"User-Agent": browser})
    assert client.post(f"/welcome/{create_sign_in_link(user_id=user.pk)}/").status_code == 302
    return client


def test_what_is_stored_of_a_login_signs_nobody_in(alice: User, client: Client) -> None:
    alice_client = signed_in(alice)
    secret = alice_client.cookies["sessionid"].value
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM sessions_app_login")
        stored = [str(value) for row in cursor.fetchall() for value in row]
    assert stored
    assert not any(secret in value for value in stored)
    for value in stored:
        client.cookies["sessionid"] = value
        assert client.get("/account/").status_code == 302
    assert alice_client.get("/account/").status_code == 200
    alice_client.post("/logout/")
    assert not Login.objects.filter(user=alice).exists()


def test_logins_of_the_former_kind_go_on(alice: User, client: Client) -> None:
    """What the upgrade finds: rows under the key itself."""
    client.force_login(alice)
    former = FormerStore()
    former.update(dict(client.session.items()))
    former.create()
    nobodys = FormerStore()
    nobodys.create()
    Login.objects.all().delete()
    take_over(apps, None)
    assert not Session.objects.exists()
    assert [login.user_id for login in Login.objects.all()] == [alice.pk]
    client.cookies["sessionid"] = str(former.session_key)
    assert client.get("/account/").status_code == 200


def test_the_account_lists_its_logins_and_ends_one(alice: User, bob: User) -> None:
    here = signed_in(alice, "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36")
    there = signed_in(alice, "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1")
    foreign = signed_in(bob)
    page = here.get("/account/").content.decode()
    assert "Chrome on Linux" in page
    assert "Safari on iPhone" in page
    assert page.count("this one") == 1
    [address] = ENDING.findall(page)
    assert foreign.post(address).status_code == 404
    assert there.get("/account/").status_code == 200
    assert here.post(address).status_code == 302
    assert there.get("/account/").status_code == 302
    assert here.get("/account/").status_code == 200
    assert here.post(address).status_code == 404


def change(client: Client, old: str, new: str) -> Any:
    return client.post("/account/", {"old_password": old, "new_password1": new, "new_password2": new})


def test_a_sign_in_link_ends_with_the_password_that_it_was_made_beside(alice: User) -> None:
    link = f"/welcome/{create_sign_in_link(user_id=alice.pk)}/"
    alice_client = signed_in(alice)
    assert alice_client.post("/account/", {"new_password1": PASSWORD, "new_password2": PASSWORD}).status_code == 302
    assert Client().post(link).status_code == 410
    assert signed_in(alice).get("/account/").status_code == 200


def tokens_of(chat: Chat, login: Client) -> tuple[str, str]:
    """A ticket of this login's, and a flush token for this chat."""
    ticket, flush = login.post("/api/v1/ws-tickets"), login.post(f"/api/v1/sessions/{chat.id}/flush-tokens")
    return ticket.json()["ticket"], flush.json()["flush_token"]


def opens(chat: Chat, ticket: str) -> bool:
    try:
        admit(Handshake("http", {"ticket": ticket, "project": chat.project}, {}))
    except Refused:
        return False
    return True


def flushes(chat: Chat, token: str) -> bool:
    body = json.dumps({"epoch": 1, "writer_id": token[:8], "seq": 1, "ops": [], "flush_token": token})
    answer = Client().post(f"/api/v1/sessions/{chat.id}/flush", body, content_type="text/plain")
    assert answer.status_code in {204, 401}
    return answer.status_code == 204


def test_a_changed_password_ends_what_other_logins_asked_for(alice: User, chat: Chat) -> None:
    here, there = signed_in(alice), signed_in(alice)
    ticket, flush = tokens_of(chat, there)
    assert flushes(chat, flush)
    assert here.post("/account/", {"new_password1": PASSWORD, "new_password2": PASSWORD}).status_code == 302
    assert [opens(chat, ticket), flushes(chat, flush)] == [False, False]
    assert Login.objects.filter(user=alice).count() == 1
    ticket, flush = tokens_of(chat, here)
    assert [opens(chat, ticket), flushes(chat, flush)] == [True, True]


def test_so_does_one_that_was_changed_on_the_command_line(alice: User, chat: Chat) -> None:
    ticket, flush = tokens_of(chat, signed_in(alice))
    alice.set_password(PASSWORD)
    alice.save()
    assert [opens(chat, ticket), flushes(chat, flush)] == [False, False]


def test_so_does_one_that_an_administrator_changed(alice: User, bob: User, admin_client: Client) -> None:
    signed_in(alice), signed_in(bob)
    new = {"password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"}
    assert admin_client.post(f"/admin/auth/user/{alice.pk}/password/", new).status_code == 302
    assert [Login.objects.filter(user=user).count() for user in (alice, bob)] == [0, 1]


def test_a_flush_token_ends_with_its_login(alice: User, chat: Chat) -> None:
    login = signed_in(alice)
    _, flush = tokens_of(chat, login)
    login.post("/logout/")
    assert not flushes(chat, flush)


def test_an_invented_ticket_waits_for_no_write(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_keys, "write", pytest.fail)
    assert not opens(chat, "invented")


def test_wrong_passwords_on_the_account_page_are_few(alice: User, settings: Any) -> None:
    settings.LOGIN_ATTEMPTS = 3
    alice.set_password(PASSWORD)
    alice.save()
    alice.refresh_from_db()
    alice_client = signed_in(alice)
    wrong = {"typed": "alice", "password": "wrong"}
    assert [change(alice_client, "wrong", "another long river").status_code for _ in range(2)] == [422, 422]
    assert alice_client.post("/account/delete/", wrong).status_code == 302
    assert change(alice_client, PASSWORD, "another long river").status_code == 429
    assert alice_client.post("/account/delete/", {**wrong, "password": PASSWORD}).status_code == 429
    assert User.objects.filter(pk=alice.pk).exists()
