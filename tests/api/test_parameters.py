"""A query parameter that an operation does not know is named, whatever the operation."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from config.api.ninja_api import api as the_api
from sessions_app.accounts import api_keys
from sessions_app.core.callers import caller_of_user
from sessions_app.core.errors import TooManyParameters
from tests.api.test_scoping import call, signed_in
from tests.conftest import Alone
from tests.support.example_objects import World
from tests.support.routes import API

pytestmark = [pytest.mark.once, pytest.mark.timeout(120)]  # A whole table.


def declared() -> dict[str, list[str]]:
    """The query parameters of each operation, by the API's document."""
    shapes = (shape for methods in the_api.get_openapi_schema()["paths"].values() for shape in methods.values())
    return {
        shape["operationId"]: sorted(found["name"] for found in shape.get("parameters", []) if found["in"] == "query")
        for shape in shapes
    }


def with_query(row: Any, alices_world: World, query: str) -> str:
    address = "/api/v1" + alices_world.address(row)
    return f"{address}{'&' if '?' in address else '?'}{query}"


def test_every_operation_names_a_parameter_that_it_does_not_know(alice: User, alices_world: World, alone: Alone) -> None:
    client = signed_in(alice)
    for name, known in declared().items():
        with alone(name):
            answer = client.generic(API[name].method, with_query(API[name], alices_world, "titel=1"), headers=API[name].headers)
            assert answer.status_code == 422
            if API[name].method != "HEAD":
                error = answer.json()["error"]
                assert (error["code"], error["details"]) == ("unknown_parameter", {"parameters": ["titel"], "known": known})
                assert all(f"`{parameter}`" in error["message"] for parameter in ["titel", *known])


def test_a_filter_that_there_is_not_lists_nothing(api: Callable[..., Any], alice: User, alices_world: World) -> None:
    answer = api(alice).get(f"/projects/{alices_world.names['project']}/sessions?external_idd=X&limit=5")
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "unknown_parameter")
    assert "`external_idd`" in answer.json()["error"]["message"]


def test_a_misspelt_parameter_that_is_needed_is_named_as_such(api: Callable[..., Any], alice: User) -> None:
    answer = api(alice).get("/resume?projekt=/home/alice/shop")
    assert answer.json()["error"]["details"] == {
        "parameters": ["projekt"],
        "known": ["as", "client", "external_id", "optional", "project", "quiet", "repair"],
    }


def test_who_may_not_call_it_learns_nothing_of_its_parameters(client: Client, alices_world: World) -> None:
    assert call(client, API["list_sessions"], alices_world).status_code == 401
    assert client.get(with_query(API["list_sessions"], alices_world, "titel=1")).status_code == 401


@pytest.mark.parametrize("address", ["/login/", "/search/", "/api/v1/resume", "/api/v1/projects", "/v1/threads"])
def test_too_many_parameters_are_named_as_the_cause(
    api: Callable[..., Any], alice: User, client: Client, caplog: pytest.LogCaptureFixture, address: str
) -> None:
    if address.startswith("/v1"):
        client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {api_keys.create_key(caller=caller_of_user(alice)).secret}"
    elif address != "/login/":
        client.force_login(alice)
    answer = client.get(f"{address}?{'a=1&' * settings.DATA_UPLOAD_MAX_NUMBER_FIELDS}a=1")
    assert answer.status_code == 400
    assert TooManyParameters.message in answer.content.decode()
    assert not caplog.records


def test_a_form_of_too_many_fields_is_refused_as_such(client: Client, alice: User, caplog: pytest.LogCaptureFixture) -> None:
    answer = client.post("/login/", {f"a{number}": "1" for number in range(1001)})
    assert answer.status_code == 400
    assert TooManyParameters.message in answer.content.decode()
    assert not caplog.records
