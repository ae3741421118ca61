"""A spool's file that cannot be read: the error names it, and nothing in it is removed."""

from pathlib import Path

import pytest

from stillhere import Spool, SpoolError
from stillhere.spool import DamagedSpool
from tests.clients.python.conftest import PROJECT

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
