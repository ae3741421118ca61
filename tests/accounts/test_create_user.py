"""`manage.py create_user`: an account and a link that signs in, alone on standard output."""

import io

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

pytestmark = pytest.mark.django_db


def create_user(*arguments: str) -> tuple[str, str]:
    """What it prints on standard output, and on standard error."""
    out, error = io.StringIO(), io.StringIO()
    call_command("create_user", *arguments, stdout=out, stderr=error)
    return out.getvalue(), error.getvalue()


@pytest.mark.parametrize("name", ["", "two words", "a/b", "x" * 151])
def test_a_name_that_no_account_can_have_is_refused_in_a_sentence(name: str) -> None:
    with pytest.raises(CommandError) as refused:
        create_user(name)
    assert str(refused.value)
    assert not User.objects.exists()


def test_who_is_there_already_gets_a_further_link(alice: User) -> None:
    first, second = create_user("alice"), create_user("alice")
    assert first[0] != second[0]
    assert "/welcome/" in first[0]
    assert (first[1], second[1]) == ("", "")
    assert not User.objects.get().is_superuser


def test_who_is_there_already_may_be_given_the_admin_and_that_is_said(alice: User) -> None:
    out, said = create_user("alice", "--superuser")
    assert out.count("\n") == 1
    assert "may use /admin/" in said
    alice.refresh_from_db()
    assert (alice.is_staff, alice.is_superuser) == (True, True)
    assert create_user("alice", "--superuser")[1] == ""


def test_a_name_is_the_same_in_every_way_to_write_it() -> None:
    create_user("\ufb01na")
    create_user("fina")
    create_user("\ufb01na")
    assert [user.username for user in User.objects.all()] == ["fina"]
