"""A write whose rows changed between reading and locking them starts again, a bounded number of times."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User

from sessions_app.core.storage.transactions import ATTEMPTS, StaleRead, group_commits, write
from sessions_app.models import Project

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
