"""What a file brings follows the project's rule for secrets, and a frozen handoff in it is the one that was frozen."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.models import ConflictCopy, HandoffSnapshot, Message
from tests.support.account_contents import everything, projects
from tests.support.chat import Chat
from tests.support.export_files import download, purge, resealed, rows, upload

pytestmark = pytest.mark.django_db
SECRET = "ghp_" + "a1B2" * 9
TEXT = f"my key is {SECRET}"
HIDDEN = "my key is [REDACTED:github_token]"
FOUND = {"github_token": 1}


def with_secrets(api: Any, mode: str, *, saved_under: str = "") -> Chat:
    """A session with a secret in a live message, in a cleared one and in a conflict copy."""
    chat = Chat(api)
    project = f"/projects/{chat.read()['session']['project_id']}"
    api.patch(project, {"settings": {"redaction": saved_under or mode}})
    chat.say("m0", TEXT)
    chat.clear()
    chat.say("m1", TEXT, epoch=2)
    other = Chat(api, session_id=chat.id)
    other.ops({"op": "upsert", "id": "m1", "role": "user", "text": f"another: {TEXT}"}, epoch=2)
    api.patch(project, {"settings": {"redaction": mode}})
    return chat


@pytest.mark.parametrize("mode", ["off", "flag", "redact"])
def test_what_was_saved_under_the_rule_comes_back_byte_for_byte(api: Callable[..., Any], alice: User, mode: str) -> None:
    mine = api(alice)
    with_secrets(mine, mode)
    before, content = everything(mine), download(mine)
    purge(mine)
    assert upload(mine, content).json()["redacted"] == {}
    assert everything(mine) == before
    assert rows(download(mine)) == rows(content)


def test_what_was_left_alone_is_pointed_out_where_the_project_now_wants_that(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    chat = with_secrets(mine, "flag", saved_under="off")
    content = download(mine)
    purge(mine)
    assert upload(mine, content).json()["redacted"] == {"github_token": 3}
    (message,) = chat.read()["messages"]
    assert (message["text"], message["flagged"]) == (TEXT, FOUND)
    assert [json.loads(copy.flagged or "{}") for copy in ConflictCopy.objects.all()] == [FOUND]


def test_what_was_stored_before_the_project_took_secrets_out_comes_in_without_them(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    chat = with_secrets(mine, "redact", saved_under="flag")
    content = download(mine)
    purge(mine)
    assert upload(mine, content).json()["redacted"] == {"github_token": 3}
    assert SECRET.encode() not in download(mine)
    read = chat.read()
    assert [message["text"] for message in read["messages"]] == [HIDDEN]
    assert read["session"]["size_bytes"] == Message.objects.get(epoch=2).size_bytes == len(HIDDEN)
    chat.undo(of=1, epoch=2)
    assert chat.texts() == [HIDDEN, HIDDEN]


def test_a_file_that_says_less_of_a_size_than_is_true_comes_in_with_the_true_one(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    chat = with_secrets(mine, "redact", saved_under="flag")
    lines = download(mine).splitlines()[:-1]
    for index, line in enumerate(lines):
        value = json.loads(line)
        for kind in {"session", "message"} & value.keys():
            value[kind]["size_bytes"] = 0
        lines[index] = json.dumps(value).encode()
    purge(mine)
    answer = upload(mine, resealed(lines))
    assert (answer.status_code, answer.json()["redacted"]) == (200, {"github_token": 3})
    read = chat.read()
    assert read["session"]["size_bytes"] == Message.objects.get(epoch=2).size_bytes == len(HIDDEN)


def test_the_rule_is_that_of_the_project_that_is_there(api: Callable[..., Any], alice: User, bob: User) -> None:
    """Not the file's, which anybody can write."""
    alice_api, bob_api = api(alice), api(bob)
    chat = with_secrets(alice_api, "off")
    content = download(alice_api)
    purge(alice_api)
    project = bob_api.post("/projects", {"path": chat.project}).json()["id"]
    bob_api.patch(f"/projects/{project}", {"settings": {"redaction": "redact"}})
    assert upload(bob_api, content).status_code == 200
    assert SECRET.encode() not in download(bob_api)


def test_a_frozen_handoff_that_was_tampered_with_is_refused_by_name(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    project = mine.post("/projects", {"path": "/home/alice/shop"}).json()["id"]
    for number in (1, 2):
        mine.post(f"/projects/{project}/handoff/decisions", {"text": f"decision {number}"})
        mine.post(f"/projects/{project}/handoff/freeze")
    lines = download(mine).splitlines()[:-1]
    purge(mine)
    last = next(index for index, line in enumerate(lines) if b'"number":2' in line and line.startswith(b'{"handoff_snapshot"'))
    honest = lines[last]
    lines[last] = honest.replace(b"decision 2", b"decision 9")
    refused = upload(mine, resealed(lines)).json()["error"]
    assert (refused["code"], refused["details"]) == ("bad_export", {"line": last + 1})
    assert "handoff_snapshot 2 does not have its sha256" in refused["message"]
    assert projects(mine) == []
    lines[last] = honest
    assert upload(mine, resealed(lines)).status_code == 200
    assert all(hashlib.sha256(row.payload.encode()).hexdigest() == row.sha256 for row in HandoffSnapshot.objects.all())
