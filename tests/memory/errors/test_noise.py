"""Noise rules: in force from the write that stores them, harmless whatever their pattern, and counted for their lifetime."""

import time
import uuid
from typing import Any

import pytest
from django.db import transaction

from memory_app.errors import services as error_services
from memory_app.errors.noise import filtering
from memory_app.errors.noise.queries import filtered_by_rule
from memory_app.errors.services import NewError, make_batch
from memory_app.key_value.entries.entry_validation import MOST_RULES
from memory_app.models import ErrorReport, FilteredCount, MemoryEntry
from tests.memory.conftest import Memory
from tests.memory.errors.test_errors import record
from tests.support.suite import first_of


@pytest.fixture(autouse=True)
def committed_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most tests' transaction never commits: what waits for the commit happens now."""
    if "shared" not in request.fixturenames:
        monkeypatch.setattr(transaction, "on_commit", lambda act, **options: act())


def rule(pattern: str, kind: str = "substring", **fields: Any) -> dict[str, Any]:
    return {"id": pattern[:20], "pattern": pattern, "kind": kind, "source": "manual", "enabled": True} | fields


def use(memory: Memory, *rules: dict[str, Any]) -> None:
    assert memory.put("noise/config", {"rules": list(rules)}).status_code in {200, 201}


def messages(*texts: str) -> list[dict[str, Any]]:
    return [{"message": text} for text in texts]


def test_what_a_rule_matches_is_counted_and_not_stored(memory: Memory) -> None:
    use(memory, rule("favicon"), rule(r"^HTTP \d+$", "regex", id="http", source="auto"))
    recorded = record(memory, *messages("no favicon.ico", "HTTP 404", "HTTP 404!", "real"))
    assert (recorded["recorded"], recorded["filtered"]) == (2, 2)
    assert [fingerprint is None for fingerprint in recorded["fingerprints"]] == [True, True, False, False]
    assert set(ErrorReport.objects.values_list("message", flat=True)) == {"HTTP 404!", "real"}
    record(memory, *messages("HTTP 500"))
    assert filtered_by_rule(uuid.UUID(memory.project)) == {"favicon": 1, "http": 2}


def test_a_rule_looks_at_the_message_and_at_kind_and_message_but_not_at_the_stack(memory: Memory) -> None:
    use(memory, rule("^TypeError: x", "regex"), rule("timeout"))
    stack = [{"file": "a.js", "function": "timeout"}]
    recorded = record(memory, {"message": "x", "kind": "TypeError"}, {"message": "x"}, {"message": "real", "stack": stack})
    assert [fingerprint is None for fingerprint in recorded["fingerprints"]] == [True, False, False]


def test_a_disabled_rule_matches_nothing(memory: Memory) -> None:
    use(memory, rule("noise", enabled=False))
    assert record(memory, *messages("noise"))["filtered"] == 0


def test_a_rule_is_in_force_from_its_write_until_the_write_that_takes_it_out(memory: Memory) -> None:
    assert record(memory, *messages("one"))["filtered"] == 0
    for pattern in ("one", "two", "one"):
        use(memory, rule(pattern))
        recorded = record(memory, *messages("one", "two"))
        assert [fingerprint is None for fingerprint in recorded["fingerprints"]] == [pattern == "one", pattern == "two"]
    memory.delete("noise/config")
    assert record(memory, *messages("one"))["filtered"] == 0


def test_a_batch_that_is_only_noise_changes_and_tells_nothing(memory: Memory) -> None:
    use(memory, rule("n"))
    told = memory.api.get(memory.address("events?since=0")).json()["items"]
    assert record(memory, *messages("n"))["recorded"] == 0
    assert memory.api.get(memory.address("events?since=0")).json()["items"] == told
    assert memory.get("errors/history").status_code == 404


def test_a_filtered_error_that_is_known_does_not_count_up(memory: Memory) -> None:
    record(memory, *messages("noise"))
    use(memory, rule("noise"))
    record(memory, *messages("noise"))
    assert ErrorReport.objects.get().count == 1


@pytest.mark.parametrize("pattern", ["(a", "(?=a)b", r"(a)\1", r"((\pL{300}){300}){3}", "a" * 1_001, "[z-a]"])
def test_a_pattern_that_cannot_be_used_is_refused_when_it_is_stored(memory: Memory, pattern: str) -> None:
    refused = memory.put("noise/config", {"rules": [rule("fine"), rule(pattern, "regex", id="bad")]})
    assert refused.status_code == 422
    error = refused.json()["error"]
    assert (error["code"], error["details"]["field"][:7]) == ("wrong_shape", "rules.1")
    assert memory.get("noise/config").status_code == 404


def test_there_are_not_too_many_rules(memory: Memory) -> None:
    many = [rule(f"pattern {number}") for number in range(MOST_RULES)]
    assert memory.put("noise/config", {"rules": many}).status_code == 201
    assert memory.put("noise/config", {"rules": [*many, rule("one more")]}).status_code == 422


PATTERNS = ("(a+)+$", "(?:a?){90}a{90}b", "(a|a)*b", "(.*a){20}x", "((a{30}){30})x")


