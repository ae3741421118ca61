"""What is checked before the protocol begins: host, origin, key, size; and how refusals look."""

import json
from typing import Any

import httpx
import pytest
from django.utils.timezone import now

from sessions_app.core.text import sha256
from sessions_app.models import ApiKey
from tests.browser.driving import wait_for
from tests.mcp.mcp_client import HANDSHAKE, STATELESS, request, tool_call
from tests.support.live_server import LiveServer
from tests.support.sockets import House


@pytest.fixture
def post(house: House, plain: httpx.Client) -> Any:
    """A POST to `/mcp` with ana's key; `headers` replace others, None leaves one out."""

    def sent(asked: dict[str, Any], address: str = "/mcp", **headers: str | None) -> httpx.Response:
        given = {"Authorization": f"Bearer {house.key}", "content-type": "application/json", **asked["headers"]}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        kept = {name: value for name, value in given.items() if value is not None}
        # With escapes, as half a character has no other form.
        return plain.post(house.server.url + address, headers=kept, content=json.dumps(asked["json"]))

    return sent


LIST = request("tools/list")


def test_without_a_valid_key_nothing_is_answered(house: House, post: Any) -> None:
    refusals = [post(LIST, Authorization=value) for value in (None, "Bearer sh_none", f"Basic {house.key}", "Bearer")]
    for refusal in refusals:
        assert refusal.status_code == 401
        assert refusal.headers["www-authenticate"].startswith("Bearer ")
        assert refusal.content == refusals[0].content
    assert post(LIST).status_code == 200


def test_a_revoked_and_an_expired_key_are_refused(server: LiveServer, secret: str, plain: Any) -> None:
    """The row is changed as another process would: nobody is told."""
    plain.headers["Authorization"] = f"Bearer {secret}"
    assert plain.post(f"{server.url}/mcp", **LIST).status_code == 200
    for change in ({"revoked_at": now()}, {"revoked_at": None, "expires_at": now()}):
        ApiKey.objects.filter(key_sha256=sha256(secret)).update(**change)
        assert plain.post(f"{server.url}/mcp", **LIST).status_code == 401


def test_pages_of_other_origins_and_other_hosts_are_refused(house: House, post: Any) -> None:
    host = house.server.host
    for headers, status in (
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": f"http://{host}"}, 200),
        ({"Origin": f"https://{host}"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, 421),
        ({"Host": host}, 200),
    ):
        for asked in (LIST, request("tools/list", version=HANDSHAKE)):
            assert post(asked, **headers).status_code == status, headers


def test_only_post_is_answered(house: House, plain: httpx.Client) -> None:
    for method in ("GET", "DELETE", "PUT"):
        answer = plain.request(method, f"{house.server.url}/mcp", headers={"Authorization": f"Bearer {house.key}"})
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_body_over_the_limit_is_refused_and_one_below_is_read(post: Any) -> None:
    large = tool_call("session_store", {"action": "save", "namespace": "n", "key": "k", "data": "x" * 5_000_000})
    assert post(large).status_code == 413
    below = tool_call("session_store", {"action": "save", "namespace": "n", "key": "k", "data": "x" * 4_500_000})
    answer = post(below, "/mcp?project=/large")
    assert answer.status_code == 200
    assert answer.json()["result"]["structuredContent"]["error"]["code"] == "too_large"


@pytest.mark.parametrize("body", ["", "{", "NaN", '{"a": 1, "a": 2}', "[" * 100 + "]" * 100, '{"jsonrpc": "2.0", "id": 1e999}'])
def test_a_body_that_is_no_strict_json_is_a_parse_error(house: House, plain: httpx.Client, body: str) -> None:
    headers = {**LIST["headers"], "Authorization": f"Bearer {house.key}", "Content-Type": "application/json"}
    answer = plain.post(f"{house.server.url}/mcp", headers=headers, content=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)


@pytest.mark.parametrize("version", [HANDSHAKE, STATELESS])
def test_malformed_messages_are_errors_of_the_protocol(post: Any, version: str) -> None:
    asked = request("tools/list", version=version)
    for message in ([], [asked["json"]], 1, {"jsonrpc": "2.0"}, {**asked["json"], "method": 1}, {**asked["json"], "params": []}):
        answer = post({**asked, "json": message})
        assert 400 <= answer.status_code < 500, message
        assert answer.json()["error"]["code"] < 0
    unknown = post(request("tools/burn", version=version)).json()
    assert unknown["error"]["code"] == -32601
    none = post(tool_call("none", {}, version=version)).json()
    assert none["error"]["code"] == -32602


@pytest.mark.parametrize("version", [HANDSHAKE, "2025-03-26", STATELESS])
def test_a_batch_is_refused_in_plain_words(post: Any, version: str) -> None:
    asked = request("tools/list", version=version)
    for batch in ([], [asked["json"]], [asked["json"]] * 2):
        answer = post({**asked, "json": batch})
        error = {"code": -32600, "message": "Batches are not supported. Send one message per request."}
        assert (answer.status_code, answer.json()) == (400, {"jsonrpc": "2.0", "id": None, "error": error})


@pytest.mark.parametrize("version", [HANDSHAKE, STATELESS])
def test_an_id_that_none_may_have_is_refused(post: Any, version: str) -> None:
    asked = request("tools/list", version=version)
    wrong: list[Any] = [1.5, True, None, [], {}]
    for number in wrong:
        answer = post({**asked, "json": {**asked["json"], "id": number}})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600), number
        assert answer.json()["error"]["message"].startswith("`id` is a text or a whole number.")
    for allowed in (0, -1, 2**53, "", "1.5"):
        assert post({**asked, "json": {**asked["json"], "id": allowed}}).json()["id"] == allowed


