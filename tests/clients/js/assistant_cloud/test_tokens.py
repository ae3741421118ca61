"""Tokens of pages: short-lived, for one project, and gone with the key. No key gets into a page."""

import time
from typing import Any

import jwt
import pytest

from sessions_app.accounts.api_keys import create_key, revoke_key
from sessions_app.core.callers import caller_of_user
from sessions_app.frontends.assistant_ui import tokens
from tests.clients.js.assistant_cloud.conftest import Script
from tests.clients.js.conftest import needs_packages

MINTED = """
const { token } = await cloud().auth.tokens.create();
const { threads } = page(token);
const { thread_id } = await threads.create({ last_message_at: now() });
const elsewhere = await cloud("/users/ben").threads.create({ last_message_at: now() });
say({ token, own: (await threads.list()).threads.map(({ workspace_id }) => workspace_id),
  foreign: await refused(threads.get(elsewhere.thread_id)), more: await refused(page(token).auth.tokens.create()) });
"""
USED = "say(await refused(page(GIVEN.token).threads.list()));"


def claims(**changed: Any) -> dict[str, Any]:
    return {"aud": "stillhere/assistant-ui", "exp": int(time.time()) + 60, "sub": "x", "project": "x", **changed}


@needs_packages
def test_a_page_uses_a_token_that_its_backend_got_and_gets_no_further_ones(script: Script) -> None:
    said = script(MINTED)
    assert (said["own"], said["foreign"], said["more"]) == (["/users/ana"], 404, 403)
    # The client reads when it expires.
    assert 0 < jwt.decode(said["token"], options={"verify_signature": False})["exp"] - time.time() <= 600


@needs_packages
def test_a_token_ends_with_its_key_and_by_its_time(script: Script, api: Any, alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    caller = caller_of_user(alice)
    key = create_key(caller=caller)
    token = script("say((await cloud().auth.tokens.create()).token);", key=key.secret)
    assert script(USED, token=token) == 0
    revoke_key(caller=caller, key_id=key.row.id)
    assert script(USED, token=token) == 401
    monkeypatch.setattr(tokens, "TOKEN_SECONDS", -1)
    assert script(USED, token=script("say((await cloud().auth.tokens.create()).token);")) == 401


@needs_packages
def test_a_key_for_one_project_needs_no_workspace_and_gets_into_no_other(script: Script, alice: Any) -> None:
    key = create_key(caller=caller_of_user(alice), project_path="/users/ana").secret
    code = """
    await cloud("").threads.create({ last_message_at: now() });
    const other = await refused(cloud("/users/ben").threads.create({ last_message_at: now() }));
    say([(await cloud("").threads.list()).threads.length, other]);
    """
    assert script(code, key=key) == [1, 403]


def test_forged_and_damaged_tokens_are_refused(client: Any, db: None) -> None:
    forged = [
        jwt.encode(claims(), b"x" * 32, "HS256"),
        jwt.encode(claims(), "", "none"),
        jwt.encode(claims(), tokens._secret(), "HS256"),
        jwt.encode(claims(aud="other"), tokens._secret(), "HS256"),
        "a.b.c",
        "",
        "sh_unknown",
    ]
    for token in forged:
        answer = client.get("/v1/threads", headers={"Authorization": f"Bearer {token}"})
        assert (answer.status_code, answer.json()["error"]["code"] in {"bad_token", "unauthorized"}) == (401, True), token


def test_a_token_opens_nothing_else(api: Any, alice: Any, client: Any) -> None:
    made = api(alice).client.post("/v1/auth/tokens", headers={"Aui-Workspace-Id": "/users/ana"})
    headers = {"Authorization": f"Bearer {made.json()['token']}"}
    assert client.get("/v1/threads", headers=headers).status_code == 200
    assert client.get("/api/v1/projects", headers=headers).status_code == 401


def test_a_cookie_opens_nothing(client: Any, alice: Any) -> None:
    client.force_login(alice)
    assert client.get("/v1/threads", headers={"Aui-Workspace-Id": "x"}).status_code == 401
    assert client.post("/v1/auth/tokens", headers={"Aui-Workspace-Id": "x"}).status_code == 401


def test_a_key_that_only_reads_writes_nothing(api: Any, alice: Any) -> None:
    reader = api(alice, scopes=("read",)).client
    headers = {"Aui-Workspace-Id": "/users/ana"}
    assert reader.get("/v1/threads", headers=headers).json() == {"threads": []}
    assert reader.post("/v1/threads", {}, content_type="application/json", headers=headers).status_code == 403


def test_a_page_on_another_origin_may_call_it(client: Any, settings: Any) -> None:
    settings.CORS_ALLOWED_ORIGINS = ["https://shop.example"]
    asked = {"Origin": "https://shop.example", "Access-Control-Request-Method": "PUT"}
    wanted = "aui-sdk, aui-user-id, aui-workspace-id, authorization, content-type"
    answer = client.options("/v1/threads/x", headers={**asked, "Access-Control-Request-Headers": wanted})
    assert answer["Access-Control-Allow-Origin"] == "https://shop.example"
    assert set(wanted.split(", ")) <= set(answer["Access-Control-Allow-Headers"].split(", "))


def test_unknown_addresses_answer_as_the_api_does(client: Any) -> None:
    answer = client.post("/v1/runs", {}, content_type="application/json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
