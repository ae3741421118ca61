"""Saves that wait on the disk."""

import contextlib
import itertools
import json
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stillhere import Client, Spool, SpoolError
from stillhere.spool import append_log
from stillhere.spool.items import Item
from stillhere.spool.other_scopes import STRANDED
from stillhere.spool.spool import UNSENT
from tests.browser.driving import wait_for
from tests.clients.python.conftest import PROJECT, SOURCE
from tests.clients.python.gate import Gate
from tests.clients.python.spool.conftest import Texts, lines_in, say
from tests.support.suite import is_patient

# Saves without an end, and says each number once it is on the disk.
SAVING = """
import itertools, sys
from stillhere import Spool
path, url, key, project = sys.argv[1:]
spool = Spool(path, url, key, project)
for number in itertools.count():
    spool.save([{"id": f"m{number}", "role": "user", "text": str(number)}], external_id="t")
    print(number, flush=True)
"""


def test_what_is_saved_while_the_server_is_away_is_sent_in_order(
    new_spool: Callable[[], Spool], gate: Gate, texts: Texts
) -> None:
    gate.away = True
    spool = new_spool()
    say(spool, *range(10))
    assert not spool.flush(0.1)
    assert spool.waiting == 10
    gate.away = False
    assert spool.flush()
    assert (texts("t"), spool.waiting, spool.refused()) == ([str(number) for number in range(10)], 0, [])


def test_another_process_sends_what_the_first_one_could_not(new_spool: Callable[[], Spool], gate: Gate, texts: Texts) -> None:
    gate.away = True
    first = new_spool()
    say(first, 0, 1)
    first.close(0)
    gate.away = False
    second = new_spool()
    say(second, 2)
    assert second.flush()
    assert texts("t") == ["0", "1", "2"]


def test_lost_answers_store_nothing_twice(new_spool: Callable[[], Spool], gate: Gate, texts: Texts) -> None:
    gate.next.extend(["lost"] * 4)
    spool = new_spool()
    say(spool, *range(5))
    assert spool.flush()
    assert texts("t") == ["0", "1", "2", "3", "4"]


def test_a_process_that_is_killed_loses_nothing(gate: Gate, secret: str, tmp_path: Path, client: Client, texts: Texts) -> None:
    path = tmp_path / "spool.db"
    for round in range(3 if is_patient() else 1):
        command = [sys.executable, "-c", SAVING, str(path), gate.url, secret, f"{PROJECT}-{round}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": str(SOURCE)}) as process:
            assert process.stdout is not None
            said = [int(next(process.stdout)) for _ in range(20)]
            process.send_signal(signal.SIGKILL)
            said += [int(line) for line in process.stdout]
        with (
            Spool(path, gate.url, secret, f"{PROJECT}-{round}") as spool,
            Client(gate.url, secret, f"{PROJECT}-{round}") as reader,
        ):
            assert spool.flush()
            session = reader.find_session("t")
            assert session is not None
            found = [int(each.text) for each in reader.read_messages(session.id, limit=200).items]
        # The newest 200. One more may be on the disk than was said.
        assert found in (said[-200:], [*said, len(said)][-200:])


def test_what_the_server_refuses_is_kept_and_does_not_hold_up_the_rest(
    new_spool: Callable[[], Spool], client: Client, texts: Texts
) -> None:
    spool = new_spool()
    deleted = client.create_session()
    client.delete_session(deleted.id)
    lost = {"id": "a", "role": "user", "text": "to nobody"}
    spool.save([lost], session=deleted.id)
    spool.save([{"id": "b", "role": "nobody", "text": "wrong"}, {"id": "c", "role": "user", "text": "right"}], external_id="t")
    say(spool, 1)
    assert spool.flush()
    assert texts("t") == ["right", "1"]
    gone, rejected = spool.refused()
    assert (gone.session, gone.ops, gone.error["code"]) == (deleted.id, [{"op": "upsert", **lost}], "session_deleted")
    assert (rejected.error["status"], rejected.error["details"]["rejected"][0]["id"]) == (200, "b")
    spool.discard(gone.number)
    assert [each.number for each in spool.refused()] == [rejected.number]


def test_a_save_after_a_clear_is_for_the_present_epoch(new_spool: Callable[[], Spool], client: Client, texts: Texts) -> None:
    spool = new_spool()
    say(spool, 0)
    assert spool.flush()
    found = client.find_session("t")
    assert found is not None
    client.clear(found.id)
    say(spool, 1, 2)
    assert spool.flush()
    assert texts("t") == ["2"]
    assert [each.error["code"] for each in spool.refused()] == ["stale_epoch"]
    assert spool.refused()[0].error["details"]["kept_copies"]


def test_the_file_is_private_and_has_no_key(new_spool: Callable[[], Spool], gate: Gate, secret: str, tmp_path: Path) -> None:
    gate.away = True
    say(new_spool(), 1)
    for file in (tmp_path / "kept").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert secret.encode() not in file.read_bytes()
    _, line = lines_in(tmp_path / "kept" / "spool.db-log").decode().splitlines()
    assert json.loads(json.loads(line.partition(" ")[2])[0][2][7])[0]["text"] == "1"


def test_what_cannot_wait_is_refused_at_once(new_spool: Callable[[], Spool]) -> None:
    spool = new_spool()
    with pytest.raises(ValueError, match="pop"):
        spool.change([{"op": "pop"}], external_id="t")
    with pytest.raises(ValueError, match="either"):
        spool.save([], external_id="t", session="s")
    with pytest.raises(ValueError, match="not empty"):
        spool.save([], external_id="")


