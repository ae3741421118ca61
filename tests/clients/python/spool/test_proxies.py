"""Proxies that refuse a save by a page of their own: the others go on."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from stillhere import Spool
from stillhere.spool.sender import LEVELS, SEQ_STEP
from tests.clients.python.gate import Gate
from tests.clients.python.spool.conftest import Texts, say
from tests.support.suite import first_of

type NewSpool = Callable[[], Spool]


def messages(*texts: str) -> list[dict[str, Any]]:
    return [{"id": text[:4], "role": "user", "text": text} for text in texts]


def test_a_save_that_a_proxy_takes_for_too_large_is_sent_in_halves(new_spool: NewSpool, gate: Gate, texts: Texts) -> None:
    gate.own_refusal = lambda body: 413 if len(body) > 5_000 else None
    gate.next.extend(["passed", "passed", "passed", "lost"])
    all_texts = [f"{number:04} {'x' * 900}" for number in range(20)]
    spool = new_spool()
    spool.save(messages(*all_texts), external_id="t")
    # In its number it is later than all of them.
    spool.save([{"id": "0019", "role": "user", "text": "edited"}], external_id="t")
    assert spool.flush()
    assert (texts("t"), spool.refused()) == ([*all_texts[:19], "edited"], [])


def test_what_is_too_large_alone_is_named(new_spool: NewSpool, gate: Gate, texts: Texts) -> None:
    gate.own_refusal = lambda body: 413 if len(body) > 5_000 else None
    spool = new_spool()
    spool.save(messages("0000", "0001" * 2_000, "0002"), external_id="t")
    spool.save(messages("0003" * 2_000), external_id="t")
    say(spool, 1)
    assert spool.flush()
    assert texts("t") == ["0000", "0002", "1"]
    part, whole = [each.error for each in spool.refused()]
    ((rejected,), message) = part["details"]["rejected"], whole["message"]
    assert (part["status"], part["code"]) == (200, "rejected")
    assert (rejected["id"], rejected["index"], rejected["reason"]) == ("0001", 1, "too_large")
    assert (whole["status"], whole["code"], "proxy" in message) == (413, "too_large", True)


def test_halves_have_numbers_of_their_own() -> None:
    assert 499 * LEVELS + (500).bit_length() < SEQ_STEP
    assert (500).bit_length() < LEVELS


@pytest.mark.parametrize("status", first_of([403, 400, 404], 1))
def test_a_firewall_that_refuses_one_save(new_spool: NewSpool, gate: Gate, texts: Texts, status: int) -> None:
    gate.own_refusal = lambda body: status if b"DROP TABLE" in body else None
    spool = new_spool()
    spool.save(messages("DROP TABLE sessions"), external_id="t")
    say(spool, 1)
    assert spool.flush(5)
    assert texts("t") == ["1"]
    assert [(each.error["status"], each.error["code"]) for each in spool.refused()] == [(status, "refused_by_proxy")]


@pytest.mark.parametrize("status", first_of([401, 502, 404, 429], 2))
def test_a_proxy_whose_server_is_away(new_spool: NewSpool, gate: Gate, texts: Texts, status: int) -> None:
    spool = new_spool()
    say(spool, 0)
    assert spool.flush()
    gate.own_refusal = lambda body: status
    say(spool, 1)
    assert not spool.flush(0.2)
    assert spool.refused() == []
    gate.own_refusal = lambda body: None
    assert spool.flush()
    assert texts("t") == ["0", "1"]


def test_a_refusal_on_its_way_is_no_answer_to_a_later_flush(new_spool: NewSpool, gate: Gate, texts: Texts) -> None:
    spool, arrives, goes_on = new_spool(), threading.Event(), threading.Event()

    def signed_out(body: bytes) -> int:
        arrives.set()
        goes_on.wait(20)
        return 401

    gate.own_refusal = signed_out
    say(spool, 0)
    assert arrives.wait(20)
    gate.own_refusal = lambda body: None
    with ThreadPoolExecutor(1) as pool:
        flushed = pool.submit(spool.flush)
        time.sleep(0.3)
        goes_on.set()
        assert flushed.result()
    assert texts("t") == ["0"]
