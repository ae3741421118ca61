"""`manage.py create_key`: the key alone on standard output, everything else beside it."""

import io

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from sessions_app.models import ApiKey, Project

pytestmark = pytest.mark.django_db


def create_key(*arguments: str) -> tuple[str, str]:
    """What it prints on standard output, and on standard error."""
    out, error = io.StringIO(), io.StringIO()
    call_command("create_key", "--user", "alice", *arguments, stdout=out, stderr=error)
    return out.getvalue(), error.getvalue()


def test_a_key_for_a_project_that_is_not_there_makes_it_and_says_so(alice: User) -> None:
    out, said = create_key("--project", "/home/alice/shpo")
    assert (out[:3], out.count("\n"), len(out.strip())) == ("sh_", 1, 52)
    assert "'/home/alice/shpo'" in said
    assert "was made" in said
    assert ApiKey.objects.get().project == Project.objects.get(path="/home/alice/shpo")


def test_for_a_project_that_is_there_nothing_is_said(alice: User) -> None:
    create_key("--project", "/home/alice/shop")
    assert create_key("--project", "/home/alice/shop")[1] == ""
    assert create_key()[1] == ""
    assert Project.objects.count() == 1


@pytest.mark.parametrize("path", ["", "x" * 513])
def test_what_is_no_path_makes_neither_key_nor_project(alice: User, path: str) -> None:
    with pytest.raises(CommandError, match="1 to 512 characters"):
        create_key("--project", path)
    assert not ApiKey.objects.exists()
    assert not Project.objects.exists()


@pytest.mark.parametrize("days", ["0", "-1", "3651", "99999999999"])
def test_a_key_for_no_time_or_for_ever_is_refused_in_a_sentence(alice: User, days: str) -> None:
    with pytest.raises(CommandError, match="after 1 to 3650 days"):
        create_key(f"--days={days}")
    assert not ApiKey.objects.exists()


def test_a_name_that_is_too_long_is_refused_in_a_sentence(alice: User) -> None:
    with pytest.raises(CommandError, match="at most 100 characters"):
        create_key("--name", "x" * 101)
    create_key("--name", "é" * 100)
    assert ApiKey.objects.get().name == "é" * 100
