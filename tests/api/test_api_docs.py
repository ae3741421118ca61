"""The API's documentation has distinct summaries, and its examples work as printed."""

import json
from collections import Counter
from typing import Any

import jsonschema_rs
import pytest
from django.contrib.auth.models import User

from config.api.documentation import EXAMPLES, SUMMARIES
from config.api.ninja_api import api as the_api
from tests.api.test_scoping import signed_in
from tests.conftest import Alone
from tests.support.example_objects import World
from tests.support.routes import API, NOUNS, operations

pytestmark = [pytest.mark.once, pytest.mark.timeout(120)]  # Whole tables.
# Their example needs what this account does not have: a project, a free id, a cleared chat.
ELSEWHERE = {"transfer_session": 404, "move_session": 404, "put_session": 412, "undo_clear": 409, "resolve_action": 412}
ELSEWHERE |= {name: status for noun in NOUNS for name, status in noun.elsewhere.items()}


def test_the_document_is_made_once() -> None:
    assert the_api.get_openapi_schema(path_params={}) is the_api.get_openapi_schema(path_params={})


def shapes() -> dict[str, Any]:
    paths = the_api.get_openapi_schema()["paths"]
    return {shape["operationId"]: shape for methods in paths.values() for shape in methods.values()}


def bodies() -> dict[str, tuple[str, Any]]:
    """Of each operation that takes a body: its content type and what is said of it."""
    return {
        name: next(iter(shape["requestBody"]["content"].items())) for name, shape in shapes().items() if "requestBody" in shape
    }


def test_no_two_operations_share_a_summary() -> None:
    summaries = Counter(shape["summary"] for shape in shapes().values())
    assert [summary for summary, count in summaries.items() if count > 1] == []
    assert not [summary for summary in summaries if " " not in summary], "one word is no summary"
    assert SUMMARIES.keys() <= operations().keys()


def test_every_body_has_an_example_and_every_example_a_body() -> None:
    assert {name for name, (_, content) in bodies().items() if "example" in content} == bodies().keys() == EXAMPLES.keys()


def test_every_example_is_as_its_schema_says() -> None:
    components = the_api.get_openapi_schema()["components"]
    for name, (_, content) in bodies().items():
        schema = json.loads(json.dumps({**content["schema"], "components": components}))
        problems = [error.message for error in jsonschema_rs.Draft202012Validator(schema).iter_errors(content["example"])]
        assert problems == [], name


def test_a_schema_refuses_what_is_no_example() -> None:
    """The check above can fail."""
    schema = {**bodies()["save_changes"][1]["schema"], "components": the_api.get_openapi_schema()["components"]}
    validator = jsonschema_rs.Draft202012Validator(json.loads(json.dumps(schema)))
    assert not validator.is_valid({**EXAMPLES["save_changes"], "seq": "one"})
    assert not validator.is_valid({**EXAMPLES["save_changes"], "ops": [{"op": "upsert", "role": "user"}]})


def test_every_example_is_taken_as_it_stands(alice: User, alices_world: World, alone: Alone) -> None:
    client = signed_in(alice)
    for name, (content_type, content) in bodies().items():
        with alone(name):
            row, example = API[name], content["example"]
            body = example if isinstance(example, str) else json.dumps(example)
            headers = {**row.headers, "Stillhere-Run": alices_world.names["run"]}
            address = "/api/v1" + alices_world.address(row)
            answer = client.generic(row.method, address, body, content_type=content_type, headers=headers)
            assert answer.status_code in ({ELSEWHERE[name]} if name in ELSEWHERE else {200, 201, 202}), answer.content
            told = answer.json()
            assert not told.get("rejected"), told


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"title": 7}, "`title`: Input should be a valid string."),
        ({"titel": "x"}, "`titel`: There is no such field."),
        ({"title": "x" * 201, "current": False, "titel": 1}, "`title`: String should have at most 200 characters. 2 more"),
        ([], "`body`: "),
    ],
)
def test_a_refusal_names_the_first_field_and_what_is_wrong_with_it(
    alice: User, alices_world: World, body: Any, message: str
) -> None:
    address = f"/api/v1/sessions/{alices_world.names['session']}"
    answer = signed_in(alice).patch(address, json.dumps(body), content_type="application/json")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (422, "invalid")
    assert error["message"].startswith(message)
    assert error["details"]["fields"]
