"""Several objects and processes on the files of one spool, and what is interrupted in one of them."""

from pathlib import Path

import pytest

from stillhere.spool.items import DamagedSpool
from stillhere.spool.storage import Storage
from tests.clients.python.spool.conftest import LOG, SCOPES, item, opened, waiting


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "spool.db"


def test_all_names_of_a_file_have_one_log(path: Path, tmp_path: Path) -> None:
    with opened(path) as store:
        (tmp_path / "link.db").symlink_to(path)
        with opened(tmp_path / "link.db") as other:
            store.add([item("1")])
            other.add([item("2")])
            store.freeze(1, "s", 3)
            assert (waiting(store), waiting(other)) == (["1", "2"], ["1", "2"])
    assert not (tmp_path / "link.db-log").exists()


def test_a_wait_that_is_interrupted_locks_nobody_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by Ctrl-C: the transaction had begun."""
    with opened(path) as store, opened(path) as other:
        patiently = store._patiently

        def interrupted(sql: str, values: tuple[object, ...] = ()) -> object:
            result = patiently(sql, values)
            if sql.startswith("BEGIN"):
                raise KeyboardInterrupt
            return result

        monkeypatch.setattr(store, "_patiently", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.add([item("1")])
        monkeypatch.undo()
        other.add([item("2")])
        store.add([item("3")])
        assert waiting(store) == ["2", "3"]


def test_a_damaged_log_is_said_each_time_and_left(path: Path) -> None:
    with opened(path) as store:
        store.add([item("1")])
        log = path.parent / LOG
        damaged = b"\xff" + log.read_bytes()[1:]
        log.write_bytes(damaged)
        for use in (
            lambda: store.add([item("2")]),
            lambda: store.next_after(0),
            lambda: store.forget_up_to(1),
            lambda: store.add([]),
        ):
            with pytest.raises(DamagedSpool, match=LOG):
                use()
    with pytest.raises(DamagedSpool):
        Storage(path, SCOPES[0])
    assert log.read_bytes() == damaged
