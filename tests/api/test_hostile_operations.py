"""Hostile bodies for every operation that takes one: refused in the API's format, or taken; never a server error."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from config.api.documentation import EXAMPLES
from tests.api.test_hostile_bodies import JUNK, UNREADABLE
from tests.api.test_unknown_fields import with_bodies
from tests.conftest import Alone
from tests.support.example_objects import World
from tests.support.routes import API
from tests.support.suite import some_of

pytestmark = pytest.mark.timeout(120)  # A whole table.
# What they take is stored as a file, or read line by line.
FILES = {"upload_file", "import_file", "start_import"}
KINDS = ("NaN", "duplicate keys", "objects in depth", "bad UTF-8", "an unfinished string")
# Those with more fields than one: junk goes into each.
DEEP = (
    "update_session", "batch_memory", "put_memory_settings", "put_checkpoint", "put_checkpoint_writes", "copy_thread",
    "prune_thread", "delete_checkpoints_of_runs", "start_stream", "append_chunks", "end_stream", "start_generation",
)  # fmt: skip


@pytest.fixture
def hers(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


def send(client: Client, name: str, world: World, body: bytes) -> Any:
    row = API[name]
    headers = {**row.headers, "Stillhere-Run": world.names["run"]}
    return client.generic(row.method, "/api/v1" + world.address(row), body, content_type="application/json", headers=headers)


def with_junk(value: Any) -> Iterator[Any]:
    """The value with one part of it, at any depth, replaced by each kind of junk."""
    yield from JUNK
    if isinstance(value, dict):
        for name, part in value.items():
            yield from ({**value, name: wrong} for wrong in with_junk(part))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from ([*value[:index], wrong, *value[index + 1 :]] for wrong in with_junk(part))


def test_what_cannot_be_read_is_refused_by_every_operation(hers: Client, alices_world: World, alone: Alone) -> None:
    for name in set(with_bodies()) - FILES:
        with alone(name):
            for kind in KINDS:
                answer = send(hers, name, alices_world, b'{"a": %b}' % UNREADABLE[kind])
                assert (answer.status_code, answer.json()["error"]["code"]) == (400, "unreadable_json"), kind


@pytest.mark.parametrize("name", DEEP)
def test_wrong_types_in_every_part_are_no_fault_of_the_server(hers: Client, alices_world: World, name: str) -> None:
    for wrong in some_of(with_junk(EXAMPLES[name]), one_in=6):
        with transaction.atomic():
            answer = send(hers, name, alices_world, json.dumps(wrong).encode())
            transaction.set_rollback(True)
        assert answer.status_code < 500, (wrong, answer.content)
        if answer.status_code >= 400:
            assert set(answer.json()["error"]) >= {"code", "message"}
