"""A disk that gets full before a save, or after its log took it."""

import sqlite3
from collections.abc import Callable

import pytest

from stillhere import Client, Spool, SpoolError
from tests.browser.driving import wait_for
from tests.clients.python.gate import Gate
from tests.clients.python.spool.conftest import Texts, full_disk, say


def test_a_full_disk(new_spool: Callable[[], Spool], gate: Gate, texts: Texts) -> None:
    """The server takes the save at once, after what waits. Without a server either, the caller is told."""
    gate.away = True
    spool = new_spool()
    say(spool, 0)
    long = "x" * 50_000
    with full_disk(spool):
        with pytest.raises(SpoolError):
            spool.save([{"id": "long", "role": "user", "text": long}], external_id="t")
        gate.away = False
        spool.save([{"id": "long", "role": "user", "text": long}], external_id="t")
        assert texts("t") == ["0", long]
    say(spool, 2)
    assert spool.flush()
    assert texts("t") == ["0", long, "2"]


def test_what_the_log_took_is_sent_although_the_table_takes_nothing(
    new_spool: Callable[[], Spool], gate: Gate, texts: Texts
) -> None:
    gate.away = True
    spool = new_spool()
    say(spool, 0, 1)
    with full_disk(spool):
        gate.away = False
        assert spool.flush()
        assert (texts("t"), spool.waiting) == (["0", "1"], 0)
    say(spool, 2)
    assert spool.flush()
    assert texts("t") == ["0", "1", "2"]


def test_a_refusal_is_written_down_once_there_is_room(new_spool: Callable[[], Spool], client: Client, texts: Texts) -> None:
    """Until then what was saved behind it waits."""
    deleted = client.create_session()
    client.delete_session(deleted.id)
    spool = new_spool()
    say(spool, 0)
    assert spool.flush()
    storage = spool._storage
    (pages,) = storage._db.execute("PRAGMA page_count").fetchone()
    storage._db.execute(f"PRAGMA max_page_count = {pages}").fetchone()
    spool.save([{"id": "long", "role": "user", "text": "x" * 50_000}], session=deleted.id)
    say(spool, 1)
    wait_for(lambda: isinstance(spool.error, sqlite3.Error))
    assert (spool.refused(), texts("t")) == ([], ["0"])
    storage._db.execute("PRAGMA max_page_count = 100000").fetchone()
    assert spool.flush()
    (refused,) = spool.refused()
    assert (refused.error["code"], refused.ops[0]["id"]) == ("session_deleted", "long")
    assert texts("t") == ["0", "1"]
