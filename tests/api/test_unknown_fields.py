"""Unknown fields are refused by name, not dropped; only error reports are accepted without them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from config.api.ninja_api import api as the_api
from tests.conftest import Alone
from tests.support.chat import Chat
from tests.support.example_objects import World
from tests.support.routes import API

pytestmark = pytest.mark.timeout(120)  # A whole table.
# A step of a plan, whose fields are kept.
TOLERANT = {"update_plan_step"}
# Bodies that are no object of ours: any JSON, a file.
FREE = {"put_memory_entry", "import_file", "start_import", "upload_file"}
NESTED: dict[str, tuple[dict[str, Any], str]] = {
    "save_changes": ({"ops": [], "create": {"project": "x", "titel": 1}}, "create.titel"),
    "update_handoff": ({"decisions": [{"text": "x", "titel": 1}]}, "decisions.0.titel"),
    "update_project": ({"settings": {"redacton": "off"}}, "settings"),
    "record_performance": ({"samples": [{"endpoint": "x", "duration_ms": 1.0, "titel": 1}]}, "samples.0.titel"),
    "batch_memory": ({"ops": [{"op": "get", "namespace": "n", "key": "k", "titel": 1}]}, "ops.0.get.titel"),
    "end_run": ({"entries": [{"namespace": "n", "key": "k", "value": 1, "titel": 1}]}, "entries.0.titel"),
    "update_handoff_item": ({"path": "a decision has none"}, "path"),
}


def with_bodies() -> list[str]:
    """The operations that take one, by the API's document."""
    paths = the_api.get_openapi_schema()["paths"]
    return [shape["operationId"] for methods in paths.values() for shape in methods.values() if "requestBody" in shape]


def send(client: Client, name: str, alices_world: World, body: dict[str, Any]) -> Any:
    row = API[name]
    headers = {**row.headers, "Stillhere-Run": alices_world.names["run"]}
    return client.generic(
        row.method, "/api/v1" + alices_world.address(row), json.dumps(body), content_type="application/json", headers=headers
    )


def test_every_operation_tells_of_a_field_that_it_does_not_know(alice: User, alices_world: World, alone: Alone) -> None:
    client = Client()
    client.force_login(alice)
    assert TOLERANT | FREE | NESTED.keys() <= set(with_bodies())
    for name in with_bodies():
        if name not in TOLERANT | FREE:
            with alone(name):
                answer = send(client, name, alices_world, {**(alices_world.body(API[name]) or {}), "titel": 1})
                assert answer.status_code == 422, answer.content
                fields = answer.json()["error"]["details"]["fields"]
                assert {"field": "titel", "reason": "There is no such field."} in fields


def test_a_field_that_a_part_does_not_know_is_told_too(alice: User, alices_world: World, alone: Alone) -> None:
    client = Client()
    client.force_login(alice)
    for name, (body, field) in NESTED.items():
        with alone(name):
            answer = send(client, name, alices_world, body)
            assert answer.status_code == 422, answer.content
            assert [found["field"] for found in answer.json()["error"]["details"]["fields"]] == [field]


@pytest.mark.parametrize(
    ("op", "field"),
    [
        ({"op": "upsert", "id": "m1", "role": "assistant", "text": "x", "tool_calls": []}, "tool_calls"),
        ({"op": "upsert", "id": "m1", "role": "user", "text": "x", "name": "ana", "titel": 1}, "name"),
        ({"op": "upsert", "id": "m1", "role": "user", "parts": [], "content": "x"}, "content"),
        ({"op": "upsert", "id": "m1", "role": "user", "text": "x", "format": "openai.chat", "raw": {}, "name": "ana"}, "name"),
        ({"op": "upsert", "id": "m1", "role": "user", "text": "x", "f" * 1000: 1}, "f" * 64),
        ({"op": "delete", "id": "m0", "if_var": 1}, "if_var"),
        ({"op": "truncate", "after": None, "id": "m0"}, "id"),
        ({"op": "patch", "id": "m0", "ver": 1}, "ver"),
        ({"op": "pop", "n": 1, "id": "m0"}, "id"),
    ],
)
def test_a_message_with_a_field_too_many_is_named_and_the_others_are_saved(chat: Chat, op: dict[str, Any], field: str) -> None:
    chat.say("m0", "stays")
    answer = chat.ops(op, {"op": "upsert", "id": "m2", "role": "user", "text": "saved"})
    (rejected,) = answer["rejected"]
    assert (rejected["index"], rejected["reason"], rejected["field"]) == (0, "unknown_field", field)
    assert chat.texts() == ["stays", "saved"]


def test_a_framework_s_own_fields_are_kept_in_raw(chat: Chat) -> None:
    raw = {"role": "assistant", "tool_calls": [{"id": "t1"}], "name": "ana", "titel": 1}
    chat.ops({"op": "upsert", "id": "m1", "role": "assistant", "text": "", "format": "openai.chat", "raw": raw})
    assert chat.read()["messages"][0]["raw"] == raw


def test_a_message_may_be_sent_as_it_was_read(chat: Chat) -> None:
    chat.say("m1", "one")
    read = chat.read()["messages"]
    step = {"epoch": 1, "writer_id": "w", "seq": 1}
    answer = chat.api.put(f"/sessions/{chat.id}/messages", {**step, "messages": read}).json()
    assert answer["rejected"] == []
    assert chat.texts() == ["one"]


def test_words_of_a_chat_that_was_cleared_are_kept_whatever_is_beside_them(chat: Chat) -> None:
    chat.clear()
    late = chat.post("changes", ops=[{"op": "upsert", "id": "m1", "role": "user", "text": "late", "titel": 1}])
    assert late.status_code == 409
    assert [copy["text"] for copy in chat.conflicts()] == ["late"]


@pytest.mark.parametrize("field", ["titel", "create", "message"])
def test_a_beacon_with_a_field_too_many_is_refused(chat: Chat, field: str) -> None:
    token = chat.post("flush-tokens").json()["flush_token"]
    body = {"epoch": 1, "writer_id": "w", "seq": 1, "ops": [], "flush_token": token}

    def flush(**more: Any) -> Any:
        data = json.dumps({**body, **more})
        return Client().generic("POST", f"/api/v1/sessions/{chat.id}/flush", data, content_type="text/plain")

    refused = flush(**{field: 1})
    assert (refused.status_code, refused.json()["error"]["details"]["fields"][0]["field"]) == (422, field)
    assert flush().status_code == 204


def test_an_error_report_is_never_refused_for_a_field_too_many(api: Callable[..., Any], alice: User, alices_world: World) -> None:
    frames = [{"file": "cart.js", "function": "add", "line": 1, "column": 7}]
    body = {"errors": [{"message": "broken", "level": "fatal", "stack": frames}]}
    address = f"/projects/{alices_world.names['project']}/errors"
    answer = api(alice).post(address, body, **{"Stillhere-Run": alices_world.names["run"]})
    assert (answer.status_code, answer.json()["recorded"]) == (200, 1)
