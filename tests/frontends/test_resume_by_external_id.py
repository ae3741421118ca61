"""A resume of one of several chats, by the frontend's own id for it."""

import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User

from tests.support.chat import Chat

PROJECT = "/home/alice/chats"
STRANGE = "Läden & Söhne/1?#%"


def named(api: Any, external_id: str, *, project: str = PROJECT) -> Chat:
    session_id = str(uuid.uuid4())
    body = {"project": project, "external_id": external_id}
    assert api.put(f"/sessions/{session_id}", body, **{"If-None-Match": "*"}).status_code == 201
    return Chat(api, project=project, session_id=session_id)


def resumed(api: Any, external_id: str, more: str = "") -> Any:
    return api.get(f"/resume?project={PROJECT}&external_id={quote(external_id, safe='')}{more}")


@pytest.fixture
def client(api: Callable[..., Any], alice: User) -> Any:
    return api(alice)


def test_each_chat_has_its_own_messages_and_the_newest_is_current(client: Any) -> None:
    first, second = named(client, "a"), named(client, STRANGE)
    first.say("m1", "in the first")
    second.say("m1", "in the second")
    for external_id, chat, text in (("a", first, "in the first"), (STRANGE, second, "in the second")):
        found = resumed(client, external_id).json()
        assert (found["session"]["id"], found["session"]["external_id"]) == (chat.id, external_id)
        assert [message["text"] for message in found["messages"]] == [text]
        assert found["project"]["current_session"] == second.id
        assert found["session"]["current"] is (chat is second)
    assert client.get(f"/resume?project={PROJECT}").json()["session"]["id"] == second.id


def test_none_and_one_in_the_trash(client: Any) -> None:
    chat = named(client, "a")
    assert resumed(client, "b").json()["error"]["code"] == "nothing_saved"
    assert resumed(client, "b", "&optional=1").status_code == 204
    assert resumed(client, "").status_code == 422
    etag = resumed(client, "a").headers["ETag"]
    assert client.get(f"/resume?project={PROJECT}&external_id=a", **{"If-None-Match": etag}).status_code == 304
    assert client.delete(f"/sessions/{chat.id}").status_code == 204
    assert resumed(client, "a", "&optional=1").status_code == 410


def test_others_and_keys_of_another_project_find_none(client: Any, api: Callable[..., Any], alice: User, bob: User) -> None:
    named(client, "a")
    assert resumed(api(bob), "a").status_code == 404
    assert resumed(api(alice, project_path="/home/alice/elsewhere"), "a").status_code == 404


def test_a_project_is_named_by_its_path_or_its_id(client: Any, api: Callable[..., Any], bob: User) -> None:
    chat = named(client, "a")
    chat.say("m1", "words")
    [project] = [item["id"] for item in client.get("/projects").json()["items"]]
    for more in ("", "&external_id=a", "&external_id=a&as=openai.chat"):
        found = client.get(f"/resume?project={project}{more}").json()
        assert (found["project"]["path"], found["session"]["id"]) == (PROJECT, chat.id)
    assert api(bob).get(f"/resume?project={project}").status_code == 404
    body = {"project": project, "external_id": "b"}
    assert client.put(f"/sessions/{uuid.uuid4()}", body, **{"If-None-Match": "*"}).status_code == 201
    assert client.post("/projects", {"path": project}).json()["id"] == project
    assert [item["path"] for item in client.get("/projects").json()["items"]] == [PROJECT]
    # Somebody else's id is a name like any other.
    assert api(bob).post("/projects", {"path": project}).json()["id"] != project
