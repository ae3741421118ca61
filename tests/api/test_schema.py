"""Every operation against requests made from its own description: what it answers is what it says, and never a 5xx."""

import json
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import schemathesis
from django.contrib.auth.models import User
from hypothesis import HealthCheck, Phase, given, settings
from ninja import Schema
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.failures import FailureGroup
from schemathesis.generation import GenerationMode

from tests.conftest import Api
from tests.support.example_objects import World, world_of
from tests.support.live_server import LiveServer
from tests.support.suite import some_of

load_all_checks()
# The other checks ask for what this API decides otherwise: a save is not refused for a field that it does not know.
ASKED = (
    "not_a_server_error",
    "response_schema_conformance",
    "content_type_conformance",
    "status_code_conformance",
    "ignored_auth",
)
# Parameters of addresses and queries, by the names that the world's things have.
KNOWN = {"session_id": "session", "project_id": "project", "message_id": "message", "key_id": "key", "copy_id": "copy"} | {
    "run_id": "run", "action_id": "action", "step_id": "step", "project": "path",
}  # fmt: skip
PHASES = (Phase.generate,)


@schemathesis.serializer("application/x-ndjson")
def lines(context: schemathesis.SerializationContext, value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def last_words(operation: Any) -> bool:
    """What takes things away is tried when nothing else needs them."""
    return bool(operation.method == "delete" or operation.path.endswith("/clear"))


def checks() -> list[Any]:
    return CHECKS.get_by_names(ASKED)


def go_over(server: LiveServer, client: Api, world: World, *, examples: int, one_in: int = 1) -> None:
    headers = {"Authorization": f"Bearer {client.secret}"}
    schema: Any = schemathesis.openapi.from_url(f"{server.url}/api/v1/openapi.json", headers=headers)
    faults: list[str] = []
    operations = some_of((found.ok() for found in schema.get_all_operations()), one_in)
    for operation in sorted(operations, key=last_words):

        @settings(max_examples=examples, phases=PHASES, database=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
        def try_it(case: Any) -> None:
            # A made-up id finds nothing; a known one leads on into the operation.
            for values in (case.path_parameters, case.query):
                for name in set(values or {}) & KNOWN.keys():
                    if random.random() < 0.8:
                        values[name] = world.names[KNOWN[name]]
            case.call_and_validate(headers=headers, checks=checks())

        try:
            try_it()
        except (schemathesis.errors.SchemathesisError, FailureGroup) as error:
            faults.append(f"{operation.label}: {error!s:.600}")
    assert not faults, "\n\n".join(faults)


@pytest.fixture
def world(server: LiveServer, api: Callable[..., Any], alice: User) -> World:
    return world_of(api, alice)


@pytest.mark.timeout(240)
def test_every_operation_keeps_to_its_description(server: LiveServer, api: Callable[..., Any], alice: User, world: World) -> None:
    go_over(server, api(alice), world, examples=3, one_in=3)


@pytest.mark.prove
def test_every_operation_keeps_to_its_description_always(
    server: LiveServer, api: Callable[..., Any], alice: User, world: World
) -> None:
    go_over(server, api(alice), world, examples=200)


def test_no_two_shapes_share_a_name() -> None:
    """The description names shapes by their class alone, so the second of two would replace the first."""
    names = Counter(found.__name__ for found in shapes(Schema) if found.__name__ != "NinjaResponseSchema")
    assert [name for name, count in names.items() if count > 1] == []


def shapes(of: type[Schema]) -> set[type[Schema]]:
    return {found for each in of.__subclasses__() for found in {each, *shapes(each)}}


# What it names nothing else would: a transfer needs its target.
NEEDS_ONE_OF_SEVERAL = ("/transfer", "/mute")


def test_a_post_whose_body_needs_nothing_needs_no_body(db: None, api: Callable[..., Any], alice: User) -> None:
    client = api(alice)
    description = client.get("/openapi.json").json()
    components = description["components"]["schemas"]
    found = []
    for path, methods in description["paths"].items():
        body = methods.get("post", {}).get("requestBody")
        if body is None or path.endswith(NEEDS_ONE_OF_SEVERAL) or "application/json" not in body["content"]:
            continue
        [content] = body["content"].values()
        reference = content["schema"].get("$ref") or content["schema"].get("allOf", [{}])[0].get("$ref", "")
        if reference and not components[reference.rpartition("/")[2]].get("required"):
            assert body["required"] is False, path
            found.append(path.rpartition("/")[2])
    assert {"sessions", "fork", "runs", "end", "resolve", "keys"} <= set(found)


def test_runs_begin_and_end_without_a_word(db: None, api: Callable[..., Any], alice: User) -> None:
    client = api(alice)
    project = client.post("/projects", {"path": "/home/alice/shop"}).json()["id"]
    post = partial(client.client.generic, "POST")
    run = post(f"/api/v1/projects/{project}/runs").json()["run_id"]
    assert post(f"/api/v1/projects/{project}/runs/{run}/end").status_code == 200
    made = post(f"/api/v1/projects/{project}/sessions")
    assert made.status_code == 201
    assert post(f"/api/v1/sessions/{made.json()['id']}/fork").status_code == 201
    missing = post(f"/api/v1/sessions/{made.json()['id']}/changes")
    assert missing.status_code == 422
