"""The Activity tab says which entries were changed."""

import re
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.memory.batches.conftest import done
from tests.memory.conftest import Memory


@pytest.fixture
def page(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def lines(page: Client, memory: Memory) -> list[str]:
    """The newest first, each up to who did it."""
    html = page.get(f"/projects/{memory.project}/activity/").content.decode()
    headings = re.findall(r'<div class="heading">(.*?)</div>', html, re.DOTALL)
    return [" ".join(unescape(re.sub(r"<[^>]+>", " ", heading)).split()) for heading in headings]


def test_what_was_changed_is_named(memory: Memory, page: Client) -> None:
    memory.put("notes/<n>", 1)
    assert lines(page, memory)[0] == "Memory changed notes / <n>"
    memory.put("notes/<n>", 2)
    assert lines(page, memory)[0] == "Memory changed notes / <n> 2 times"
    memory.delete("notes/<n>")
    assert lines(page, memory)[0] == "Memory changed 3 times"


@pytest.mark.parametrize(
    ("op", "told"),
    [
        ({"op": "delete", "namespace": ["users", "1"], "key": "a"}, "users / 1 / a, deleted"),
        ({"op": "purge", "namespace": ["users", "1"]}, "users / 1, deleted"),
        ({"op": "purge", "namespace": [], "deep": True}, "everything, deleted"),
    ],
)
def test_a_batch_names_its_first_entry(memory: Memory, page: Client, op: dict[str, object], told: str) -> None:
    places = [{"namespace": ["users", "1"], "key": key, "value": 1} for key in "abc"]
    done(memory, *({"op": "put", **place} for place in places))
    assert lines(page, memory)[0] == "Memory changed users / 1 / a and 2 more"
    run = memory.start()
    done(memory, op, **{"Stillhere-Run": run["run_id"]})
    assert lines(page, memory)[0] == f"Memory changed {told}"
