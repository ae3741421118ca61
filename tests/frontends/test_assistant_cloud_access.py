"""Below `/v1` nobody reaches what is not theirs either: over every operation that assistant-ui's client has.

An operation without a row in tests/support/routes/cloud_rows.py fails here.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from config.api.assistant_cloud_api import api as cloud_api
from sessions_app.models import ApiKey
from tests.api.test_hostile_bodies import UNREADABLE
from tests.api.test_hostile_operations import KINDS, with_junk
from tests.conftest import Alone
from tests.support.example_objects import SECRET_TEXT, World, unknown_world
from tests.support.routes import Row
from tests.support.routes.cloud_rows import CLOUD, NAMES_PROJECT
from tests.support.routes.ended_keys import ENDINGS
from tests.support.suite import some_of

NAMED = {name: row for name, row in CLOUD.items() if row.named}
TAKES_BODY = {name: row for name, row in CLOUD.items() if row.body}
pytestmark = pytest.mark.timeout(120)  # Whole tables.


def call(client: Client, row: Row, world: World, body: bytes | None = None) -> Any:
    return client.generic(
        row.method,
        "/v1" + world.address(row),
        json.dumps(world.body(row)).encode() if body is None else body,
        content_type="application/json",
        headers={name: value.format_map(world.names) for name, value in NAMES_PROJECT.items()},
    )


def error_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_every_operation_has_a_row_and_every_row_an_operation() -> None:
    paths = cloud_api.get_openapi_schema()["paths"]
    operations = {
        shape["operationId"]: (method.upper(), path) for path, methods in paths.items() for method, shape in methods.items()
    }
    assert operations.keys() == CLOUD.keys()
    for name, (method, path) in operations.items():
        assert (method, path.count("/")) == (CLOUD[name].method, ("/v1" + CLOUD[name].address).count("/")), name


def test_without_a_key_nothing_is_answered(client: Client, alice: User, alices_world: World, alone: Alone) -> None:
    with_cookie = Client()
    with_cookie.force_login(alice)
    for name, row in CLOUD.items():
        with alone(name):
            for caller in (client, with_cookie):
                answers = [call(caller, row, world) for world in (alices_world, unknown_world())]
                assert [answer.status_code for answer in answers] == [401, 401]
                assert answers[0].content == answers[1].content


def test_what_is_somebody_else_s_looks_like_what_does_not_exist(
    api: Callable[..., Any], bob: User, alices_world: World, alone: Alone
) -> None:
    for name, row in NAMED.items():
        with alone(name):
            caller = api(bob).client
            foreign, unknown = (call(caller, row, world) for world in (alices_world, unknown_world()))
            assert foreign.status_code == unknown.status_code == 404
            assert foreign.content == unknown.content


def test_a_thread_of_somebody_else_is_unknown_in_one_s_own_project(
    api: Callable[..., Any], bob: User, alices_world: World, alone: Alone
) -> None:
    own = api(bob)
    project = own.post("/projects", {"path": "/home/bob/own"}).json()["id"]
    hers = World({**alices_world.names, "project": project})
    unknown = World({**unknown_world().names, "project": project})
    for name, row in NAMED.items():
        with alone(name):
            answers = [call(own.client, row, world) for world in (hers, unknown)]
            assert [answer.status_code for answer in answers] == [404, 404]
            assert answers[0].content == answers[1].content


def test_a_thread_of_another_project_of_one_s_own_is_unknown_too(
    api: Callable[..., Any], alice: User, alices_world: World, alone: Alone
) -> None:
    limited = api(alice, project_path="another").client
    for name, row in CLOUD.items():
        with alone(name):
            answer = call(limited, row, alices_world)
            assert SECRET_TEXT not in answer.content.decode()
            assert not row.named or answer.status_code in {403, 404}


def test_hers_is_still_whole_after_somebody_else_tried(
    api: Callable[..., Any], alice: User, bob: User, alices_world: World, alone: Alone
) -> None:
    for name, row in CLOUD.items():
        with alone(name):
            own = api(alice)
            before = alices_world.seen_by(own)
            shown = call(api(bob).client, row, alices_world).content.decode()
            assert SECRET_TEXT not in shown
            assert alices_world.seen_by(own) == before


def test_a_key_does_what_its_scopes_say(api: Callable[..., Any], alice: User, alices_world: World, alone: Alone) -> None:
    for name, row in CLOUD.items():
        with alone(name):
            needed, other = ("write", "read") if row.writes else ("read", "write")
            refused = call(api(alice, scopes=(other,)).client, row, alices_world)
            assert (refused.status_code, refused.json()["error"]["details"]) == (403, {"scope": needed})
            assert call(api(alice, scopes=(needed,)).client, row, alices_world).status_code not in {401, 403, 404}


@pytest.mark.parametrize("state", ENDINGS)
def test_a_key_that_ended_opens_nothing(
    api: Callable[..., Any], alice: User, alices_world: World, alone: Alone, state: str
) -> None:
    for name, row in CLOUD.items():
        with alone(name):
            ended = api(alice, name="ended").client
            ENDINGS[state](ApiKey.objects.get(name="ended"))
            assert call(ended, row, alices_world).status_code == 401


def test_what_cannot_be_read_is_refused(api: Callable[..., Any], alice: User, alices_world: World, alone: Alone) -> None:
    for name, row in TAKES_BODY.items():
        with alone(name):
            for kind in KINDS:
                answer = call(api(alice).client, row, alices_world, b'{"a": %b}' % UNREADABLE[kind])
                assert error_of(answer) == (400, "unreadable_json"), kind


def test_wrong_types_in_every_part_are_no_fault_of_the_server(
    api: Callable[..., Any], alice: User, alices_world: World, alone: Alone
) -> None:
    for name, row in TAKES_BODY.items():
        for wrong in some_of(with_junk(alices_world.body(row)), one_in=3):
            with alone(name):
                answer = call(api(alice).client, row, alices_world, json.dumps(wrong).encode())
                assert answer.status_code < 500, (wrong, answer.content)
                if answer.status_code >= 400:
                    assert set(answer.json()["error"]) >= {"code", "message"}
