"""Nobody reaches what is not theirs: over every operation and page, and for every kind of caller.

A route without a row in tests/support/routes/ fails here.
"""

import json
from collections.abc import Callable
from itertools import batched
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.models import ApiKey
from tests.conftest import Alone
from tests.support.example_objects import SECRET_TEXT, World, unknown_world
from tests.support.files import closed_at_last
from tests.support.routes import API, PAGES, Row, operations, page_names
from tests.support.routes.ended_keys import ENDINGS
from tests.support.suite import first_of

WITH_KEY = {name: row for name, row in API.items() if not row.cookie_only and not row.credentials_inside}
NAMED = {name: row for name, row in API.items() if row.named}
COOKIE_ONLY = {name: row for name, row in API.items() if row.cookie_only}
PAGE_ROWS = {name: row for name, row in PAGES.items() if row is not None}
NAMED_PAGES = {name: row for name, row in PAGE_ROWS.items() if row.named}
pytestmark = pytest.mark.timeout(120)  # Whole tables.


def call(client: Client, row: Row, world: World, **headers: str) -> Any:
    return client.generic(
        row.method,
        "/api/v1" + world.address(row),
        "" if row.body is None else json.dumps(world.body(row)),
        content_type="application/json",
        headers={**row.headers, **headers},
    )


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_every_operation_has_a_row_and_every_row_an_operation() -> None:
    assert operations().keys() == API.keys()
    for name, (method, path) in operations().items():
        assert method == API[name].method
        assert path.count("/") == ("/api/v1" + API[name].address.partition("?")[0]).count("/"), name


def test_every_page_has_a_row() -> None:
    assert page_names() == PAGES.keys()


def test_without_credentials_nothing_is_answered(client: Client, alices_world: World, alone: Alone) -> None:
    for name, row in API.items():
        with alone(name):
            answers = [call(client, row, world) for world in (alices_world, unknown_world())]
            assert [answer.status_code for answer in answers] == [401, 401]
            assert answers[0].content == answers[1].content


def test_what_is_somebody_else_s_looks_like_what_does_not_exist(
    api: Callable[..., Any], bob: User, alices_world: World, alone: Alone
) -> None:
    for name, row in NAMED.items():
        with alone(name):
            clients = [signed_in(bob)]
            if not row.cookie_only and not row.credentials_inside:
                clients.append(api(bob).client)
            for client in clients:
                foreign, unknown = (call(client, row, world) for world in (alices_world, unknown_world()))
                assert foreign.status_code == 404
                assert (foreign.status_code, foreign.content) == (unknown.status_code, unknown.content)
                assert comparable(foreign) == comparable(unknown)


def comparable(answer: Any) -> dict[str, str]:
    return {name: value for name, value in answer.items() if name not in {"X-Request-ID", "Date"}}


def test_no_answer_to_somebody_else_holds_a_word_or_an_id_of_hers(bob: User, alices_world: World, alone: Alone) -> None:
    for name, row in API.items():
        with alone(name):
            shown = call(signed_in(bob), row, alices_world).getvalue().decode()
            asked_for = alices_world.address(row) + str(alices_world.body(row))
            secrets = [
                SECRET_TEXT,
                *(value for name, value in alices_world.names.items() if name in {"project", "session", "copy", "key"}),
            ]
            assert not [secret for secret in secrets if secret in shown and secret not in asked_for]


def test_a_name_that_a_client_chose_and_somebody_has_is_taken_and_nothing_more(bob: User, alices_world: World) -> None:
    answer = call(signed_in(bob), API["put_session"], alices_world)
    assert answer.status_code == 412
    assert SECRET_TEXT not in answer.content.decode()
    assert "/home/alice" not in answer.content.decode()


def test_hers_is_still_whole_after_somebody_else_tried(
    api: Callable[..., Any], alice: User, bob: User, alices_world: World, alone: Alone
) -> None:
    own, his = api(alice), signed_in(bob)
    before = alices_world.seen_by(own)
    # To look at all of hers takes longer than what he tries.
    for some in batched(NAMED.items(), 10):
        with alone(", ".join(name for name, _ in some)):
            for _, row in some:
                call(his, row, alices_world)
            assert alices_world.seen_by(own) == before


def test_a_key_for_another_project_finds_nothing_here(
    api: Callable[..., Any], alice: User, alices_world: World, alone: Alone
) -> None:
    for name, row in WITH_KEY.items():
        with alone(name):
            limited = api(alice, project_path="another").client
            foreign = call(limited, row, alices_world)
            if row.named:
                unknown = call(limited, row, unknown_world())
                assert (foreign.status_code, foreign.content) == (404, unknown.content)
            else:
                shown = foreign.getvalue().decode()
                assert SECRET_TEXT not in shown
                assert alices_world.names["project"] not in shown


def test_a_key_does_what_its_scopes_say(api: Callable[..., Any], alice: User, alices_world: World, alone: Alone) -> None:
    for name, row in WITH_KEY.items():
        with alone(name):
            needed, other = ("write", "read") if row.writes else ("read", "write")
            refused = call(api(alice, scopes=(other,)).client, row, alices_world)
            assert refused.status_code == 403
            if row.method != "HEAD":
                assert refused.json()["error"]["details"] == {"scope": needed}
            with closed_at_last(call(api(alice, scopes=(needed,)).client, row, alices_world)) as answer:
                assert answer.status_code != 403


def test_keys_do_not_manage_keys(api: Callable[..., Any], alice: User, alices_world: World, alone: Alone) -> None:
    for name, row in COOKIE_ONLY.items():
        with alone(name):
            assert call(api(alice).client, row, alices_world).status_code == 403


@pytest.mark.parametrize("state", first_of(ENDINGS, 1))
def test_a_key_that_ended_opens_nothing(
    api: Callable[..., Any], alice: User, alices_world: World, alone: Alone, state: str
) -> None:
    for name, row in WITH_KEY.items():
        with alone(name):
            ended = api(alice, name="ended").client
            ENDINGS[state](ApiKey.objects.get(name="ended"))
            assert call(ended, row, alices_world).status_code == 401


def test_a_disabled_user_s_login_opens_nothing(alice: User, alices_world: World, alone: Alone) -> None:
    for name, row in API.items():
        with alone(name):
            client = signed_in(alice)
            User.objects.filter(pk=alice.pk).update(is_active=False)
            assert call(client, row, alices_world).status_code == 401


def test_pages_ask_who_is_there(client: Client, alices_world: World, alone: Alone) -> None:
    for name, row in PAGE_ROWS.items():
        with alone(name):
            answer = client.generic(row.method, alices_world.address(row))
            assert answer.status_code == 302
            assert answer["Location"].startswith("/login/?next=")


def test_pages_of_somebody_else_s_look_like_pages_that_do_not_exist(bob: User, alices_world: World, alone: Alone) -> None:
    for name, row in NAMED_PAGES.items():
        with alone(name):
            foreign, unknown = (
                signed_in(bob).generic(row.method, world.address(row)) for world in (alices_world, unknown_world())
            )
            assert foreign.status_code == 404
            assert SECRET_TEXT not in foreign.content.decode()
            assert unknown.status_code == 404
