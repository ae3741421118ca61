"""Writes of many threads that share a commit: who is in it, and what becomes of each when one of them breaks it."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, OperationalError, connection, transaction

from sessions_app.core.storage.transactions import (
    LARGE_BYTES,
    MOST_IN_A_GROUP,
    _waiting,
    group_commits,
    groups_commits,
    write,
    writes_for,
)
from sessions_app.models import Project
from tests.support.databases import ON_POSTGRESQL

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]
SECONDS = 10


@pytest.fixture(autouse=True)
def grouped() -> Iterator[None]:
    """As in the server."""
    group_commits()
    yield
    group_commits(together=False)


class Crowd:
    """Threads that want to write while another one writes."""

    def __init__(self) -> None:
        self.go, self.began = threading.Event(), threading.Event()
        self.outcomes: dict[int, Any] = {}
        self.threads = [self._thread(-1, self._hold)]
        self.threads[0].start()
        assert self.began.wait(SECONDS)

    def _hold(self) -> str:
        self.began.set()
        assert self.go.wait(SECONDS)
        return "held"

    def _thread(self, number: int, work: Callable[[], Any], body_bytes: int = 0) -> threading.Thread:
        def run() -> None:
            try:
                with writes_for(body_bytes):
                    self.outcomes[number] = write(work)
            except BaseException as error:
                self.outcomes[number] = error
            finally:
                connection.close()

        return threading.Thread(target=run, name=f"writer {number}")

    def come(self, *works: Callable[[], Any], body_bytes: int = 0) -> None:
        """One after the other; each waits before the next one comes."""
        for work in works:
            thread = self._thread(len(self.threads) - 1, work, body_bytes)
            self.threads.append(thread)
            waiting = len(_waiting)
            thread.start()
            until = time.monotonic() + SECONDS
            while len(_waiting) == waiting:
                assert time.monotonic() < until
                time.sleep(0.001)

    def finish(self) -> list[Any]:
        """What became of each that came."""
        self.go.set()
        for thread in self.threads:
            thread.join(SECONDS)
            assert not thread.is_alive()
        assert self.outcomes.pop(-1) == "held"
        return [outcome for _, outcome in sorted(self.outcomes.items())]


@pytest.fixture
def make(alice: User) -> Callable[[str], Callable[[], str]]:
    """Work that makes a project of this path."""

    def of(path: str) -> Callable[[], str]:
        return lambda: Project.objects.create(owner=alice, path=path).path

    return of


def paths() -> list[str]:
    return sorted(Project.objects.values_list("path", flat=True))


def test_only_the_server_on_sqlite_groups() -> None:
    assert groups_commits() is not ON_POSTGRESQL
    group_commits(together=False)
    assert groups_commits() is False


def test_one_alone_is_written_and_gets_its_result(make: Any, commits: list[str]) -> None:
    assert [write(make(path)) for path in ("/a", "/b")] == ["/a", "/b"]
    assert (paths(), len(commits)) == (["/a", "/b"], 2)


def test_one_alone_that_fails_writes_nothing(make: Any) -> None:
    def fails() -> None:
        make("/a")()
        raise LookupError

    with pytest.raises(LookupError):
        write(fails)
    assert write(make("/b")) == "/b"
    assert paths() == ["/b"]


def test_inside_a_transaction_it_is_a_part_of_that_one(make: Any) -> None:
    with transaction.atomic():
        assert write(make("/a")) == "/a"
        transaction.set_rollback(True)
    assert paths() == []


def test_all_that_wait_are_written_in_one_commit_and_each_gets_its_own(make: Any, commits: list[str]) -> None:
    crowd = Crowd()
    crowd.come(*(make(f"/{number}") for number in range(5)))
    assert crowd.finish() == [f"/{number}" for number in range(5)]
    assert paths() == [f"/{number}" for number in range(5)]
    assert commits == ["writer -1", "writer 0"]


def test_more_than_a_group_are_more_groups(make: Any, commits: list[str]) -> None:
    crowd = Crowd()
    names = [f"/{number:03}" for number in range(MOST_IN_A_GROUP + 2)]
    crowd.come(*map(make, names))
    assert crowd.finish() == names
    assert commits == ["writer -1", "writer 0", f"writer {MOST_IN_A_GROUP}"]


def test_a_group_has_one_large_write_at_most(make: Any, commits: list[str]) -> None:
    """Of three large ones that came before it a small one waits for the first alone."""
    crowd = Crowd()
    crowd.come(make("/small 0"))
    crowd.come(make("/large 1"), make("/large 2"), body_bytes=LARGE_BYTES + 1)
    crowd.come(make("/small 3"), body_bytes=LARGE_BYTES)
    crowd.come(make("/large 4"), body_bytes=LARGE_BYTES + 1)
    crowd.come(make("/small 5"))
    assert crowd.finish() == ["/small 0", "/large 1", "/large 2", "/small 3", "/large 4", "/small 5"]
    assert list(Project.objects.order_by("created_at").values_list("path", flat=True)) == [
        *("/small 0", "/large 1", "/small 3", "/small 5"),
        "/large 2",
        "/large 4",
    ]
    assert commits == ["writer -1", "writer 0", "writer 2", "writer 4"]


def test_an_error_is_its_own_s_alone(make: Any, commits: list[str]) -> None:
    def fails() -> None:
        make("/half")()
        raise LookupError

    crowd = Crowd()
    crowd.come(make("/a"), fails, make("/a"), make("/b"))
    first, failed, twice, last = crowd.finish()
    assert (first, last, type(failed), type(twice)) == ("/a", "/b", LookupError, IntegrityError)
    assert (paths(), len(commits)) == (["/a", "/b"], 2)


def breaking_once(make: Any) -> tuple[Callable[[], str], list[str]]:
    """Work that breaks the transaction at its first try, and its tries."""
    tries: list[str] = []

    def breaks() -> str:
        """As when the disk is full for a moment: SQLite takes all back by itself."""
        tries.append("breaks")
        if len(tries) == 1:
            connection.cursor().execute("ROLLBACK")
            raise LookupError
        return str(make("/broke once")())

    return breaks, tries


def test_where_one_breaks_the_transaction_each_is_tried_alone(make: Any, commits: list[str]) -> None:
    breaks, tries = breaking_once(make)
    crowd = Crowd()
    crowd.come(make("/a"), breaks, make("/b"))
    assert crowd.finish() == ["/a", "/broke once", "/b"]
    assert (paths(), len(tries)) == (["/a", "/b", "/broke once"], 2)


def test_one_that_is_broken_off_takes_its_group_along_and_nobody_waits_for_ever(make: Any) -> None:
    def stops() -> None:
        raise KeyboardInterrupt

    crowd = Crowd()
    crowd.come(make("/a"), stops, make("/b"))
    first, *others = crowd.finish()
    assert isinstance(first, KeyboardInterrupt)
    assert [(type(other), str(other)) for other in others] == [(RuntimeError, "The write was interrupted.")] * 2
    assert paths() == []
    assert write(make("/c")) == "/c"


def test_one_that_is_broken_off_when_each_is_tried_alone_does_not_count_as_written(make: Any) -> None:
    breaks, _ = breaking_once(make)

    def stops() -> None:
        make("/half")()
        raise KeyboardInterrupt

    crowd = Crowd()
    crowd.come(make("/a"), breaks, stops, make("/b"))
    first, broke_once, stopped, not_run = crowd.finish()
    assert (type(first), broke_once) == (KeyboardInterrupt, "/broke once")
    assert [str(stopped), str(not_run)] == ["The write was interrupted.", "The write was not run."]
    assert paths() == ["/a", "/broke once"]


def test_a_group_that_finds_the_database_busy_is_not_run_and_each_is_told(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy() -> None:
        raise OperationalError("database is locked")

    crowd = Crowd()
    crowd.come(*(make(f"/{number}") for number in range(3)))
    with monkeypatch.context() as patched:
        patched.setattr("sessions_app.core.storage.transactions.transaction.atomic", busy)
        outcomes = crowd.finish()
    assert [(type(each), str(each)) for each in outcomes] == [(OperationalError, "database is locked")] * 3
    assert len({id(each) for each in outcomes}) == 3
    assert write(make("/later")) == "/later"
    assert paths() == ["/later"]
