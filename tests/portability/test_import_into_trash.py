"""Imports beside projects in the trash, here and in the file: what comes in is where its owner finds it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.models import Project
from tests.support.account_contents import everything
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