@pytest.mark.parametrize("pattern", first_of(PATTERNS, 1))
def test_a_hostile_pattern_stalls_nothing(memory: Memory, pattern: str) -> None:
    """With backtracking the first of these takes longer than the world is old."""
    use(memory, *[rule(pattern, "regex", id=f"r{number}") for number in range(MOST_RULES)])
    hostile = ["a" * 1_900 + "!" + "z" * number for number in range(50)]
    began = time.thread_time()
    recorded = record(memory, *messages(*hostile))
    assert time.thread_time() - began < filtering.SECONDS + 1.5
    assert recorded["recorded"] == 50


def test_hostile_rules_that_come_with_a_run_s_end_do_not_hold_the_lock(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filtering, "SECONDS", 0.5)
    run = memory.start()
    rules = [rule("((a{30}){30})x", "regex", id=f"r{number}") for number in range(MOST_RULES - 1)]
    config = {"namespace": "noise", "key": "config", "value": {"rules": [*rules, rule("plain")]}}
    hostile = messages(*["a" * 1_900 + "!" + "z" * number for number in range(50)], "plain")
    given: list[float] = []
    sift = filtering.Rules.sift

    def watched(rules: filtering.Rules, errors: Any, seconds: float) -> list[str | None]:
        given.append(seconds)
        return sift(rules, errors, seconds)

    monkeypatch.setattr(filtering.Rules, "sift", watched)
    ended = memory.run(run["run_id"], "end", {"entries": [config], "errors": hostile})
    assert (ended.json()["filtered"], ended.json()["recorded"]) == (1, 50)
    assert given == [0.5], "before anything was locked, and then no more"


def test_rules_that_changed_meanwhile_are_asked_again_but_not_for_long(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    use(memory, rule("old"))
    batch = make_batch(uuid.UUID(memory.project), [NewError("new"), NewError("old")])
    monkeypatch.setattr(error_services, "make_batch", lambda *known: batch)
    use(memory, rule("new"))
    recorded = record(memory, *messages("new", "old"))
    assert [fingerprint is None for fingerprint in recorded["fingerprints"]] == [True, False]
    monkeypatch.setattr(filtering, "SECONDS_LOCKED", -1.0)
    use(memory, rule("old", "regex"), rule("new"))
    assert record(memory, *messages("new", "old"))["filtered"] == 1


def test_when_the_time_is_over_plain_rules_are_still_asked(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filtering, "SECONDS", -1.0)
    use(memory, rule("^slow", "regex"), rule("plain"))
    recorded = record(memory, *messages("slow", "plain"))
    assert [fingerprint is None for fingerprint in recorded["fingerprints"]] == [False, True]


def test_counts_wait_in_memory_and_are_stored_once(memory: Memory) -> None:
    use(memory, rule("n"))
    record(memory, *messages("n1", "n2"))
    assert not FilteredCount.objects.exists()
    assert filtered_by_rule(uuid.UUID(memory.project)) == {"n": 2}
    filtering.flush_filtered()
    filtering.flush_filtered()
    assert FilteredCount.objects.get().count == 2
    record(memory, *messages("n3"))
    assert filtered_by_rule(uuid.UUID(memory.project)) == {"n": 3}
    filtering.flush_filtered()
    assert FilteredCount.objects.get().count == 3


def test_a_store_that_refuses_leaves_the_counts_waiting(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    use(memory, rule("n"))
    record(memory, *messages("n"))

    def refuse(work: Any) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(filtering, "write", refuse)
        with pytest.raises(OSError, match="disk full"):
            filtering.flush_filtered()
    filtering.flush_filtered()
    assert FilteredCount.objects.get().count == 1


def test_counts_of_a_purged_project_go_with_it(memory: Memory) -> None:
    use(memory, rule("n"))
    record(memory, *messages("n"))
    assert memory.api.delete(f"/projects/{memory.project}?purge=1").status_code == 204
    filtering.flush_filtered()
    assert not FilteredCount.objects.exists()
    assert filtered_by_rule(uuid.UUID(memory.project)) == {}


@pytest.mark.parametrize("value", ["{", "[]", '{"rules": 5}', '{"rules": [5, {}, {"enabled": true, "kind": "regex", "id": 1}]}'])
def test_damaged_rules_are_no_rules(memory: Memory, value: str) -> None:
    use(memory, rule("n"))
    MemoryEntry.objects.filter(namespace="noise").update(value=value, rev=77)
    assert record(memory, *messages("n"))["recorded"] == 1


class Undone(Exception):
    pass


def test_rules_of_a_write_that_was_undone_are_forgotten(shared: Memory) -> None:
    """The rev that was rolled back is given again, to other rules."""

    def store_use_and_fail() -> None:
        with transaction.atomic():
            use(shared, rule("one"))
            assert record(shared, *messages("one"))["filtered"] == 1
            raise Undone

    with pytest.raises(Undone):
        store_use_and_fail()
    use(shared, rule("two"))
    assert shared.get("noise/config").json()["rev"] == 1
    recorded = record(shared, *messages("one", "two"))
    assert [fingerprint is None for fingerprint in recorded["fingerprints"]] == [False, True]
    assert filtered_by_rule(uuid.UUID(shared.project)) == {"two": 1}
