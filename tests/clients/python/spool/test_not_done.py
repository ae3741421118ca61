"""What the server answers and did not do: it is named, kept, and does not hold up the rest."""

import contextlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from stillhere import Client, Spool
from stillhere.spool.items import Item
from tests.browser.driving import wait_for
from tests.clients.python.gate import Gate
from tests.clients.python.spool.conftest import Texts, say

type NewSpool = Callable[[], Spool]
SEEN = [{"id": "q1", "role": "user", "text": "a question"}, {"id": "a1", "role": "assistant", "text": "an answer"}]


def codes(spool: Spool) -> list[str]:
    return [each.error["code"] for each in spool.refused()]


def test_an_append_behind_a_gap_is_kept(new_spool: NewSpool, client: Client, texts: Texts) -> None:
    spool = new_spool()
    begun = {"id": "m", "role": "assistant", "text": "Hello wor", "status": "streaming"}
    spool.save([begun], external_id="t")
    assert spool.flush()
    found = client.find_session("t")
    assert found is not None
    client.change(found.id, [{"op": "upsert", **begun, "text": "Hel", "if_ver": 1}])
    append = {"op": "append", "id": "m", "at": 9, "text": "ld, all of this"}
    spool.change([append], external_id="t")
    say(spool, 1)
    assert spool.flush()
    (refused,) = spool.refused()
    assert (refused.ops, refused.error["status"], refused.error["code"]) == ([append], 200, "conflict")
    assert refused.error["details"] == {"conflicts": [{"id": "m", "copy_id": None, "length": 3}]}
    assert texts("t") == ["Hel", "1"]


def test_changes_after_a_restart_are_done_or_named(new_spool: NewSpool, client: Client, texts: Texts) -> None:
    first = new_spool()
    first.save(SEEN, external_id="t")
    assert first.flush()
    first.close()
    spool = new_spool()
    edited = {**SEEN[0], "text": "another question"}
    changes = [{"op": "truncate", "after": "q1"}, {"op": "upsert", **edited}, {"op": "delete", "id": "a1"}]
    spool.change(changes, external_id="t")
    assert spool.flush()
    (refused,) = spool.refused()
    details = refused.error["details"]
    assert (refused.error["code"], details["spared"], [each["id"] for each in details["conflicts"]]) == (
        "conflict",
        ["a1"],
        ["q1", "a1"],
    )
    assert details["conflicts"][0]["copy_id"]
    assert texts("t") == [each["text"] for each in SEEN]
    found = client.find_session("t")
    assert found is not None
    spool.change(changes[:2], external_id="t", base_rev=found.rev)
    spool.save([{"id": "a2", "role": "assistant", "text": "new"}], external_id="t", base_rev=found.rev)
    spool.change(changes[2:], external_id="t")
    assert spool.flush()
    assert texts("t") == ["another question", "new"]
    spool.save([SEEN[1]], external_id="t")
    assert spool.flush()
    assert [each.error["details"] for each in spool.refused()[1:]] == [{"removed": ["a1"]}]


def test_unknown_fields_of_a_session_are_said_at_once_and_hold_up_nothing(
    new_spool: NewSpool, texts: Texts, tmp_path: Path
) -> None:
    spool = new_spool()
    with pytest.raises(TypeError, match="name"):
        spool.save([SEEN[0]], external_id="t", opening={"name": "typo"})
    spool.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "kept" / "spool.db", isolation_level=None)) as file:
        for opening, ops in (('{"name": "typo"}', json.dumps([])), ("{}", "[NaN]"), ("{}", "[")):
            values = (f"{spool._connection.url} {spool._connection.project}", opening, ops)
            file.execute(
                "INSERT INTO waiting (scope, external_id, opening, writer_id, seq, ops, made_at)"
                " VALUES (?, 'x', ?, 'w', 1, ?, 0)",
                values,
            )
    spool = new_spool()
    say(spool, 1)
    assert spool.flush(5)
    assert texts("t") == ["1"]
    with contextlib.closing(sqlite3.connect(tmp_path / "kept" / "spool.db")) as file:
        found = file.execute("SELECT refused FROM requests ORDER BY number").fetchall()
    assert [json.loads(refused)["code"] for (refused,) in found if refused] == ["unsendable"] * 3


def test_the_file_of_an_earlier_version_is_continued(new_spool: NewSpool, gate: Gate, texts: Texts, tmp_path: Path) -> None:
    """A program of that version which still runs cannot write to it: its numbers are those of the log."""
    gate.away = True
    spool = new_spool()
    say(spool, 1)
    spool.close(0)
    gate.away = False
    with contextlib.closing(sqlite3.connect(tmp_path / "kept" / "spool.db", isolation_level=None)) as file:
        file.execute("DROP VIEW requests")
        file.execute("ALTER TABLE waiting RENAME TO requests")
        file.execute("ALTER TABLE requests DROP COLUMN base_rev")
        spool = new_spool()
        say(spool, 2)
        assert spool.flush()
        assert texts("t") == ["1", "2"]
        with pytest.raises(sqlite3.OperationalError, match="view"):
            file.execute("INSERT INTO requests (scope) VALUES ('x')")


def test_an_error_of_the_client_does_not_end_the_sending(
    new_spool: NewSpool, texts: Texts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    spool = new_spool()
    send, failures = spool._sender.refusal_of, [OverflowError("a fault"), OverflowError("a fault")]

    def fails_twice(item: Item) -> object:
        if failures:
            raise failures.pop()
        return send(item)

    monkeypatch.setattr(spool._sender, "refusal_of", fails_twice)
    say(spool, 0, 1)
    assert spool.flush(10)
    assert texts("t") == ["0", "1"]
    assert sum("An error of the client" in each.getMessage() for each in caplog.records) == 1
    wait_for(lambda: spool.error is None)
