"""A write whose rows changed between reading and locking them starts again, a bounded number of times."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError

from sessions_app.core.callers import caller_of_user
from sessions_app.core.storage.transactions import ATTEMPTS, StaleRead, group_commits, write
from sessions_app.models import Project
from sessions_app.projects.services import create_project

pytestmark = [pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """As on PostgreSQL, where such reads happen."""
    group_commits(together=False)
    yield
    group_commits(together=False)


class Stale:
    """Work that makes a project and finds so many times that what it read is stale."""

    def __init__(self, owner: User, times: int) -> None:
        self.owner, self.times, self.tries = owner, times, 0

    def __call__(self) -> str:
        self.tries += 1
        made = Project.objects.create(owner=self.owner, path=f"/{self.tries}")
        if self.tries <= self.times:
            raise StaleRead
        return made.path


def paths() -> list[str]:
    return list(Project.objects.values_list("path", flat=True))


def test_only_the_last_attempt_is_written(alice: User) -> None:
    assert write(Stale(alice, ATTEMPTS - 1)) == f"/{ATTEMPTS}"
    assert paths() == [f"/{ATTEMPTS}"]


def test_one_that_is_always_stale_is_given_up(alice: User) -> None:
    work = Stale(alice, ATTEMPTS)
    with pytest.raises(StaleRead) as given_up:
        write(work)
    assert given_up.value.retry_after == 1
    assert work.tries == ATTEMPTS
    assert paths() == []


def test_what_the_database_refuses_for_good_is_not_tried_again(alice: User) -> None:
    tries: list[str] = []

    def work() -> None:
        tries.append("tried")
        Project.objects.create(owner=alice, path="/taken")

    write(work)
    with pytest.raises(IntegrityError):
        write(work)
    assert len(tries) == 2


def test_a_path_that_was_taken_and_is_free_again_gets_its_project(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody created one there and deleted it, between the look for it and the next one."""
    create, taken = Project.objects.create, iter([IntegrityError()])

    def make(**fields: Any) -> Project:
        for error in taken:
            raise error
        return create(**fields)

    monkeypatch.setattr(Project.objects, "create", make)
    project, is_new = create_project(caller=caller_of_user(alice), path="/new")
    assert (project.path, is_new, paths()) == ("/new", True, ["/new"])


class Violation(Exception):
    """As PostgreSQL's driver names what was violated."""

    def __init__(self, sqlstate: str) -> None:
        self.sqlstate = sqlstate


@pytest.mark.parametrize(("sqlstate", "attempts"), [("23503", 2), ("23505", 1)])
def test_what_refers_to_a_row_that_was_erased_is_tried_again(sqlstate: str, attempts: int) -> None:
    """Not what breaks another rule, as that a value is there once."""
    tries = list[int]()

    def work() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise IntegrityError from Violation(sqlstate)
        return "done"

    if attempts == 1:
        with pytest.raises(IntegrityError):
            write(work)
    else:
        assert write(work) == "done"
    assert len(tries) == attempts
