"""Imports beside projects in the trash, here and in the file: what comes in is where its owner finds it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.models import Project
from sessions_app.portability.imports import staging
from sessions_app.portability.imports.staged_rows import MadeMeanwhile
from tests.portability.background_imports import leave, pieces, post, status, work
from tests.support.account_contents import everything, projects
from tests.support.chat import Chat
from tests.support.export_files import call_import, download, purge, rows

pytestmark = pytest.mark.django_db


def delete_project(api: Any, chat: Chat) -> str:
    project = str(chat.read()["session"]["project_id"])
    assert api.delete(f"/projects/{project}").status_code == 204
    return project


def test_a_project_at_the_path_of_one_in_the_trash_comes_back_beside_it(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    former = Chat(mine, project="/p")
    former.say("m1", "in the trash")
    in_trash = delete_project(mine, former)
    chat = Chat(mine, project="/p")
    chat.say("m1", "here")
    mine.post(f"/projects/{chat.read()['session']['project_id']}/handoff/decisions", {"id": "d1", "text": "kept"})
    content, before = download(mine), everything(mine)
    purge(mine)
    assert mine.delete(f"/projects/{in_trash}?purge=1").status_code == 204
    assert call_import(alice, content)["project"] == 2
    assert (everything(mine), rows(download(mine))) == (before, rows(content))
    assert Project.objects.get(deleted_at=None).sessions.count() == 1


def lost_session(api: Any) -> tuple[Chat, bytes, str]:
    """A session that only an export has, and its project, which is in the trash with another one."""
    other, chat = Chat(api, project="/p"), Chat(api, project="/p")
    other.say("m1", "in the trash")
    project = chat.read()["session"]["project_id"]
    api.patch(f"/projects/{project}", {"name": "Shop", "settings": {"redaction": "off"}})
    for number in range(12):
        chat.say(f"m{number}", f"words {number}")
    content = download(api)
    assert api.delete(f"/sessions/{chat.id}?purge=1").status_code == 204
    assert delete_project(api, other) == project
    return chat, content, project


@pytest.mark.usefixtures("short_pieces")
def test_what_comes_in_is_not_put_into_the_trash(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    chat, content, in_trash = lost_session(mine)
    job = post(mine, content)
    work()
    done = status(mine, job)
    assert (done["state"], done["added"]["project"], done["added"]["session"], done["present"]) == (
        "done",
        1,
        1,
        {"session": 1, "message": 1},
    )
    [project] = projects(mine)
    found = mine.get(f"/projects/{project}").json()
    assert (project != in_trash, found["path"], found["name"]) == (True, "/p", "Shop")
    assert Project.objects.get(id=project).settings == {"redaction": "off"}
    assert mine.get("/resume?project=/p").json()["session"]["id"] == chat.id
    assert chat.texts() == [f"words {number}" for number in range(12)]
    assert call_import(alice, content) == {}
    assert projects(mine) == [project]
    assert mine.post(f"/imports/{job['id']}/undo").status_code == 200
    work()
    assert projects(mine) == []


@pytest.mark.usefixtures("short_pieces")
def test_an_import_that_was_interrupted_goes_on_beside_the_trash(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    chat, content, _ = lost_session(mine)
    job, left = pieces(alice, content)
    while not job.place or not job.place["places"].get("message"):
        next(left)
        job.refresh_from_db(fields=["place"])
    left.close()
    leave(alice)
    assert call_import(alice, content)["session"] == 1
    assert len(chat.texts()) == 12


def test_it_joins_the_project_that_has_the_path_now(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    chat, content, _ = lost_session(mine)
    now = Chat(mine, project="/p")
    assert call_import(alice, content)["session"] == 1
    assert chat.read()["session"]["project_id"] == now.read()["session"]["project_id"]
    assert len(projects(mine)) == 1


def test_where_nothing_is_missing_no_project_is_made(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    chat = Chat(mine, project="/p")
    content = download(mine)
    delete_project(mine, chat)
    assert call_import(alice, content) == {}
    assert projects(mine) == []


def test_what_was_in_the_trash_comes_back_into_it(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    chat, other = Chat(mine, project="/p"), Chat(mine, project="/p")
    in_trash = delete_project(mine, other)
    content = download(mine)
    Project.objects.get(id=in_trash).sessions.filter(id=chat.id).delete()
    assert call_import(alice, content)["session"] == 1
    assert projects(mine) == []
    assert Project.objects.get().sessions.count() == 2


def test_an_external_id_that_is_taken_in_the_trash_is_free(api: Callable[..., Any], alice: User) -> None:
    mine = api(alice)
    project = Chat(mine, project="/p").read()["session"]["project_id"]
    address = f"/projects/{project}/sessions/by-external/thread"
    former = mine.put(address, {}).json()["id"]
    content = download(mine)
    assert mine.delete(f"/sessions/{former}?purge=1").status_code == 204
    assert mine.put(address, {}).status_code == 201
    assert mine.delete(f"/projects/{project}").status_code == 204
    assert call_import(alice, content)["session"] == 1
    assert mine.get(f"/sessions/{former}").json()["session"]["external_id"] == "thread"


def test_a_project_that_is_erased_from_the_trash_meanwhile_is_a_refusal(
    api: Callable[..., Any], alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = api(alice)
    chat, content, in_trash = lost_session(mine)

    def erase(*_: Any) -> None:
        assert mine.delete(f"/projects/{in_trash}?purge=1").status_code == 204

    with monkeypatch.context() as patch:
        patch.setattr(staging, "_refuse_external_id", erase)
        with pytest.raises(MadeMeanwhile):
            call_import(alice, content)
    assert call_import(alice, content)["session"] == 2
    assert len(chat.texts()) == 12
