"""A session moves to another project whole: messages, states and history go along, its id stays, and it can be undone."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sessions_app.models import Event, Project
from tests.support.chat import Chat


@pytest.fixture
def page(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    chat = Chat(api(alice), project="old")
    chat.say("m0", "cleared words")
    chat.clear()
    chat.say("m1", "one", epoch=2)
    chat.api.put(f"/sessions/{chat.id}/agent-state", {"plan": {"title": "Ship", "steps": []}})
    chat.api.put(f"/sessions/{chat.id}/ai-states/claude", {"working_notes": "mind"})
    return chat


def project_of(path: str) -> Project:
    return Project.objects.get(path=path)


def current_of(chat: Chat, path: str) -> Any:
    reply = chat.api.get(f"/resume?project={path}")
    return reply.json()["session"]["id"] if reply.status_code == 200 else None


def everything(chat: Chat) -> list[Any]:
    read = [chat.get(path).json() for path in ("agent-state", "ai-states", "removed")]
    return [*read, chat.texts()]


def move(page: Client, chat: Chat, path: str) -> Any:
    return page.post(f"/sessions/{chat.id}/move/", {"project": str(project_of(path).id)})


def test_everything_goes_along_and_the_move_can_be_undone(page: Client, chat: Chat) -> None:
    before, other = everything(chat), Chat(chat.api, project="new")
    shown = page.get(f"/sessions/{chat.id}/move/").content.decode()
    assert ("1 message," in shown, "claude" in shown, ">new</option>" in shown, ">old</option>" in shown) == (
        True,
        True,
        True,
        False,
    )
    reply = move(page, chat, "new")
    assert (reply.status_code, reply["Location"]) == (302, f"/sessions/{chat.id}/")
    session = chat.read()["session"]
    assert (session["project"], session["state"], everything(chat)) == ("new", "earlier", before)
    assert (current_of(chat, "old"), current_of(chat, "new")) == (None, other.id)
    [undo] = re.findall(r'action="([^"]+move-back[^"]+)"', page.get(reply["Location"]).content.decode())
    page.post(unescape(undo))
    session = chat.read()["session"]
    assert (session["project"], session["state"], everything(chat)) == ("old", "current", before)
    chat.undo(of=1, epoch=session["epoch"])
    assert "cleared words" in chat.texts()


def test_a_frontend_goes_on_saving_and_both_projects_are_told(page: Client, chat: Chat) -> None:
    chat.api.post("/projects", {"path": "empty"})
    assert move(page, chat, "empty").status_code == 302
    assert current_of(chat, "empty") == chat.id
    chat.say("m2", "two", epoch=2)
    assert chat.texts() == ["one", "two"]
    told = {path: list(Event.objects.filter(project=project_of(path)).order_by("event_seq")) for path in ("old", "empty")}
    assert told["old"][-1].type == "SESSION_UPDATED"
    assert [event.type for event in told["empty"]] == ["SESSION_CREATED", "SESSION_SAVED"]
    assert {str(event.session_id) for event in told["empty"]} == {chat.id}


def test_a_move_is_refused_in_words_and_changes_nothing(page: Client, chat: Chat, api: Callable[..., Any], bob: User) -> None:
    taken, strict, foreign = Chat(chat.api, project="taken"), Chat(chat.api, project="strict"), Chat(api(bob), project="foreign")
    for own in (chat, taken):
        project = own.read()["session"]["project_id"]
        made = own.api.post(f"/projects/{project}/sessions", {"external_id": "thread-1"}).json()["id"]
        own.id = made
    chat.api.patch(f"/projects/{project_of('strict').id}", {"settings": {"redaction": "redact"}})
    assert strict.id
    assert [move(page, chat, path).status_code for path in ("taken", "strict", "foreign")] == [409, 409, 404]
    assert page.post(f"/sessions/{chat.id}/move/", {"project": ""}).status_code == 422
    assert chat.read()["session"]["project"] == "old"
    page.force_login(bob)
    assert move(page, chat, "foreign").status_code == 404
    assert foreign.api.get(f"/sessions/{chat.id}").status_code == 404


def test_a_project_that_was_deleted_meanwhile_is_refused_in_the_form(page: Client, chat: Chat) -> None:
    for path in ("gone", "another"):
        Chat(chat.api, project=path)
    gone = project_of("gone").id
    chat.api.delete(f"/projects/{gone}")
    reply = page.post(f"/sessions/{chat.id}/move/", {"project": gone})
    assert reply.status_code == 409
    shown = reply.content.decode()
    assert "This project was deleted meanwhile." in shown
    assert 'id="move-to"' in shown
    assert chat.read()["session"]["project"] == "old"


def version(chat: Chat) -> str:
    return str(chat.api.get(f"/sessions/{chat.id}?messages=0")["ETag"])


def call(chat: Chat, to: str, **headers: str) -> Any:
    return chat.api.post(
        f"/sessions/{chat.id}/move", {"to_project": to}, **{key.replace("_", "-"): headers[key] for key in headers}
    )


def test_by_the_api_it_moves_once_and_over_the_version_that_was_read(chat: Chat) -> None:
    before = everything(chat)
    for path in ("new", "third"):
        chat.api.post("/projects", {"path": path})
    read = chat.read()["session"]
    moved = call(chat, "new", If_Match=version(chat), Idempotency_Key="k1")
    assert (moved.status_code, moved.json()["project"], moved.json()["current"]) == (200, "new", True)
    assert (moved.json()["rev"], moved["ETag"], everything(chat)) == (read["rev"] + 1, version(chat), before)
    stale = call(chat, "third", If_Match='"1.1.1"')
    assert (stale.status_code, stale.json()["error"]["details"]["etag"]) == (412, moved["ETag"])
    assert call(chat, "third").status_code == 200
    again = call(chat, "new", If_Match="anything", Idempotency_Key="k1")
    assert (again.content, again["Idempotent-Replayed"], chat.read()["session"]["project"]) == (moved.content, "true", "third")
    assert call(chat, "third", Idempotency_Key="k1").json()["error"]["code"] == "idempotency_key_reused"
    assert call(chat, "third").json()["rev"] == chat.read()["session"]["rev"] == read["rev"] + 2
    kinds = {path: [event.type for event in Event.objects.filter(project=project_of(path))] for path in ("new", "third")}
    assert kinds == {"new": ["SESSION_CREATED", "SESSION_UPDATED"], "third": ["SESSION_CREATED"]}


def test_by_the_api_it_is_refused_as_on_the_page(chat: Chat, api: Callable[..., Any], alice: User, bob: User) -> None:
    Chat(api(bob), project="foreign")
    for path in ("strict", "gone"):
        chat.api.post("/projects", {"path": path})
    chat.api.patch(f"/projects/{project_of('strict').id}", {"settings": {"redaction": "redact"}})
    chat.api.delete(f"/projects/{project_of('gone').id}")
    assert [call(chat, path).status_code for path in ("nowhere", "foreign", "gone", "strict", "")] == [404, 404, 404, 409, 422]
    reader = Chat(api(alice, scopes=["read"]), session_id=chat.id)
    limited = Chat(api(alice, project_path="old"), session_id=chat.id)
    chat.api.post("/projects", {"path": "new"})
    assert (call(reader, "new").status_code, call(limited, "new").status_code) == (403, 404)
    chat.api.delete(f"/sessions/{chat.id}")
    assert call(chat, "new").status_code == 410
    assert chat.api.post(f"/sessions/{chat.id}/undelete").json()["project"] == "old"


def test_the_transfer_form_opens_with_all_that_there_is(page: Client, chat: Chat) -> None:
    chat.say("m2", "two", epoch=2, opening_step="work")
    shown = page.get(f"/sessions/{chat.id}/transfer/").content.decode()
    boxes = re.findall(r'type="checkbox" name="(\w+)"[^>]* (checked)?>', shown)
    assert dict(boxes) == dict.fromkeys(("ai", "agent_state", "messages", "opening_step"), "checked")
    assert "Messages (2)" in shown
    assert f'href="/sessions/{chat.id}/move/"' in shown