@pytest.mark.parametrize("version", ["2025-03-26", HANDSHAKE, STATELESS])
@pytest.mark.parametrize("meta", [{}, {"progressToken": 1}])
def test_half_a_character_is_no_reason_to_refuse_a_message(post: Any, version: str, meta: dict[str, Any]) -> None:
    """As texts have that were cut within an emoji. It becomes U+FFFD, as everywhere."""
    place = {"project": "/home/ana/cut", "namespace": "n", "key": "cut"}
    arguments = {"action": "save", **place, "data": {"a": "half \ud83d", "n": 2**70}}
    asked = tool_call("session_store", arguments, version=version)
    asked["json"]["params"]["_meta"] = asked["json"]["params"].get("_meta", {}) | meta
    saved = post(asked)
    assert (saved.status_code, "Saved cut" in saved.text) == (200, True), saved.text
    loaded = post(tool_call("session_store", {"action": "load", **place})).json()
    assert loaded["result"]["structuredContent"]["stored"]["value"] == {"a": "half \ufffd", "n": 2**70}


@pytest.mark.parametrize("version", [HANDSHAKE, STATELESS])
def test_what_is_no_message_is_refused_in_plain_words(post: Any, version: str) -> None:
    asked = request("tools/list", version=version)
    whole = {"jsonrpc": "2.0", "id": 3, "method": "ping"}
    shapes: list[Any] = [{}, 7, "x", {"jsonrpc": "2.0", "id": 3}, {**whole, "method": 5}, {**whole, "params": [1]}]
    shapes += [{**whole, "jsonrpc": "1.0"}, {"id": 3, "method": "ping"}]
    for shape in shapes:
        answer = post({**asked, "json": shape})
        given = shape.get("id") if isinstance(shape, dict) else None
        assert (answer.status_code, answer.json()["id"], answer.json()["error"]["code"]) == (400, given, -32600), shape
        assert answer.json()["error"]["message"].startswith("This is no message of JSON-RPC 2.0"), shape
    assert post({**asked, "json": {"jsonrpc": "2.0", "method": "notifications/initialized"}}).status_code == 202


@pytest.mark.parametrize("version", [HANDSHAKE, STATELESS])
def test_a_prompt_names_the_argument_that_is_too_long(post: Any, version: str) -> None:
    error = post(request("prompts/get", {"name": "resume_work", "arguments": {"project": "x" * 513}}, version=version)).json()[
        "error"
    ]
    assert (error["code"], error["data"]) == (-32602, {"code": "invalid"})
    assert error["message"] == "`project`: String should have at most 512 characters."
    for project in ("x" * 512, "a\0b"):
        given = {"name": "resume_work", "arguments": {"project": project}}
        assert "result" in post(request("prompts/get", given, version=version)).json(), project


@pytest.mark.parametrize("version", [HANDSHAKE, STATELESS])
@pytest.mark.parametrize("part", ["%ff", "%00", "a%00b", "%ED%A0%80"])
def test_an_address_that_no_name_can_have_is_no_resource(post: Any, version: str, part: str) -> None:
    for uri in (f"stillhere://project/{part}/context", f"stillhere://project/p/session/{part}"):
        error = post(request("resources/read", {"uri": uri}, version=version)).json()["error"]
        assert (error["code"], error["message"][:26]) == (
            -32602 if version == STATELESS else -32002,
            "There is no such resource.",
        )


