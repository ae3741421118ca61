"""Who may write a project's memory, for each thing that can have happened to a run and to the lease."""

import uuid
from datetime import timedelta
from typing import Any

import pytest

from memory_app.core.lease import LEASE, end_all_leases
from memory_app.models import MemoryStore
from tests.memory.conftest import Memory


def as_run(run: dict[str, Any]) -> dict[str, str]:
    return {"Stillhere-Run": run["run_id"]}


def refused(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def run_out() -> None:
    """The lease, by the clock."""
    store = MemoryStore.objects.get()
    assert store.lease_expires_at is not None
    MemoryStore.objects.update(lease_expires_at=store.lease_expires_at - LEASE - timedelta(seconds=1))


def test_a_lease_lasts_thirty_seconds() -> None:
    assert timedelta(seconds=30) == LEASE


def test_who_never_held_the_lease_writes_while_nobody_holds_it(memory: Memory) -> None:
    writer, reader = memory.start("writer"), memory.start("reader")
    assert refused(memory.put("notes/n", 1, **as_run(reader))) == (423, "lease_held")
    memory.run(writer["run_id"], "end")
    assert memory.put("notes/n", 1, **as_run(reader)).status_code == 201
    assert memory.put("notes/n", 2).status_code == 200


def test_who_never_held_it_writes_when_it_has_run_out_and_so_does_its_holder(memory: Memory) -> None:
    writer, reader = memory.start("writer"), memory.start("reader")
    run_out()
    assert memory.put("notes/n", 1, **as_run(reader)).status_code == 201
    assert memory.put("notes/n", 2, **as_run(writer)).status_code == 200


def test_a_run_that_ended_without_ever_holding_it_writes_no_more(memory: Memory) -> None:
    memory.start("writer")
    reader = memory.start("reader")
    memory.run(reader["run_id"], "end")
    run_out()
    assert refused(memory.put("notes/n", 1, **as_run(reader))) == (423, "lease_lost")


def test_who_lost_it_is_told_who_holds_it_now(memory: Memory) -> None:
    first, second = memory.start("first"), memory.start("second")
    fence = memory.run(second["run_id"], "takeover").json()["fence"]
    answer = memory.put("notes/n", 1, **as_run(first))
    assert refused(answer) == (423, "lease_lost")
    holder = {"run_id": second["run_id"], "agent": "second", "number": 2, "fence": fence}
    assert answer.json()["error"]["details"] == {"holder": holder}
    others = memory.put("notes/n", 1)
    assert refused(others) == (423, "lease_held")
    assert others.json()["error"]["details"] == {"holder": holder}
    assert others.json()["error"]["message"].startswith("Another run holds the writer's lease. Name it in `Stillhere-Run`")
    run_out()
    lost = memory.put("notes/n", 1, **as_run(first))
    assert (refused(lost), lost.json()["error"]["details"]) == ((423, "lease_lost"), {"holder": None})


def test_a_run_of_another_project_or_none_at_all_is_unknown(memory: Memory) -> None:
    elsewhere = Memory(memory.api, "elsewhere").start()
    for run_id in (elsewhere["run_id"], str(uuid.uuid4())):
        answer = memory.put("notes/n", 1, **{"Stillhere-Run": run_id})
        assert refused(answer) == (404, "not_found")
        assert "run" in answer.json()["error"]["message"]


@pytest.mark.parametrize("was_held", [True, False])
def test_after_a_restore_all_begin_under_the_next_fence(memory: Memory, was_held: bool) -> None:
    former = memory.start("former")
    if not was_held:
        memory.run(former["run_id"], "end")
    other = Memory(memory.api, "elsewhere").start()
    end_all_leases()
    for store in MemoryStore.objects.all():
        assert (store.fence, store.holder_id, store.lease_expires_at) == (former["fence"] + 1, None, None)
    assert refused(memory.put("notes/n", 1, **as_run(former))) == (423, "lease_lost")
    following = memory.start("following")
    assert (following["mode"], following["fence"]) == ("writer", former["fence"] + 2)
    assert other["fence"] == former["fence"]


def test_each_writer_has_a_fence_of_its_own_and_the_lease_its_time(memory: Memory) -> None:
    first = memory.start("first")
    store = MemoryStore.objects.get()
    assert (store.fence, str(store.holder_id)) == (first["fence"], first["run_id"])
    memory.run(first["run_id"], "end")
    store.refresh_from_db()
    assert (store.fence, store.holder_id, store.lease_expires_at) == (first["fence"], None, None)
    second = memory.start("second")
    assert second["fence"] == first["fence"] + 1
    assert second["holder"] == {"run_id": second["run_id"], "agent": "second", "number": 2, "fence": second["fence"]}
