"""Saves at which the server fails each time: they hold up their own session, and no other one."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stillhere import Client, Spool, SpoolError, StillhereError
from stillhere.claude_agent import StillhereSessionStore
from tests.browser.driving import wait_for
from tests.clients.python.conftest import PROJECT
from tests.clients.python.gate import Gate
from tests.clients.python.spool.conftest import Texts, full_disk, say
from tests.support.suite import first_of

type NewSpool = Callable[[], Spool]
TEXTS = ["before", "poison", "behind it"]


def fail_at_poison(gate: Gate, status: int = 500) -> None:
    gate.own_refusal = lambda body: status if b"poison" in body else None


def save_poison(spool: Spool, **place: str) -> None:
    for text in TEXTS:
        spool.save([{"id": text, "role": "user", "text": text}], **(place or {"external_id": "bad"}))  # type: ignore[arg-type]


@pytest.mark.parametrize("status", first_of([500, 502, 504], 1))
def test_other_sessions_go_on(new_spool: NewSpool, gate: Gate, texts: Texts, status: int, tmp_path: Path) -> None:
    fail_at_poison(gate, status)
    spool = new_spool()
    save_poison(spool)
    say(spool, 0)
    wait_for(lambda: texts("t") == ["0"])
    say(spool, 1)
    wait_for(lambda: texts("t") == ["0", "1"])
    assert (texts("bad"), spool.refused()) == (["before"], [])
    spool.close(0)
    successor = new_spool()
    say(successor, 2)
    wait_for(lambda: texts("t") == ["0", "1", "2"])
    wait_for(lambda: successor.waiting == 2)
    gate.own_refusal = lambda body: None
    say(successor, 3)
    assert successor.flush()
    assert (texts("bad"), texts("t"), successor.refused()) == (TEXTS, ["0", "1", "2", "3"], [])


def test_it_is_said_once_and_a_flush_ends(new_spool: NewSpool, gate: Gate, caplog: pytest.LogCaptureFixture) -> None:
    fail_at_poison(gate)
    spool = new_spool()
    save_poison(spool)
    assert not spool.flush(20)
    assert spool.is_held_up
    assert isinstance(spool.error, StillhereError)
    assert spool.error.status == 500
    say(spool, 0)
    assert spool.flush(external_id="t")
    assert not spool.flush(20, external_id="bad")
    warned = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert len([each for each in warned if "fails at a save to the session bad" in each]) == 1
    gate.own_refusal = lambda body: None
    assert spool.flush()
    wait_for(lambda: spool.error is None)
    assert not new_spool().is_held_up


def test_a_session_that_is_named_in_both_ways_keeps_its_order(
    new_spool: NewSpool, gate: Gate, client: Client, texts: Texts
) -> None:
    fail_at_poison(gate)
    session = client.open_session("bad").id
    spool = new_spool()
    save_poison(spool)
    spool.save([{"id": "last", "role": "user", "text": "last"}], session=session)
    say(spool, 0)
    wait_for(lambda: texts("t") == ["0"])
    assert texts("bad") == ["before"]
    gate.own_refusal = lambda body: None
    assert spool.flush()
    assert texts("bad") == [*TEXTS, "last"]


def test_what_waits_behind_it_is_for_the_epoch_after_a_clear(
    new_spool: NewSpool, gate: Gate, client: Client, texts: Texts
) -> None:
    fail_at_poison(gate)
    spool = new_spool()
    save_poison(spool)
    say(spool, 0)
    assert spool.flush(external_id="t")
    found = client.find_session("bad")
    assert found is not None
    client.clear(found.id)
    gate.own_refusal = lambda body: None
    assert spool.flush()
    assert texts("bad") == ["behind it"]
    assert [each.error["code"] for each in spool.refused()] == ["stale_epoch"]


def test_a_server_that_fails_at_everything_is_asked_less_and_less(new_spool: NewSpool, gate: Gate) -> None:
    gate.own_refusal = lambda body: 500
    spool = new_spool()
    for number in range(20):
        spool.save([{"id": "m", "role": "user", "text": "x"}], external_id=f"t{number}")
    gate.seen.clear()  # A save may cut a pause short.
    assert not spool.flush(1.5)
    assert len(gate.seen) <= 20
    assert not spool.is_held_up


def test_nobody_else_waits_as_long_as_the_failure_asks(new_spool: NewSpool, gate: Gate, texts: Texts) -> None:
    gate.next.extend(["passed", "passed", (500, 60)])
    spool = new_spool()
    spool.save([{"id": "m", "role": "user", "text": "failed"}], external_id="bad")
    wait_for(lambda: isinstance(spool.error, StillhereError) and spool.error.status == 500)
    say(spool, 0)
    wait_for(lambda: texts("t") == ["0"])
    wait_for(lambda: texts("bad") == ["failed"])


def test_a_full_disk_holds_up_no_other_session(new_spool: NewSpool, gate: Gate, texts: Texts) -> None:
    fail_at_poison(gate)
    spool = new_spool()
    save_poison(spool)
    assert not spool.flush(20)
    long = "x" * 50_000
    with full_disk(spool):
        spool.save([{"id": "long", "role": "user", "text": long}], external_id="t")
        assert texts("t") == [long]
        with pytest.raises(SpoolError):
            spool.save([{"id": "long", "role": "user", "text": long}], external_id="bad")
    gate.own_refusal = lambda body: None
    assert spool.flush()
    assert texts("bad") == TEXTS


def test_transcripts_of_other_sessions_are_read(gate: Gate, secret: str, tmp_path: Path) -> None:
    fail_at_poison(gate)

    def key(session: str) -> Any:
        return {"project_key": "p", "session_id": session}

    def entry(text: str) -> Any:
        return {"type": "user", "uuid": text, "message": {"role": "user", "content": text}}

    with StillhereSessionStore(gate.url, secret, PROJECT, spool=tmp_path / "spool.db") as store:
        asyncio.run(store.append(key("bad"), [entry("poison")]))
        asyncio.run(store.append(key("good"), [entry("words")]))
        assert asyncio.run(store.load(key("good"))) == [entry("words")]
        assert "good" in [each["session_id"] for each in asyncio.run(store.list_sessions("p"))]
        with pytest.raises(Exception, match="500"):
            asyncio.run(store.load(key("bad")))
        gate.own_refusal = lambda body: None
        assert asyncio.run(store.load(key("bad"))) == [entry("poison")]
