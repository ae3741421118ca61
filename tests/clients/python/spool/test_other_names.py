"""What waits for the same project by another name, as earlier versions wrote it down."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stillhere import Spool
from stillhere.spool.items import Item
from stillhere.spool.storage import Storage
from tests.clients.python.conftest import PROJECT
from tests.clients.python.gate import Gate
from tests.clients.python.spool.conftest import Texts, all_of, item, opened, waiting


def left(path: Path, scope: str, *texts: str) -> None:
    path.parent.mkdir(exist_ok=True)
    with opened(path, scope) as store:
        for number, text in enumerate(texts, 1):
            ops = f'[{{"op": "upsert", "id": "{text}", "role": "user", "text": "{text}"}}]'
            store.add([Item(0, None, "t", "{}", "former", 8192 * number, None, ops, 0)])


def test_it_is_sent_and_stays_refused(
    gate: Gate, tmp_path: Path, new_spool: Callable[[], Spool], texts: Texts, caplog: pytest.LogCaptureFixture
) -> None:
    path, former = tmp_path / "kept" / "spool.db", f"{gate.url} {PROJECT}//"
    left(path, former, "refused", "one", "two")
    with opened(path, former) as store:
        store.refuse(all_of(store)[0].number, {"status": 422, "code": "x", "message": "", "details": {}})
    spool = new_spool()
    assert spool.flush(10)
    assert texts("t") == ["one", "two"]
    assert [each.ops[0]["text"] for each in spool.refused()] == ["refused"]
    assert [record for record in caplog.records if record.levelname == "WARNING"] == []


def test_it_waits_behind_what_is_there(tmp_path: Path) -> None:
    """Another process, which has acknowledged all that it knows, forgets nothing of it."""
    path = tmp_path / "spool.db"
    with opened(path, "there") as former, opened(path, "here") as store, opened(path, "here") as other:
        for number in range(50):
            former.add([item(f"{number}.")])
        store.add([item("own")])
        last = all_of(other)[-1].number
        store.adopt("there")
        other.forget_up_to(last)
        assert waiting(store) == waiting(other) == [f"{number}." for number in range(50)]
        assert waiting(former) == []
        other.add([item("next")])
        assert waiting(store)[-1] == "next"


def test_of_another_project_it_is_told(
    gate: Gate, tmp_path: Path, new_spool: Callable[[], Spool], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kept" / "spool.db"
    left(path, f"{gate.url} /elsewhere/", "one")
    left(path, f"http://other.example {PROJECT}/", "two")
    present = time.time()
    monkeypatch.setattr(time, "time", lambda: present + 61)
    new_spool().close(0)
    assert "/elsewhere/" in caplog.text
    assert "http://other.example" in caplog.text
    with opened(path, f"{gate.url} /elsewhere/") as store:
        assert len(all_of(store)) == 1


def test_a_damaged_row_stays_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "spool.db"
    with opened(path, "there") as former:
        former.add([item("one")])
        former.forget_up_to(0)
        former._db.execute("UPDATE waiting SET ops = CAST(x'ff' AS TEXT)")
    store = Storage(path, "here")
    with pytest.raises(ValueError, match="cannot be stored"):
        store.adopt("there")
    assert store.other_scopes() == ["there"]
    store.close()
