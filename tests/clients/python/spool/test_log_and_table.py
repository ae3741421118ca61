"""A request moves from a spool's log to its table, or leaves both. Each waits exactly once, in its order, whatever happens."""

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from stillhere.spool import append_log, storage
from stillhere.spool.append_log import AppendLog, Entry
from stillhere.spool.items import Item
from stillhere.spool.storage import Storage
from tests.clients.python.spool.conftest import LOG, SCOPES, SESSIONS, all_of, item, lines_in, opened, waiting
from tests.support.suite import is_patient


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "spool.db"


class Killed(BaseException):
    """As a process that is killed: nothing of ours runs after it."""


def kill(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], object], owner: object = AppendLog) -> None:
    def killed(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(owner, name, killed)
    with pytest.raises(Killed):
        act()
    monkeypatch.undo()


def test_a_move_that_is_cut_off_is_done_or_not(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as store, opened(path, SCOPES[1]) as other:
        store.add([item("1"), item("2")])
        other.add([item("x")])
        kill(monkeypatch, "empty", lambda: store.freeze(1, "s", 4))
        assert (waiting(store), waiting(other)) == (["1", "2"], ["x"])
        store.add([item("3")])  # Behind lines that are in the table too.
        assert waiting(store) == ["1", "2", "3"]
        other.forget_up_to(3)
        assert (waiting(store), waiting(other)) == (["1", "2", "3"], [])
    with opened(path) as store:
        assert waiting(store) == ["1", "2", "3"]
        (first,) = store.next_after(0)
        assert (first.session, first.epoch) == ("s", 4)


def test_the_log_without_its_latest_first_line_loses_nothing(path: Path) -> None:
    """The power went before that was on the disk: the numbers go on behind those of the table."""
    with opened(path) as store:
        store.add([item("1")])
        old = (path.parent / LOG).read_bytes()
        store.add([item("2"), item("3")])
        store.refuse(3, {"code": "no"})
        store.forget_up_to(2)
    (path.parent / LOG).write_bytes(old)
    with opened(path) as store:
        assert waiting(store) == []
        store.add([item("4")])
        assert waiting(store) == ["4"]
        assert [each.number for each in store.refused()] == [3]


def test_an_acknowledged_number_is_not_given_away_twice(path: Path) -> None:
    """A process passes over what is not above the last number that it has sent."""
    with opened(path) as store, opened(path) as other:
        store.add([item("1"), item("2"), item("3")])
        other.forget_up_to(3)
        store.add([item("4")])
        (found,) = other.next_after(3)
        assert (found.ops, found.number) == ("4", 4)
        other.forget_up_to(4)
    with opened(path) as successor:
        successor.add([item("5")])
        assert [each.ops for each in successor.next_after(4)] == ["5"]


def test_a_long_log_moves_to_the_table(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "LONGEST_LOG", 2_000)
    texts = [f"{number} {'x' * 100}" for number in range(50)]
    with opened(path) as store:
        for text in texts:
            store.add([item(text)])
        assert len(lines_in(path.parent / LOG)) > 2_000
        assert waiting(store) == texts
        assert len(lines_in(path.parent / LOG)) < 100


def test_a_table_that_takes_nothing_leaves_everything_in_the_log(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(path) as store:
        store.add([item("1"), item("2")])
        (pages,) = store._db.execute("PRAGMA page_count").fetchone()
        store._db.execute(f"PRAGMA max_page_count = {pages}").fetchone()
        monkeypatch.setattr(storage, "LONGEST_LOG", 10)
        store.add([item("3" * 100_000)])
        with pytest.raises(sqlite3.Error):
            store.freeze(1, "s", 4)
        assert waiting(store) == ["1", "2", "3" * 100_000]
        store.forget_up_to(3)
        assert waiting(store) == []
        assert (path.parent / LOG).stat().st_size < 100


def test_a_fork_has_files_of_its_own(path: Path) -> None:
    with opened(path) as store:
        store.add([item("1")])
        parents, parents_log = store._db, store._log._file
        store.renew()
        store.add([item("2")])
        assert waiting(store) == ["1", "2"]
        assert store._db is not parents
        assert store._log._file is not parents_log
        parents.close()


class History:
    """Random acts of some processes, some of which are killed, on one file; and what should wait by scope."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.random = path, random.Random(seed)
        self.expected: dict[str, list[str]] = {scope: [] for scope in SCOPES}
        self.refused: dict[str, list[str]] = {scope: [] for scope in SCOPES}
        self.stores = [Storage(path, self.random.choice(SCOPES)) for _ in range(3)]
        self.said = 0

    def step(self) -> None:
        store = self.random.choice(self.stores)
        acts = [self.add, self.add, self.add, self.acknowledge, self.refuse, self.remove, self.freeze, self.restart, self.cut_off]
        self.random.choice(acts)(store)
        self.check(self.random.choice(self.stores))

    def check(self, store: Storage) -> None:
        assert waiting(store) == self.expected[store._scope]
        found = all_of(store)
        above, last = (self.random.choice([0, *(each.number for each in found)]) for _ in range(2))
        but = set(self.random.sample(["s", *SESSIONS], self.random.randint(0, 2)))
        session = self.random.choice([None, *SESSIONS])
        behind = [each for each in found if each.number > above]
        others = [each for each in behind if each.session not in but and each.external_id not in but]
        assert store.count_after(above) == len(behind)
        some = store.next_after(above, but)
        assert some == others[: len(some)]
        assert bool(some) == bool(others)
        numbers = [each.number for each in others if each.number <= last and session in {None, each.external_id}]
        assert store.last_after(above, session, last, but) == (numbers[-1] if numbers else None)
        assert [each.ops[0]["damaged"] for each in store.refused()] == self.refused[store._scope]

    def add(self, store: Storage) -> None:
        texts = [f"{self.said + number}x" for number in range(self.random.randint(1, 3))]
        self.said += len(texts)
        store.add([item(text, self.random.choice(SESSIONS)) for text in texts])
        self.expected[store._scope] += texts

    def acknowledge(self, store: Storage) -> None:
        count = self.random.randint(0, len(self.expected[store._scope]))
        store.forget_up_to(all_of(store)[count - 1].number if count else 0)
        del self.expected[store._scope][:count]

    def one(self, store: Storage) -> Item | None:
        found = all_of(store)
        return self.random.choice(found) if found else None

    def refuse(self, store: Storage) -> None:
        if (found := self.one(store)) is not None:
            store.refuse(found.number, {"code": "no"})
            self.expected[store._scope].remove(found.ops)
            self.refused[store._scope] = sorted([*self.refused[store._scope], found.ops], key=lambda text: int(text[:-1]))

    def remove(self, store: Storage) -> None:
        if (found := self.one(store)) is not None:
            store.remove(found.number)
            self.expected[store._scope].remove(found.ops)

    def freeze(self, store: Storage) -> None:
        if (found := self.one(store)) is not None:
            store.freeze(found.number, "s", 3)

    def restart(self, store: Storage) -> None:
        """Killed, perhaps while it moves or empties the log."""
        place = self.random.choice(["", "empty", "_clear", "_forget"])
        with pytest.MonkeyPatch.context() as patch, suppress(Killed):
            if place:
                kill(patch, place, partial(self.moved_and_killed, store))
        store.close()
        self.stores.remove(store)
        self.stores.append(Storage(self.path, self.random.choice(SCOPES)))

    @staticmethod
    def moved_and_killed(store: Storage) -> None:
        store._move()
        raise Killed

    def cut_off(self, store: Storage) -> None:
        """A process died while it added something, or the disk was full."""
        if self.random.random() < 0.5:
            with store._log.path.open("r+b") as file:
                file.seek(len(lines_in(store._log.path)))
                next_line = append_log._line([Entry(store._scope, 1.5, item(f"{self.said}x")._replace(number=self.said))])
                rests = [b"\0" * 50, next_line[: self.random.randrange(len(next_line))], next_line[:-1] + b"?", b"words\nmore\n"]
                rests.append(b"\0" * 30 + rests[-1])
                file.write(self.random.choice(rests) if file.tell() else append_log._head(0)[: self.random.randrange(40)])
            return
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(append_log, "_sync", lambda file: (_ for _ in ()).throw(OSError(28, "No space left on device")))
            with pytest.raises(sqlite3.Error, match="No space"):
                store.add([item("not stored")])


@pytest.mark.parametrize("first", range(0, 200 if is_patient() else 40, 20))
def test_random_histories(path: Path, first: int, subtests: pytest.Subtests) -> None:
    for seed in range(first, first + 20):
        with subtests.test(seed=seed):
            history = History(path, seed)
            try:
                for _ in range(40):
                    history.step()
            finally:
                for store in history.stores:
                    store.close()
            with opened(path) as store:
                history.check(store)
        shutil.rmtree(path.parent)
