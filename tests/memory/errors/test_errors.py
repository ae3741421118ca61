"""Errors: one row an error, counted up, reopened, resolved; the newest five hundred."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from memory_app.errors import services
from memory_app.models import ErrorReport
from sessions_app.core.public_names import now, rfc3339
from tests.memory.conftest import Memory

FRAME = {"file": "shop/cart.py", "function": "add", "line": 3}
BOOM: dict[str, Any] = {"message": "user 7 not found", "kind": "KeyError", "stack": [FRAME]}


def record(memory: Memory, *errors: dict[str, Any], **headers: str) -> dict[str, Any]:
    answer = memory.api.post(memory.address("errors"), {"errors": list(errors)}, **headers)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def errors_of(memory: Memory, query: str = "") -> list[dict[str, Any]]:
    return list(memory.api.get(memory.address(f"errors{query}")).json()["items"])


def resolve(memory: Memory, fingerprint: str, **body: str) -> Any:
    return memory.api.post(memory.address(f"errors/{fingerprint}/resolve"), body)


def ago(**time: float) -> str:
    return rfc3339(now() - timedelta(**time))


def test_a_recorded_error_is_read_as_it_was_told(memory: Memory) -> None:
    recorded = record(memory, BOOM)
    assert (recorded["recorded"], recorded["new"], recorded["filtered"]) == (1, 1, 0)
    fingerprint = recorded["fingerprints"][0]
    error = memory.api.get(memory.address(f"errors/{fingerprint}")).json()
    assert {name: error[name] for name in ("message", "kind", "stack")} == BOOM
    assert (error["state"], error["count"], error["resolved_at"], error["known_fix"]) == ("unresolved", 1, None, "")
    assert error["top_frame"] == FRAME
    assert error["first_seen"] == error["last_seen"]
    listed = errors_of(memory)
    assert [item["fingerprint"] for item in listed] == [fingerprint]
    assert "stack" not in listed[0]


def test_the_same_error_counts_up_and_tells_its_newest_form(memory: Memory) -> None:
    record(memory, {**BOOM, "at": ago(hours=2)}, {**BOOM, "message": "user 8 not found", "at": ago(hours=1)})
    again = record(memory, {**BOOM, "message": "user 9 not found", "at": ago(hours=3)})
    assert (again["recorded"], again["new"]) == (1, 0)
    error = errors_of(memory)[0]
    assert (error["count"], error["message"]) == (3, "user 8 not found")
    assert datetime.fromisoformat(error["last_seen"]) - datetime.fromisoformat(error["first_seen"]) > timedelta(hours=1.9)


def test_a_report_of_an_occurrence_before_the_resolve_reopens_nothing(memory: Memory) -> None:
    before = rfc3339(now() - timedelta(minutes=1))
    fingerprint = record(memory, BOOM)["fingerprints"][0]
    resolve(memory, fingerprint)
    assert record(memory, {**BOOM, "at": before})["reopened"] == 0
    error = memory.api.get(memory.address(f"errors/{fingerprint}")).json()
    assert (error["state"], error["count"], error["reopened_at"]) == ("resolved", 2, None)
    assert record(memory, {**BOOM, "at": before}, BOOM)["reopened"] == 1


def test_a_resolved_error_is_reopened_when_it_is_seen_again(memory: Memory) -> None:
    fingerprint = record(memory, BOOM)["fingerprints"][0]
    record(memory, {"message": "other"})
    resolved = resolve(memory, fingerprint, known_fix="make the user first; password=hunter2hunter2")
    assert resolved.json()["state"] == "resolved"
    assert resolved.json()["redacted"] == {"password": 1}
    assert "hunter2" not in ErrorReport.objects.get(fingerprint=fingerprint).known_fix
    assert [error["fingerprint"] for error in errors_of(memory, "?state=resolved")] == [fingerprint]
    assert len(errors_of(memory, "?state=unresolved")) == 1
    assert record(memory, BOOM)["reopened"] == 1
    error = memory.api.get(memory.address(f"errors/{fingerprint}")).json()
    assert (error["state"], error["resolved_at"], error["count"]) == ("unresolved", None, 2)
    assert error["known_fix"].startswith("make the user first")


def test_a_fix_is_kept_when_it_is_resolved_again_without_one(memory: Memory) -> None:
    fingerprint = record(memory, BOOM)["fingerprints"][0]
    first = resolve(memory, fingerprint, known_fix="restart").json()
    second = resolve(memory, fingerprint).json()
    assert second["known_fix"] == "restart"
    assert second["resolved_at"] == first["resolved_at"]


def test_what_is_not_there_cannot_be_resolved(memory: Memory) -> None:
    assert resolve(memory, "0" * 32).status_code == 404
    assert memory.api.get(memory.address("errors/" + "0" * 32)).status_code == 404


@pytest.mark.parametrize(
    "error", [{}, {"message": 1}, {"message": "m", "stack": 5}, {"message": "m", "stack": ["x"]}, {"message": "m", "at": "now"}]
)
def test_what_is_no_error_is_refused_whole(memory: Memory, error: dict[str, Any]) -> None:
    refused = memory.api.post(memory.address("errors"), {"errors": [BOOM, error]})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid")
    assert errors_of(memory) == []


def test_a_batch_has_five_hundred(memory: Memory) -> None:
    assert memory.api.post(memory.address("errors"), {"errors": [{"message": "m"}] * 501}).status_code == 422
    recorded = record(memory, *[{"message": "same"}] * 500)
    assert (recorded["recorded"], recorded["new"]) == (500, 1)
    assert errors_of(memory)[0]["count"] == 500


def test_secrets_do_not_reach_the_store(memory: Memory) -> None:
    secret = "ghp_" + "a1B2" * 9
    told = {
        "message": f"push with {secret} failed",
        "stack": f'  File "a.py", line 1, in f\n    login(password="{secret}x")\nE: Authorization: Bearer {secret}',
    }
    recorded = record(memory, told, {"message": "m", "stack": [{"file": f"https://ana:{secret}@host/x.js", "function": "f"}]})
    assert sum(recorded["redacted"].values()) == 4
    assert secret not in json.dumps(list(ErrorReport.objects.values()), default=str)


def test_long_ones_are_cut_in_the_middle(memory: Memory) -> None:
    stack = (
        'Traceback\n  File "first.py", line 1, in first\n' + "    x\n" * 20_000 + '  File "last.py", line 2, in last\nE: end\n'
    )
    fingerprint = record(memory, {"message": "a" * 50_000 + "end", "stack": stack})["fingerprints"][0]
    error = memory.api.get(memory.address(f"errors/{fingerprint}")).json()
    assert len(error["message"]) <= services.MESSAGE_LENGTH
    assert error["message"].endswith("end")
    assert len(error["stack"]) <= services.STACK_LENGTH
    assert error["top_frame"]["function"] == "last"


@pytest.mark.parametrize(
    "stack",
    [
        f'  File "a.py", line {"9" * 5_000}, in f\n',
        f"    at f (a.js:{'9' * 30}:1)\n",
        [{"file": "a" * 100_000, "function": "f" * 100_000, "line": 2**53}],
        [{"file": None, "function": None, "line": None}] * 2_000,
        [],
        "\x00\ud800",
    ],
)
def test_no_stack_is_too_odd(memory: Memory, stack: Any) -> None:
    fingerprint = record(memory, {"message": "", "kind": "K" * 100_000, "stack": stack})["fingerprints"][0]
    assert memory.api.get(memory.address(f"errors/{fingerprint}")).status_code == 200
    assert errors_of(memory)[0]["count"] == 1


def test_a_page_s_sparkline_has_fourteen_days(memory: Memory) -> None:
    record(memory, *[{**BOOM, "at": ago(days=days)} for days in (0, 0, 1, 13, 20)])
    days = errors_of(memory)[0]["days"]
    assert days == [1] + [0] * 11 + [1, 2]
    assert errors_of(memory)[0]["count"] == 5


def test_a_time_to_come_is_now(memory: Memory) -> None:
    record(memory, {**BOOM, "at": "2999-01-01T00:00:00Z"})
    assert datetime.fromisoformat(errors_of(memory)[0]["last_seen"]) <= now()


def test_a_list_goes_on_where_a_page_ended(memory: Memory) -> None:
    moment = ago(minutes=5)
    record(memory, *[{"message": f"error {'x' * number}", "at": moment} for number in range(7)], {"message": "newest"})
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = memory.api.get(memory.address(f"errors?limit=3&cursor={cursor}")).json()
        seen += [error["fingerprint"] for error in page["items"]]
        cursor = page["next"]
    assert len(seen) == len(set(seen)) == 8
    assert memory.api.get(memory.address("errors?state=open")).status_code == 422


def test_a_batch_is_told_once_without_its_content(memory: Memory) -> None:
    fingerprint = record(memory, BOOM, {"message": "between us"})["fingerprints"][0]
    resolve(memory, fingerprint)
    told = memory.api.get(memory.address("events?since=0")).json()["items"]
    assert [event["type"] for event in told] == ["ERROR_RECORDED", "MEMORY_CHANGED"]
    assert told[0]["data"] == {"recorded": 2, "new": 2, "reopened": 0, "rev": 1}
    assert "between us" not in json.dumps(told)


def test_errors_are_under_the_lease(memory: Memory) -> None:
    fingerprint = record(memory, BOOM)["fingerprints"][0]
    run = memory.start()
    for refused in (
        memory.api.post(memory.address("errors"), {"errors": [BOOM]}),
        memory.api.post(memory.address(f"errors/{fingerprint}/resolve"), {}),
    ):
        assert (refused.status_code, refused.json()["error"]["details"]["holder"]["run_id"]) == (423, run["run_id"])
    assert record(memory, BOOM, **{"Stillhere-Run": run["run_id"]})["recorded"] == 1
    assert errors_of(memory)[0]["count"] == 2


def test_the_history_is_an_entry_that_nobody_writes(memory: Memory) -> None:
    assert memory.get("errors/history").status_code == 404
    memory.put("errors/a-note", 1)
    fingerprint = record(memory, BOOM)["fingerprints"][0]
    got = memory.get("errors/history")
    assert [error["fingerprint"] for error in got.json()["value"]["errors"]] == [fingerprint]
    assert got.json()["value"]["errors"][0]["count"] == 1
    assert memory.get("errors/history", **{"If-None-Match": got["ETag"]}).status_code == 304
    record(memory, BOOM)
    assert memory.get("errors/history", **{"If-None-Match": got["ETag"]}).status_code == 200
    keys = memory.get("errors").json()["items"]
    assert [item["key"] for item in keys] == ["a-note", "history"]
    assert memory.get("errors?prefix=h").json()["items"] == keys[1:]
    assert memory.get("errors?limit=1").json() == {"items": keys[:1], "next": "a-note"}
    assert memory.get("errors?cursor=a-note").json()["items"] == keys[1:]
    namespaces = memory.api.get(memory.address("memory")).json()["items"]
    assert [(item["namespace"], item["count"]) for item in namespaces] == [("errors", 2)]
    assert memory.put("errors/history", {}).json()["error"]["code"] == "generated"


def test_errors_are_their_project_s_alone(memory: Memory, api: Callable[..., Any], bob: User) -> None:
    fingerprint = record(memory, BOOM)["fingerprints"][0]
    other = Memory(api(bob), "other")
    assert errors_of(other) == []
    assert other.api.get(memory.address("errors")).status_code == 404
    assert other.api.get(memory.address(f"errors/{fingerprint}")).status_code == 404
    assert record(other, BOOM)["new"] == 1
    assert errors_of(memory)[0]["count"] == 1
