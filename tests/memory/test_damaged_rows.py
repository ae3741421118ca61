"""Rows whose JSON something else has spoiled: named or skipped, never a broken response, and overwritten like any other."""

import pytest
from django.contrib.auth.models import User
from django.db.models import Model
from django.test import Client

from memory_app.models import EndpointTiming, ErrorReport, MemoryEntry, MemoryVersion
from tests.memory.conftest import Memory

BROKEN = '{"half": '
RULE = {"id": "r1", "pattern": "noise", "kind": "substring", "source": "manual", "enabled": True}
READ = (
    "memory", "memory-stats", "memory/notes", "memory/notes/n/versions", "memory/errors/history", "memory/performance/endpoints",
    "performance", "errors", "context",
)  # fmt: skip
PAGES = ("memory/", "memory/notes/", "memory/notes/n/", "memory/notes/n/edit/", "errors/", "performance/", "settings/")


def spoil(model: type[Model], *fields: str) -> None:
    model._default_manager.update(**dict.fromkeys(fields, BROKEN))


@pytest.fixture
def damaged(memory: Memory) -> Memory:
    memory.put("notes/n", "first")
    memory.put("notes/n", "second")
    memory.put("noise/config", {"rules": [RULE]})
    memory.api.post(memory.address("errors"), {"errors": [{"message": "it broke", "stack": "at a"}]})
    memory.api.post(memory.address("performance"), {"samples": [{"endpoint": "GET /", "duration_ms": 10}]})
    spoil(MemoryEntry, "value")
    spoil(ErrorReport, "days", "stack")
    spoil(EndpointTiming, "histogram")
    MemoryVersion.objects.filter(entry__key="n", rev=2).update(value=BROKEN)
    return memory


def test_a_damaged_value_is_as_if_it_was_not_there_and_says_so(damaged: Memory) -> None:
    answer = damaged.get("notes/n")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "damaged")
    versions = damaged.get("notes/n/versions").json()["items"]
    assert [version["value"] for version in versions] == [None, "first"]
    assert damaged.api.post(damaged.address("memory/notes/n/versions/1/restore")).status_code == 200
    assert damaged.get("notes/n").json()["value"] == "first"


def test_every_list_reads_on(damaged: Memory) -> None:
    for path in READ:
        answer = damaged.api.get(damaged.address(path))
        assert answer.status_code == 200, path
        answer.json()
    fingerprint = damaged.api.get(damaged.address("errors")).json()["items"][0]["fingerprint"]
    assert damaged.api.get(damaged.address(f"errors/{fingerprint}")).json()["stack"] is None


def test_every_write_goes_on(damaged: Memory) -> None:
    assert damaged.put("notes/n", "third").status_code == 200
    error = {"errors": [{"message": "it broke"}, {"message": "noise"}]}
    assert damaged.api.post(damaged.address("errors"), error).json()["filtered"] == 0
    sample = {"samples": [{"endpoint": "GET /", "duration_ms": 20}]}
    assert damaged.api.post(damaged.address("performance"), sample).json()["items"][0]["count"] == 1
    assert damaged.put("noise/config", {"rules": [RULE]}).status_code == 200
    assert damaged.api.post(damaged.address("errors"), error).json()["filtered"] == 1


def test_every_page_opens(damaged: Memory, alice: User, client: Client) -> None:
    client.force_login(alice)
    for path in PAGES:
        answer = client.get(f"/projects/{damaged.project}/{path}")
        assert answer.status_code == 200, path
    shown = client.get(f"/projects/{damaged.project}/memory/notes/n/").content.decode()
    assert "is damaged" in shown
    assert "{&quot;half&quot;: " in shown


@pytest.mark.parametrize("value", ["[]", '{"rules": 3}', '{"rules": [3, {"id": "r1"}]}'])
def test_rules_of_another_shape_are_no_rules(memory: Memory, alice: User, client: Client, value: str) -> None:
    memory.put("noise/config", {"rules": [RULE]})
    MemoryEntry.objects.update(value=value)
    assert memory.api.post(memory.address("errors"), {"errors": [{"message": "noise"}]}).json()["filtered"] == 0
    client.force_login(alice)
    assert client.get(f"/projects/{memory.project}/errors/").status_code == 200
