"""When and where errors happened: counts by day and run, and links to the session and message."""

import re
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memory_app.models import ErrorDay, ErrorReport
from memory_app.models.error_day import RUNS_A_DAY
from sessions_app.core.public_names import now, rfc3339
from tests.memory.conftest import Memory
from tests.memory.errors.test_errors import BOOM, ago, record


def occurrences(memory: Memory, fingerprint: str) -> list[dict[str, Any]]:
    return list(memory.api.get(memory.address(f"errors/{fingerprint}")).json()["occurrences"])


def test_errors_are_counted_by_day_and_run(memory: Memory) -> None:
    [fingerprint] = record(memory, {**BOOM, "at": ago(days=2)})["fingerprints"]
    record(memory, BOOM, BOOM)
    run = memory.start("claude")["run_id"]
    record(memory, BOOM, **{"Stillhere-Run": run})
    record(memory, BOOM, BOOM, **{"Stillhere-Run": run})
    memory.run(run, "end", {"errors": [BOOM]})
    today, before = (now() - timedelta(days=days) for days in (0, 2))
    counted = [(row["day"], row["run"], row["count"]) for row in occurrences(memory, fingerprint)]
    assert counted[:1] == [(today.date().isoformat(), 1, 4)]
    assert sorted(counted[1:], key=str) == [(before.date().isoformat(), None, 1), (today.date().isoformat(), None, 2)]


def test_an_error_says_where_in_the_chats_it_arose_last(memory: Memory) -> None:
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    [fingerprint] = record(memory, {**BOOM, "session": first, "message_id": "m1"})["fingerprints"]
    record(memory, {**BOOM, "session": second, "message_id": "m2"}, BOOM, {**BOOM, "session": first, "at": ago(minutes=1)})
    [row] = [row for row in occurrences(memory, fingerprint) if row["day"] == now().date().isoformat()]
    assert (row["session"], row["message_id"]) == (second, "m2")
    refused = memory.api.post(memory.address("errors"), {"errors": [{**BOOM, "session": "none"}]})
    assert refused.status_code == 422


def test_more_runs_than_are_told_apart_are_counted_together(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    [fingerprint] = record(memory, BOOM)["fingerprints"]
    for _ in range(RUNS_A_DAY + 2):
        run = memory.start()["run_id"]
        record(memory, BOOM, **{"Stillhere-Run": run})
        memory.run(run, "end")
    rows = occurrences(memory, fingerprint)
    assert len(rows) == RUNS_A_DAY + 1
    assert [row["count"] for row in rows if row["run"] is None] == [3]
    assert sorted(row["run"] for row in rows if row["run"] is not None) == list(range(1, RUNS_A_DAY + 1))


def test_a_batch_costs_the_same_whatever_it_has(memory: Memory) -> None:
    def statements(errors: list[dict[str, Any]]) -> int:
        with CaptureQueriesContext(connection) as made:
            record(memory, *errors)
        return len(made)

    def batch(word: str, size: int) -> list[dict[str, Any]]:
        return [{"message": f"{word} {letter * times}"} for letter in "abcdefghij" for times in range(1, size + 1)]

    statements([BOOM])
    assert statements(batch("first", 1)) == statements(batch("second", 3))
    assert statements(batch("first", 1)) == statements(batch("second", 3))


def test_days_end_with_their_error(memory: Memory) -> None:
    record(memory, BOOM)
    ErrorReport.objects.update(last_seen=datetime(2020, 1, 1, tzinfo=UTC))
    record(memory, {"message": "another"})
    assert ErrorDay.objects.count() == 1


def test_its_page_lists_them_and_links_to_the_session_and_message(
    client: Client, alice: User, bob: User, memory: Memory, api: Callable[..., Any]
) -> None:
    client.force_login(alice)
    session = memory.api.post(memory.address("sessions"), {"title": "The <cart>"}).json()["id"]
    theirs = api(bob).post("/projects", {"path": "/bob"}).json()["id"]
    foreign = api(bob).post(f"/projects/{theirs}/sessions", {"title": "Bob's own"}).json()["id"]
    run = memory.start("claude")["run_id"]
    told = {**BOOM, "session": session, "message_id": "m 1"}
    [fingerprint] = record(memory, told, **{"Stillhere-Run": run})["fingerprints"]
    record(memory, {**BOOM, "session": foreign, "at": rfc3339(now() - timedelta(days=1))}, **{"Stillhere-Run": run})
    page = client.get(f"/projects/{memory.project}/errors/{fingerprint}/").content.decode()
    assert "run 1 (claude)" in page
    assert re.findall(r'<dt>Arose in</dt><dd><a href="([^"]+)">([^<]+)<', page) == [
        (f"/sessions/{session}/?at=m%201", "The &lt;cart&gt;")
    ]
    assert foreign not in page
    assert "Bob" not in page


def test_errors_from_before_get_their_days_and_what_is_compared(memory: Memory) -> None:
    record(memory, {**BOOM, "at": ago(days=1)}, BOOM, BOOM)
    record(memory, {"message": "damaged"})
    before = ErrorReport.objects.values("alike_place", "alike_message").get(kind="KeyError")
    assert all(before.values())
    ErrorDay.objects.all().delete()
    ErrorReport.objects.update(alike_place="", alike_message="")
    ErrorReport.objects.filter(message="damaged").update(days="[", stack="[")
    import_module("memory_app.migrations.0011_days_of_known_errors").fill(apps, None)
    assert sorted(ErrorDay.objects.values_list("run", "count", "last_at")) == [(0, 1, None), (0, 2, None)]
    assert ErrorReport.objects.values("alike_place", "alike_message").get(kind="KeyError") == before
    [fingerprint] = record(memory, BOOM)["fingerprints"]
    assert occurrences(memory, fingerprint)[0]["count"] == 3
