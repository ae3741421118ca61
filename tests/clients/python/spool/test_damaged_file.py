"""A spool's file that cannot be read: the error names it, and nothing in it is removed."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stillhere import Spool, SpoolError
from stillhere.claude_agent import StillhereSessionStore
from stillhere.spool import DamagedSpool
from tests.clients.python.conftest import PROJECT
from tests.clients.python.gate import Gate
from tests.clients.python.spool.conftest import Texts, say
from tests.support.suite import first_of

DAMAGES = ["'['", "x'ff'", "CAST(x'5b7b226964223a20ff227d5d' AS TEXT)", "17"]
NOWHERE = "http://127.0.0.1:9"


def test_a_file_that_is_no_spool_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "spool.db"
    path.write_bytes(b"somebody's words " * 1_000)
    with pytest.raises(DamagedSpool) as refused:
        Spool(path, NOWHERE, "sh_key", PROJECT)
    assert str(path) in str(refused.value)
    assert "Move it away" in str(refused.value)
    assert isinstance(refused.value, SpoolError)
    assert path.read_bytes() == b"somebody's words " * 1_000


def test_a_file_that_is_damaged_while_it_is_used(tmp_path: Path) -> None:
    path = tmp_path / "spool.db"
    spool = Spool(path, NOWHERE, "sh_key", PROJECT)
    spool.save([{"role": "user", "text": "one"}], external_id="t")
    damaged = b"\xff" * path.stat().st_size
    with path.open("r+b") as file:
        file.write(damaged)
    for use in (lambda: spool.save([{"role": "user", "text": "two"}], external_id="t"), spool.refused, lambda: spool.waiting):
        with pytest.raises(DamagedSpool, match=r"spool\.db is damaged"):
            use()
    with pytest.raises(DamagedSpool):
        spool.close(0)
    assert not any(thread.is_alive() for thread in [spool._thread] if thread is not None)
    assert path.read_bytes() == damaged


@pytest.mark.parametrize("damage", first_of(DAMAGES, 2))
def test_a_damaged_row_is_named_and_holds_up_nothing(
    new_spool: Callable[[], Spool], gate: Gate, texts: Texts, tmp_path: Path, damage: str
) -> None:
    gate.away = True
    first = new_spool()
    say(first, 0, 1)
    first.close(0)
    with contextlib.closing(sqlite3.connect(tmp_path / "kept" / "spool.db", isolation_level=None)) as file:
        file.execute(f"UPDATE waiting SET ops = {damage} WHERE number = 1")
    gate.away = False
    spool = new_spool()
    assert spool.flush(5)
    assert texts("t") == ["1"]
    (refused,) = spool.refused()
    assert (refused.error["code"], list(refused.ops[0])) == ("unsendable", ["damaged"])
    store = StillhereSessionStore(gate.url, spool._connection._headers["Authorization"][7:], PROJECT, spool=spool._storage.path)
    key: Any = {"project_key": "p", "session_id": "s"}
    entry: Any = {"type": "user", "uuid": "u", "message": {"role": "user", "content": "x"}}
    asyncio.run(store.append(key, [entry]))
    assert asyncio.run(store.load(key)) == [entry]
    store.close()
