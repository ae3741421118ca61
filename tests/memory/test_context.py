"""load_session_context: all that a new run should know, in the order and the size that were asked for."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory_app.models import ErrorReport, MemoryEntry
from sessions_app.core.public_names import now
from sessions_app.models import AiState, Handoff, Project
from tests.memory.conftest import Memory
from tests.support.chat import Chat

SECTIONS = ["baselines", "api_schema", "noise", "errors", "performance", "handoff", "session", "ai_states"]
MANY = 15
FIXED_ORDER = ["project", "session_count", *SECTIONS, "omitted", "skipped"]


def rule(number: int, source: str) -> dict[str, Any]:
    return {"id": f"r{number}", "pattern": f"noise {number}", "kind": "substring", "source": source, "enabled": True}


def record(memory: Memory, *messages: str) -> list[str]:
    answer = memory.api.post(memory.address("errors"), {"errors": [{"message": message} for message in messages]})
    return list(answer.json()["fingerprints"])


def measure(memory: Memory, endpoint: str, duration: float) -> None:
    run = memory.start()["run_id"]
    sent = {"samples": [{"endpoint": endpoint, "duration_ms": duration}]}
    memory.api.post(memory.address("performance"), sent, **{"Stillhere-Run": run})
    memory.run(run, "end")


def chat_in(memory: Memory) -> Chat:
    path = memory.api.get(f"/projects/{memory.project}").json()["path"]
    return Chat(memory.api, project=path)


def word(number: int) -> str:
    """Words, since numbers are folded into one fingerprint."""
    return "".join(chr(ord("a") + number // 26**place % 26) for place in range(4))


def fill(memory: Memory, many: int) -> Chat:
    """Something in every section, `many` items where it has items."""
    for number in range(many):
        memory.put(f"baselines/page-{number}", {"status": 200})
    memory.put("api_schema/schema", {"endpoints": [{"path": f"/{number}"} for number in range(many)]})
    memory.put("noise/config", {"rules": [rule(number, "auto" if number else "manual") for number in range(many)]})
    record(memory, *(f"it broke in {word(number)}" for number in range(many)))
    for number in range(many):
        memory.api.post(memory.address("handoff/decisions"), {"text": f"decision {number}", "rationale": "because" * 9})
    memory.api.post(memory.address("handoff/freeze"))
    chat = chat_in(memory)
    for number in range(many):
        memory.api.put(f"/sessions/{chat.id}/ai-states/ai-{number}", {"working_notes": f"note {number}" * 9})
    for duration in (10, 500):
        measure(memory, "GET /cart", duration)
    return chat


def load(memory: Memory, budget: int | None = None, **headers: str) -> Any:
    return memory.api.get(memory.address("context" if budget is None else f"context?budget={budget}"), **headers)


def test_everything_is_there_in_its_order(memory: Memory, django_capture_on_commit_callbacks: Any) -> None:
    chat, capture = fill(memory, 3), django_capture_on_commit_callbacks
    [resolved] = record(memory, "it broke otherwise")
    memory.api.post(memory.address(f"errors/{resolved}/resolve"), {"known_fix": "restart it"})
    with capture(execute=True):
        record(memory, "noise 1 again", "noise 2 again")
    answer = load(memory)
    assert answer.status_code == 200
    found = answer.json()
    assert list(found) == FIXED_ORDER
    assert (found["project"]["id"], found["session_count"]) == (memory.project, 2)
    assert found["baselines"] == {"count": 3, "names": ["page-0", "page-1", "page-2"]}
    assert found["api_schema"]["endpoint_count"] == 3
    assert found["api_schema"]["updated_at"] is not None
    assert found["noise"] == {"total": 3, "auto": 2, "manual": 1, "filtered": 2}
    assert {error["message"] for error in found["errors"]["unresolved"]} == {f"it broke in {word(n)}" for n in range(3)}
    assert all(error["count"] == 1 for error in found["errors"]["unresolved"])
    assert [error["known_fix"] for error in found["errors"]["resolved"]] == ["restart it"]
    assert found["performance"]["endpoints"] == 1
    [slow] = found["performance"]["degraded"]
    assert (slow["endpoint"], slow["run"], slow["p95_ms"], slow["earlier_p95_ms"]) == ("GET /cart", 2, 500, 10)
    assert [item["text"] for item in found["handoff"]["live"]["decisions"]] == [f"decision {n}" for n in range(3)]
    assert found["handoff"]["frozen"]["number"] == 1
    assert found["session"]["id"] == chat.id
    assert [state["ai_id"] for state in found["ai_states"]] == ["ai-0", "ai-1", "ai-2"]
    assert found["omitted"] == found["skipped"] == []


def test_errors_resolved_more_than_a_week_ago_are_left_out(memory: Memory) -> None:
    fingerprints = record(memory, "one kind", "another kind")
    for fingerprint, days in zip(fingerprints, (6.9, 7.1), strict=True):
        memory.api.post(memory.address(f"errors/{fingerprint}/resolve"))
        ErrorReport.objects.filter(fingerprint=fingerprint).update(resolved_at=now() - timedelta(days=days))
    assert [error["fingerprint"] for error in load(memory).json()["errors"]["resolved"]] == fingerprints[:1]


@pytest.mark.parametrize("budget", [700, 1_500])
def test_the_answer_keeps_its_budget_and_links_to_the_rest(memory: Memory, budget: int) -> None:
    fill(memory, MANY)
    whole = load(memory, 100_000).json()
    answer = load(memory, budget)
    assert len(answer.content) <= budget * 4
    found = answer.json()
    assert list(found) == FIXED_ORDER
    assert found["baselines"]["count"] == MANY
    kept = {
        "baselines": len(found["baselines"]["names"]),
        "errors": len(found["errors"]["unresolved"]),
        "handoff": len(found["handoff"]["live"]["decisions"]),
        "ai_states": len(found["ai_states"]),
    }
    left_out = {item["section"]: item["count"] for item in found["omitted"]}
    assert left_out == {section: MANY - count for section, count in kept.items() if count < MANY}
    assert left_out["errors"] > 0
    assert whole["omitted"] == []
    for item in found["omitted"]:
        linked = memory.api.get(item["href"].removeprefix("/api/v1"))
        assert linked.status_code == 200
    # Nobody takes all the room.
    assert all(kept.values())


def test_room_that_one_section_does_not_need_goes_to_the_others(memory: Memory) -> None:
    record(memory, *(f"it broke in {word(number)}" for number in range(100)))
    assert len(load(memory, 2_000).json()["errors"]["unresolved"]) > 25


def test_counts_stay_however_small_the_budget_is(memory: Memory) -> None:
    fill(memory, 3)
    found = load(memory, 100).json()
    assert found["baselines"] == {"count": 3, "names": []}
    assert found["errors"] == {"unresolved": [], "resolved": []}
    assert [item["section"] for item in found["omitted"]] == ["baselines", "errors", "performance", "handoff", "ai_states"]
    assert load(memory, 99).status_code == 422


def test_what_is_too_large_lets_the_smaller_pass(memory: Memory) -> None:
    chat = chat_in(memory)
    memory.api.put(f"/sessions/{chat.id}/ai-states/a", {"working_notes": "x" * 50_000})
    memory.api.put(f"/sessions/{chat.id}/ai-states/b", {"working_notes": "short"})
    found = load(memory, 2_000).json()
    assert [state["ai_id"] for state in found["ai_states"]] == ["b"]
    assert [(item["section"], item["count"]) for item in found["omitted"]] == [("ai_states", 1)]


def statements(memory: Memory, **headers: str) -> int:
    with CaptureQueriesContext(connection) as caught:
        assert load(memory, 100_000, **headers).status_code in {200, 304}
    return len(caught)


def test_how_much_there_is_costs_no_statement(memory: Memory) -> None:
    few, many = Memory(memory.api, "/few"), Memory(memory.api, "/many")
    fill(few, 1)
    fill(many, MANY)
    load(memory)
    assert statements(few) == statements(many) <= 18
    assert statements(many, **{"If-None-Match": load(many)["ETag"]}) <= 6


def test_a_run_that_knows_it_gets_304_until_something_changes(memory: Memory, django_capture_on_commit_callbacks: Any) -> None:
    chat = fill(memory, 2)
    fingerprint = record(memory, "it broke otherwise")[0]
    memory.api.post(memory.address(f"errors/{fingerprint}/resolve"))
    changes: list[Callable[[], Any]] = [
        lambda: memory.put("baselines/new", {}),
        lambda: memory.delete("baselines/new"),
        lambda: record(memory, "noise 1 again"),
        lambda: memory.api.patch(f"/sessions/{chat.id}", {"title": "Renamed"}),
        lambda: memory.api.patch(f"/projects/{memory.project}", {"name": "Renamed"}),
        lambda: memory.api.put(f"/sessions/{chat.id}/ai-states/ai-0", {"working_notes": "new"}),
        lambda: memory.api.patch(memory.address("handoff"), {"summary": "new"}),
        lambda: ErrorReport.objects.filter(fingerprint=fingerprint).update(resolved_at=now() - timedelta(days=8)),
        lambda: memory.start(),
        lambda: ErrorReport.objects.exclude(fingerprint=fingerprint).update(last_seen=now() - timedelta(days=31)),
    ]
    for number, change in enumerate(changes):
        known = load(memory)["ETag"]
        same = load(memory, **{"If-None-Match": known})
        assert (same.status_code, same.content) == (304, b"")
        with django_capture_on_commit_callbacks(execute=True):
            change()
        assert load(memory, **{"If-None-Match": known}).status_code == 200, number


def test_a_project_that_was_never_used(memory: Memory) -> None:
    found = load(memory).json()
    assert found["session_count"] == 1
    assert {section: found[section] for section in SECTIONS} == {
        "baselines": {"count": 0, "names": []},
        "api_schema": {"endpoint_count": 0, "updated_at": None},
        "noise": {"total": 0, "auto": 0, "manual": 0, "filtered": 0},
        "errors": {"unresolved": [], "resolved": []},
        "performance": {"endpoints": 0, "degraded": []},
        "handoff": None,
        "session": None,
        "ai_states": [],
    }
    assert found["omitted"] == found["skipped"] == []


@pytest.mark.parametrize("damaged", ["{not json", "[]", '{"rules": 3, "endpoints": {}}'])
def test_damaged_entries_are_named_and_as_if_they_were_not_there(memory: Memory, damaged: str) -> None:
    fill(memory, 2)
    MemoryEntry.objects.filter(namespace__in=["noise", "api_schema"]).update(value=damaged)
    found = load(memory).json()
    assert found["skipped"] == [{"namespace": "api_schema", "key": "schema"}, {"namespace": "noise", "key": "config"}]
    assert found["noise"]["total"] == found["api_schema"]["endpoint_count"] == 0
    assert found["baselines"]["count"] == 2


def test_a_current_session_in_the_trash_is_none(memory: Memory) -> None:
    chat = chat_in(memory)
    memory.api.delete(f"/sessions/{chat.id}")
    assert load(memory).json()["session"] is None
    Project.objects.update(current_session=chat.id)
    assert load(memory).json()["session"] is None


def test_no_secret_is_in_it(memory: Memory) -> None:
    """Not even one that the store should never have got."""
    secret = "sh_" + "k3Y" * 16 + "z"
    chat = fill(memory, 1)
    memory.api.patch(f"/sessions/{chat.id}", {"title": f"about {secret}"})
    record(memory, f"refused: {secret}")
    AiState.objects.update(content=json.dumps({"working_notes": f"use {secret}"}))
    Handoff.objects.update(content=json.dumps({"summary": f"key: {secret}", "decisions": [{"id": "d", "text": secret}]}))
    answer = load(memory)
    assert secret not in answer.content.decode()
    assert answer.content.count(b"[REDACTED:stillhere_key]") == 5
