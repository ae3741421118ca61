"""A 404 says what was not found and what to do; whose it is, it never says (tests/api/test_scoping.py)."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.conftest import Alone
from tests.support.example_objects import World, world_of
from tests.support.routes import API, operations

pytestmark = pytest.mark.timeout(120)  # Whole tables.
NOBODY = str(uuid.uuid4())
# An address that names something that is not there: the kind that the answer names, and what its advice speaks of.
UNKNOWN = {
    f"GET /projects/{NOBODY}": ("project", "List your projects"),
    "GET /projects/shop": ("project", "List your projects"),
    f"GET /sessions/{NOBODY}": ("session", "List the sessions"),
    "DELETE /sessions/no-uuid": ("session", "List the sessions"),
    "POST /sessions/{session}/removed/gone/restore": ("message", "removed"),
    "POST /sessions/{session}/removed/m1/restore": ("message", "removed"),
    f"POST /sessions/{{session}}/conflicts/{NOBODY}/settle": ("conflict", "conflicts"),
    "POST /sessions/{session}/conflicts/x/settle": ("conflict", "conflicts"),
    "GET /sessions/{empty}/agent-state": ("agent state", "PUT"),
    "PATCH /sessions/{session}/agent-state/plan/steps/gone": ("plan step", "plan"),
    "POST /sessions/{session}/agent-state/history/7/restore": ("version", "history"),
    "GET /sessions/{session}/agent-state/pending-action/gone": ("pending action", "agent state"),
    "POST /sessions/{session}/agent-state/pending-action/gone/resolve": ("pending action", "agent state"),
    "GET /sessions/{session}/ai-states/gone": ("AI state", "List"),
    "GET /sessions/{session}/ai-states/gone/history": ("AI state", "List"),
    "POST /sessions/{session}/ai-states/claude/history/7/restore": ("version", "history"),
    "GET /projects/{project}/handoff/snapshots/7": ("snapshot", "freeze"),
    "GET /projects/{project}/handoff/snapshots/7.md": ("snapshot", "freeze"),
    "GET /projects/{project}/handoff/snapshots/1/diff/7": ("snapshot", "freeze"),
    "PATCH /projects/{project}/handoff/decisions/gone": ("handoff item", "Read the handoff"),
    "PATCH /projects/{project}/handoff/thoughts/d1": ("handoff list", "decisions, files, risks"),
    "GET /projects/{project}/memory/notes/gone": ("memory entry", "keys"),
    "DELETE /projects/{project}/memory/notes/gone": ("memory entry", "keys"),
    "GET /projects/{project}/memory/performance/endpoints": ("memory entry", "keys"),
    "POST /projects/{project}/memory/notes/n/versions/7/restore": ("version", "versions"),
    f"POST /projects/{{project}}/memory-deleted/{NOBODY}/restore": ("deleted memory entry", "deleted"),
    "POST /projects/{project}/memory-deleted/x/restore": ("deleted memory entry", "deleted"),
    f"POST /projects/{{project}}/runs/{NOBODY}/heartbeat": ("run", "Start"),
    "POST /projects/{project}/runs/x/end": ("run", "Start"),
    "GET /projects/{project}/errors/gone": ("error", "30 days"),
    "POST /projects/{project}/errors/gone/resolve": ("error", "30 days"),
    "GET /nothing": ("address", "/api/v1/docs"),
    "GET /projects/": ("address", "/api/v1/docs"),
}
BODIES = {"settle": {"keep": "both"}, "resolve": {"decision": "approve"}, "steps": {"status": "failed"}, "handoff": {"text": "x"}}


def body_for(address: str) -> dict[str, Any]:
    if "/errors/" in address:
        return {}
    return next((body for name, body in BODIES.items() if name in address), {})


def test_what_is_not_found_is_named_with_what_to_do(
    api: Callable[..., Any], alice: User, alices_world: World, alone: Alone
) -> None:
    mine = api(alice)
    empty = mine.post(f"/projects/{alices_world.names['project']}/sessions").json()["id"]
    for call, (kind, advice) in UNKNOWN.items():
        with alone(call):
            method, address = call.format_map({**alices_world.names, "empty": empty}).split(" ", 1)
            sent = () if method in {"GET", "DELETE"} else (body_for(address),)
            answer = getattr(mine, method.lower())(address, *sent, **{"Stillhere-Run": alices_world.names["run"]})
            error = answer.json()["error"]
            assert (answer.status_code, error["code"], error["details"]) == (404, "not_found", {"kind": kind})
            assert advice in error["message"]


def test_another_user_s_key_and_an_unknown_one_are_the_same(client: Any, api: Callable[..., Any], alice: User, bob: User) -> None:
    foreign = world_of(api, bob).names["key"]
    client.force_login(alice)
    answers = [client.delete(f"/api/v1/keys/{key}") for key in (foreign, NOBODY, "x")]
    assert len({answer.content for answer in answers}) == 1
    assert answers[0].json()["error"]["details"] == {"kind": "key"}


@pytest.mark.parametrize("odd", ["x", "-1", str(10**30), "%00"])
def test_whatever_a_part_of_an_address_says_is_answered_in_the_one_shape(
    api: Callable[..., Any], alice: User, alices_world: World, alone: Alone, odd: str
) -> None:
    """An operation stays itself: that a number is none is told, never that the address takes another method."""
    mine = api(alice)
    for name, (method, path) in operations().items():
        row = API[name]
        places = [index for index, part in enumerate(path.removeprefix("/api/v1").split("/")) if part.startswith("{")]
        for place in places if not row.cookie_only and not row.credentials_inside else ():
            address, query = alices_world.address(row).partition("?")[::2]
            parts = address.split("/")
            parts[place] = odd + ".md" if parts[place].endswith(".md") else odd
            with alone(f"{name}: {'/'.join(parts)}"):
                answer = mine.client.generic(
                    method,
                    "/api/v1" + "/".join(parts) + (f"?{query}" if query else ""),
                    "" if row.body is None else json.dumps(alices_world.body(row)),
                    content_type="application/json",
                    headers={**row.headers, "Stillhere-Run": alices_world.names["run"]},
                )
                assert answer.status_code in {200, 201, 204, 404, 409, 412, 422}
                if answer.status_code >= 400 and method != "HEAD":
                    assert answer.json()["error"]["message"]


def test_a_snapshot_s_number_is_a_number(api: Callable[..., Any], alice: User, alices_world: World) -> None:
    for wrong in ("x", "0", "latest", "1/diff/x", "x.md"):
        answer = api(alice).get(f"/projects/{alices_world.names['project']}/handoff/snapshots/{wrong}")
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (422, "invalid")
        assert error["details"]["fields"][0]["field"] in {"number", "other"}


def test_a_method_that_an_address_does_not_take_is_answered_with_those_that_it_takes(
    api: Callable[..., Any], alice: User
) -> None:
    answer = api(alice).delete("/search?q=x")
    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")
    assert answer.json()["error"]["details"] == {"allow": ["GET"]}
    assert "GET" in answer.json()["error"]["message"]


def test_the_id_of_a_new_session_is_a_uuid(api: Callable[..., Any], alice: User) -> None:
    answer = api(alice).put("/sessions/thread-42", {"project": "/p"}, **{"If-None-Match": "*"})
    assert answer.status_code == 422
    assert "by-external" in answer.json()["error"]["message"]
