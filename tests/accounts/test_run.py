"""`manage.py run`: whose sign-in link and key the first lines show."""

import io
from contextlib import nullcontext

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from config.server import startup
from sessions_app.accounts.users import create_user
from sessions_app.models import SignInLink

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "prepared", nullcontext)
    monkeypatch.setattr(startup, "serve", lambda: None)


def run() -> str:
    out = io.StringIO()
    call_command("run", stdout=out)
    return out.getvalue()


def test_the_first_start_makes_an_owner() -> None:
    assert "Your account:                  owner" in run()
    assert User.objects.get().is_superuser
    run()
    assert User.objects.count() == 1


def test_an_owner_that_another_command_made_is_taken(alice: User) -> None:
    """As the documents say for a move to PostgreSQL: `create_user owner`."""
    create_user(username="owner")
    assert "owner" in run()
    owner = User.objects.get(username="owner")
    assert (owner.is_superuser, owner.is_staff, SignInLink.objects.get().user) == (True, True, owner)
    assert not User.objects.get(username="alice").is_superuser


def test_an_account_that_has_the_rights_is_the_owner(alice: User) -> None:
    create_user(username="owner")
    create_user(username="root", superuser=True)
    run()
    assert SignInLink.objects.get().user.username == "root"
    assert not User.objects.get(username="owner").is_superuser


def test_a_disabled_owner_is_no_fault_of_the_program() -> None:
    create_user(username="owner", superuser=True, is_active=False)
    with pytest.raises(CommandError, match="disabled"):
        run()
    assert not SignInLink.objects.exists()
