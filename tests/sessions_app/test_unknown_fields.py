"""A field that no operation knows is told, not dropped; only what must not be lost is taken without it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from config.api import api as the_api
from tests.chat import Chat
from tests.conftest import Alone
from tests.routes import API
from tests.world import World

pytestmark = pytest.mark.timeout(120)  # A whole table.
# Words that a client of a later version saves, and a step of a plan, whose fields are kept.
TOLERANT = {"save_changes", "save_session", "update_plan_step"}
# Bodies that are no object of ours: any JSON, a file.
FREE = {"put_memory_entry", "import_file"}
NESTED: dict[str, tuple[dict[str, Any], str]] = {
    "update_handoff": ({"decisions": [{"text": "x", "titel": 1}]}, "decisions.0.titel"),
    "update_project": ({"settings": {"redacton": "off"}}, "settings"),
    "record_performance": ({"samples": [{"endpoint": "x", "duration_ms": 1.0, "titel": 1}]}, "samples.0.titel"),
    "end_run": ({"entries": [{"namespace": "n", "key": "k", "value": 1, "titel": 1}]}, "entries.0.titel"),
    "update_handoff_item": ({"path": "a decision has none"}, "path"),
}


def with_bodies() -> list[str]:
    """The operations that take one, by the API's document."""
    paths = the_api.get_openapi_schema()["paths"]
    return [shape["operationId"] for methods in paths.values() for shape in methods.values() if "requestBody" in shape]


def send(client: Client, name: str, hers: World, body: dict[str, Any]) -> Any:
    row = API[name]
    headers = {**row.headers, "Stillhere-Run": hers.names["run"]}
    return client.generic(
        row.method, "/api/v1" + hers.address(row), json.dumps(body), content_type="application/json", headers=headers
    )


def test_every_operation_tells_of_a_field_that_it_does_not_know(alice: User, hers: World, alone: Alone) -> None:
    client = Client()
    client.force_login(alice)
    assert TOLERANT | FREE | NESTED.keys() <= set(with_bodies())
    for name in with_bodies():
        if name not in TOLERANT | FREE:
            with alone(name):
                answer = send(client, name, hers, {**(hers.body(API[name]) or {}), "titel": 1})
                assert answer.status_code == 422, answer.content
                fields = answer.json()["error"]["details"]["fields"]
                assert {"field": "titel", "reason": "There is no such field."} in fields


def test_a_field_that_a_part_does_not_know_is_told_too(alice: User, hers: World, alone: Alone) -> None:
    client = Client()
    client.force_login(alice)
    for name, (body, field) in NESTED.items():
        with alone(name):
            answer = send(client, name, hers, body)
            assert answer.status_code == 422, answer.content
            assert [found["field"] for found in answer.json()["error"]["details"]["fields"]] == [field]


def test_a_save_is_never_refused_for_a_field_too_many(chat: Chat) -> None:
    op = {"op": "upsert", "id": "m1", "role": "user", "text": "kept", "titel": 1}
    assert chat.ops(op, titel=1)["applied"] == [{"id": "m1", "ver": 1}]
    assert chat.texts() == ["kept"]


def test_an_error_report_is_never_refused_for_a_field_too_many(api: Callable[..., Any], alice: User, hers: World) -> None:
    frames = [{"file": "cart.js", "function": "add", "line": 1, "column": 7}]
    body = {"errors": [{"message": "broken", "level": "fatal", "stack": frames}]}
    address = f"/projects/{hers.names['project']}/errors"
    answer = api(alice).post(address, body, **{"Stillhere-Run": hers.names["run"]})
    assert (answer.status_code, answer.json()["recorded"]) == (200, 1)