def test_a_handshake_agrees_on_a_version_that_both_know(post: Any) -> None:
    hello = {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    for wanted, agreed in ((HANDSHAKE, HANDSHAKE), ("2024-11-05", "2024-11-05"), ("1999-01-01", HANDSHAKE)):
        asked = request("initialize", {**hello, "protocolVersion": wanted}, version=HANDSHAKE)
        answer = post(asked, MCP_Protocol_Version=None)
        assert answer.json()["result"]["protocolVersion"] == agreed
        assert answer.json()["result"]["serverInfo"]["name"] == "stillhere"
        assert "mcp-session-id" not in answer.headers
    found = post(request("server/discover")).json()["result"]
    assert found["supportedVersions"] == [STATELESS]


def test_answers_may_not_be_stored_or_framed(post: Any) -> None:
    for asked in (LIST, tool_call("session_brief", {"project": "/p"})):
        headers = post(asked).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-request-id"]


def test_the_project_of_a_connection_is_a_parameter_or_a_header(post: Any) -> None:
    save = tool_call("session_store", {"action": "save", "namespace": "n", "key": "k", "data": 1})
    load = tool_call("session_store", {"action": "load", "namespace": "n", "key": "k"})
    refused = post(save).json()["result"]["structuredContent"]["error"]
    assert refused["code"] == "no_project"
    assert "/mcp?project=" in refused["message"]
    assert post(save, "/mcp?project=%2Fhome%2Fana%2Fjos%C3%A9").json()["result"]["isError"] is False
    header = "/home/ana/josé".encode().decode("latin-1")
    assert post(load, X_Stillhere_Project=header.encode("latin-1")).json()["result"]["isError"] is False
    assert post(load, "/mcp?project=/other").json()["result"]["isError"] is True


def test_a_client_that_asks_for_progress_gets_a_stream(post: Any) -> None:
    for version in (HANDSHAKE, STATELESS):
        params = {"name": "session_search", "arguments": {"query": "none", "project": "*"}, "_meta": {"progressToken": "t"}}
        answer = post(request("tools/call", params, version=version))
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
        assert [event.get("method") for event in events] == ["notifications/progress"] * 2 + [None]
        assert events[-1]["result"]["isError"] is False


def test_each_call_is_a_line_of_the_log_without_its_contents(house: House, post: Any) -> None:
    secret = "never-logged-4711"
    post(tool_call("session_store", {"action": "save", "namespace": "n", "key": secret, "data": secret, "project": f"/{secret}"}))
    post(LIST)

    def routes() -> set[str]:
        lines = house.server.whole_log().splitlines(keepends=True)
        return {json.loads(line)["route"] for line in lines if '"stillhere.requests"' in line and line.endswith("\n")}

    wait_for(lambda: {"mcp/session_store", "mcp"} <= routes())  # A line is written once its answer has left.
    assert secret not in house.server.whole_log()


def test_a_handshake_with_one_worker_and_calls_of_another(server: LiveServer, secret: str, plain: Any) -> None:
    """No request depends on an earlier one, so any worker serves any client."""
    plain.headers["Authorization"] = f"Bearer {secret}"
    hello = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    save = {"action": "save", "namespace": "n", "key": "k", "data": 1, "project": "/p"}
    with LiveServer() as other:
        begun = plain.post(f"{server.url}/mcp", **request("initialize", hello, version=HANDSHAKE))
        assert begun.json()["result"]["protocolVersion"] == HANDSHAKE
        ready = request("notifications/initialized", version=HANDSHAKE)
        del ready["json"]["id"]
        assert plain.post(f"{other.url}/mcp", **ready).status_code == 202
        assert len(plain.post(f"{other.url}/mcp", **request("tools/list", version=HANDSHAKE)).json()["result"]["tools"]) == 16
        saved = plain.post(f"{server.url}/mcp", **tool_call("session_store", save, version=HANDSHAKE))
        assert saved.json()["result"]["isError"] is False
        load = {"action": "load", "namespace": "n", "key": "k", "project": "/p"}
        found = plain.post(f"{other.url}/mcp", **tool_call("session_store", load, version=HANDSHAKE)).json()
        assert found["result"]["structuredContent"]["stored"]["value"] == 1
