"""`manage.py keys`: lists and revokes keys on the server's machine, without a browser."""

import io
import re
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from sessions_app.accounts import api_keys
from sessions_app.core.callers import caller_of_user
from sessions_app.models import ApiKey
from sessions_app.models.times import now


def run(*arguments: Any) -> str:
    out = io.StringIO()
    call_command("keys", *arguments, stdout=out)
    return out.getvalue()


def test_keys_in_force_are_listed_without_their_secrets(alice: User, bob: User) -> None:
    first = api_keys.create_key(caller=caller_of_user(alice), name="laptop", project_path="/home/alice/shop")
    second = api_keys.create_key(caller=caller_of_user(alice), scopes=("read",))
    api_keys.create_key(caller=caller_of_user(bob), name="his")
    ApiKey.objects.filter(id=first.row.id).update(created_at=first.row.created_at - timedelta(days=1))
    newest, oldest = run("--user", "alice").splitlines()
    assert newest.startswith(str(second.row.id))
    assert "  read  every project" in newest
    assert oldest.startswith(str(first.row.id))
    assert all(said in oldest for said in ("read,write", "/home/alice/shop", "never used", "laptop"))
    assert not any(made.secret in newest + oldest for made in (first, second))


def test_the_page_tells_which_keys_are_expired(client: Client, alice: User) -> None:
    for name, days in (("old", 1), ("new", 9)):
        api_keys.create_key(caller=caller_of_user(alice), name=name, days=days)
    # Created earlier, as its name says: two keys of one millisecond have no order that a reader could expect.
    ended = now() - timedelta(hours=3)
    ApiKey.objects.filter(name="old").update(created_at=ended - timedelta(days=1), expires_at=ended)
    client.force_login(alice)
    shown = client.get("/keys/").content.decode()
    assert re.findall(r'<span class="chip (?:warn|bad)">(\w+) ', shown) == ["ends", "expired"]


def test_a_revoked_key_ends_at_once(alice: User, api: Callable[..., Any]) -> None:
    client = api(alice)
    key = ApiKey.objects.get()
    assert client.get("/projects").status_code == 200
    assert run("--user", "alice", "--revoke", key.id) == ""
    assert client.get("/projects").status_code == 401


def test_somebody_else_s_key_and_nobody_s_are_unknown(alice: User, bob: User) -> None:
    his = api_keys.create_key(caller=caller_of_user(bob)).row.id
    for unknown in (his, uuid.uuid4()):
        with pytest.raises(CommandError, match="no key with this id"):
            run("--user", "alice", "--revoke", unknown)
    with pytest.raises(CommandError, match="no user 'nobody'"):
        run("--user", "nobody")
    assert ApiKey.objects.get().revoked_at is None