def test_a_save_to_a_known_session_is_one_write_and_what_was_acknowledged_leaves_the_file(
    new_spool: Callable[[], Spool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = new_spool()
    say(spool, 0)
    assert spool.flush()
    log = tmp_path / "kept" / "spool.db-log"
    wait_for(lambda: log.read_bytes().count(b"\n") == 1)
    synced: list[int] = []
    monkeypatch.setattr(append_log, "_sync", lambda file: synced.append(log.read_bytes().count(b"\n")))
    statements: list[str] = []
    spool._storage._db.set_trace_callback(statements.append)
    say(spool, 1)
    assert synced == [2]  # With the new line in it.
    say(spool, *range(2, 21))
    assert len(synced) == 20
    assert spool.flush()
    wait_for(lambda: log.read_bytes().count(b"\n") == 1)
    written = [statement for statement in statements if statement.startswith("INSERT")]
    assert len(written) < 20
    assert not any(statement.startswith("UPDATE") for statement in statements)


def test_the_next_process_sends_it_where_it_belonged_when_it_was_saved(
    new_spool: Callable[[], Spool], gate: Gate, client: Client, texts: Texts
) -> None:
    """Although somebody cleared the session since: then it is late, as words of an open page are."""
    spool = new_spool()
    say(spool, 0)
    assert spool.flush()
    found = client.find_session("t")
    assert found is not None
    gate.away = True
    say(spool, 1)
    spool.close(seconds=0)
    gate.away = False
    client.clear(found.id)
    successor = new_spool()
    assert successor.flush()
    assert texts("t") == []
    assert [each.error["code"] for each in successor.refused()] == ["stale_epoch"]


def test_what_is_left_at_the_end_is_said(new_spool: Callable[[], Spool], gate: Gate, caplog: pytest.LogCaptureFixture) -> None:
    spool = new_spool()
    say(spool, 0)
    assert spool.flush()
    gate.away = True
    say(spool, 1, 2)
    spool.close(0)
    successor = new_spool()
    gate.away = False
    assert successor.flush()
    successor.close()
    (said,) = [each.getMessage() for each in caplog.records if each.msg == UNSENT]
    assert said.startswith(f"2 saves wait in {spool._storage.path}:")


def test_a_save_after_the_end_does_not_overtake_what_waits(new_spool: Callable[[], Spool], gate: Gate, texts: Texts) -> None:
    gate.away = True
    spool = new_spool()
    say(spool, 0)
    spool.close(0)
    gate.away = False
    with pytest.raises(SpoolError, match="closed"):
        say(spool, 1)
    assert new_spool().flush()
    assert texts("t") == ["0"]


@pytest.mark.slow
def test_a_silent_server_does_not_hold_a_close(new_spool: Callable[[], Spool], gate: Gate, texts: Texts) -> None:
    spool = new_spool()
    gate.silent = True
    say(spool, 1)
    wait_for(lambda: bool(gate.seen))
    begun = time.monotonic()
    try:
        spool.close(0.5)
        took = time.monotonic() - begun
    finally:
        gate.silent = False
    assert took < 5
    assert new_spool().flush()
    assert texts("t") == ["1"]


def test_a_server_that_is_away_is_asked_less_and_less(new_spool: Callable[[], Spool], gate: Gate) -> None:
    """Also while rows wait to leave the file."""
    spool = new_spool()
    say(spool, 0, 1, 2)
    assert spool.flush()
    gate.away = True
    gate.seen.clear()
    say(spool, 3)
    time.sleep(3.5 if is_patient() else 1.5)
    assert len(gate.seen) <= (10 if is_patient() else 7)


def test_a_flush_asks_a_server_that_is_away_once_a_second(new_spool: Callable[[], Spool], gate: Gate) -> None:
    gate.away = True
    spool = new_spool()
    say(spool, 0)
    assert not spool.flush(1)
    assert len(gate.seen) <= 7


def test_what_waits_for_another_address_is_said(
    new_spool: Callable[[], Spool], gate: Gate, secret: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gate.away = True
    first = new_spool()
    say(first, 0, 1)
    first.close(0)
    path, other = tmp_path / "kept" / "spool.db", gate.url.replace("127.0.0.1", "localhost")

    def warned() -> list[str]:
        caplog.clear()
        Spool(path, other, secret, "/home/alice/other agents").close(0)
        Spool(path, gate.url, secret, PROJECT).close(0)
        return [each.getMessage() for each in caplog.records if each.msg == STRANDED]

    assert warned() == []  # Perhaps another process is sending them.
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as file:
        file.execute("UPDATE waiting SET made_at = made_at - 61")
    (said,) = warned()
    assert said.startswith(f"2 requests in {path} wait for {gate.url} and its project {PROJECT}.")


def test_a_flush_waits_for_what_was_saved_before_it(new_spool: Callable[[], Spool], monkeypatch: pytest.MonkeyPatch) -> None:
    spool = new_spool()
    send = spool._sender.refusal_of
    numbers = itertools.count(1)
    saving, others_save = threading.Lock(), True

    def and_another_is_saved(item: Item) -> object:
        refusal = send(item)
        with saving:
            if others_save:
                say(spool, next(numbers))
        return refusal

    monkeypatch.setattr(spool._sender, "refusal_of", and_another_is_saved)
    say(spool, 0)
    assert spool.flush(5)
    with saving:  # From here on nothing is saved beside the flush, so it waits for everything.
        others_save = False
    assert spool.flush()
    assert spool.waiting == 0
