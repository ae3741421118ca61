"""A person's edits of a project's memory: allowed despite the lease, with undo."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from memory_app.core.lease import By, LeaseHeld
from memory_app.key_value.entries import services as entrie_services
from memory_app.key_value.entries.entry_values import NewEntry, Removed, Stored
from memory_app.key_value.entries.entry_writer import DELETED, MemoryFull
from memory_app.key_value.entries.services import KeyTaken
from memory_app.models import DeletedEntry
from memory_app.runs import services as run_services
from sessions_app.core.callers import caller_of_user
from sessions_app.core.errors import NotFound
from sessions_app.core.public_names import now
from sessions_app.core.web.preconditions import ANY
from tests.memory.conftest import Memory


class Person:
    """Alice in front of a page of this project."""

    def __init__(self, user: User, memory: Memory) -> None:
        self.known: dict[str, Any] = {"caller": caller_of_user(user), "project_id": uuid.UUID(memory.project)}

    def put(self, key: str, value: Any) -> Stored:
        return entrie_services.put_entry(**self.known, entry=NewEntry("notes", key, value), conditions=ANY, run_id=By.PERSON)

    def delete(self, key: str) -> Removed:
        return entrie_services.delete_entry(**self.known, namespace="notes", key=key, conditions=ANY, run_id=By.PERSON)

    def undelete(self, deleted: Removed) -> Stored:
        assert deleted.id is not None
        return entrie_services.undelete_entry(**self.known, deleted_id=deleted.id, run_id=By.PERSON)


@pytest.fixture
def person(alice: User, memory: Memory) -> Person:
    return Person(alice, memory)


def test_no_lease_holds_a_person_off_and_the_holder_goes_on(person: Person, memory: Memory) -> None:
    run = memory.start("claude")
    with pytest.raises(LeaseHeld):
        entrie_services.put_entry(**person.known, entry=NewEntry("notes", "a", 1), conditions=ANY, run_id=None)
    person.put("a", 1)
    assert memory.get("notes/a").json()["value"] == 1
    assert memory.put("notes/a", 2, **{"Stillhere-Run": run["run_id"]}).status_code == 200


def test_a_freed_lease_goes_to_the_next_run_and_never_back_by_itself(person: Person, memory: Memory) -> None:
    first = memory.start("claude")
    freed = run_services.free_lease(**person.known)
    assert freed is not None
    assert str(freed.id) == first["run_id"]
    assert memory.run(first["run_id"], "heartbeat").json()["mode"] == "reader"
    assert memory.put("notes/a", 1, **{"Stillhere-Run": first["run_id"]}).json()["error"]["code"] == "lease_lost"
    assert memory.start("next")["mode"] == "writer"


def test_a_lease_that_nobody_holds_is_freed_without_a_word(person: Person, memory: Memory) -> None:
    assert run_services.free_lease(**person.known) is None
    assert memory.api.get(memory.address("events?since=0")).json()["items"] == []


def test_a_deleted_entry_comes_back_with_its_versions(person: Person, memory: Memory) -> None:
    for value in (1, 2, 3):
        memory.put("notes/a", value)
    deleted = person.delete("a")
    assert memory.get("notes/a").status_code == 404
    assert memory.api.get(memory.address("memory-stats")).json()["size_bytes"] == 0
    stored = person.undelete(deleted)
    assert (memory.get("notes/a").json()["value"], memory.get("notes/a").json()["rev"]) == (3, 5)
    values = [version["value"] for version in memory.get("notes/a/versions").json()["items"]]
    assert (stored.made, values) == (True, [3, 3, 2, 1])
    with pytest.raises(NotFound):
        person.undelete(deleted)


def test_by_the_api_deleted_entries_come_back_too(memory: Memory) -> None:
    memory.put("notes/a", "kept")
    memory.delete("notes/a")
    [deleted] = memory.api.get(memory.address("memory-deleted")).json()["items"]
    assert (deleted["namespace"], deleted["key"], deleted["by"]) == ("notes", "a", "key")
    restore = memory.address(f"memory-deleted/{deleted['id']}/restore")
    run = memory.start()["run_id"]
    assert memory.api.post(restore).status_code == 423
    back = memory.api.post(restore, **{"Stillhere-Run": run})
    assert (back.status_code, back.json()["value"]) == (201, "kept")
    assert memory.api.get(memory.address("memory-deleted")).json()["items"] == []
    assert memory.api.post(restore, **{"Stillhere-Run": run}).status_code == 404


def test_versions_stay_ten_when_an_entry_comes_back(person: Person, memory: Memory) -> None:
    for value in range(12):
        memory.put("notes/a", value)
    person.undelete(person.delete("a"))
    values = [version["value"] for version in memory.get("notes/a/versions").json()["items"]]
    assert values == [11, 11, 10, 9, 8, 7, 6, 5, 4, 3]


def test_a_taken_key_and_a_full_memory_keep_a_deleted_entry_where_it_is(person: Person, memory: Memory, settings: Any) -> None:
    person.put("a", "x" * 50)
    deleted = person.delete("a")
    person.put("a", "new")
    with pytest.raises(KeyTaken):
        person.undelete(deleted)
    person.delete("a")
    settings.PROJECT_BYTES = 40
    with pytest.raises(MemoryFull):
        person.undelete(deleted)
    settings.PROJECT_BYTES = 60
    assert person.undelete(deleted).entry.value == '"' + "x" * 50 + '"'


def test_only_so_many_deleted_entries_are_kept(person: Person, memory: Memory) -> None:
    person.put("first", 1)
    first = person.delete("first")
    # Times are stored in milliseconds: others can be as old.
    DeletedEntry.objects.update(deleted_at=now() - timedelta(seconds=1))
    DeletedEntry.objects.bulk_create(
        DeletedEntry(project_id=memory.project, namespace="notes", key=f"k{number}") for number in range(DELETED)
    )
    person.put("last", 1)
    person.delete("last")
    assert DeletedEntry.objects.count() == DELETED
    with pytest.raises(NotFound):
        person.undelete(first)
