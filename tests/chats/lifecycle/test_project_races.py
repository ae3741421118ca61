"""A project changes, or is erased, while somebody else is at work in it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from memory_app.runs.services import start_run
from sessions_app.chats.lifecycle.deletion import delete_project, undelete_project
from sessions_app.chats.lifecycle.erasing.rows import erase_project
from sessions_app.core.callers import caller_of_user
from sessions_app.models import Caller, Project
from sessions_app.projects.queries import ProjectNotFound
from sessions_app.projects.services import update_project
from tests.chats.test_locking import meanwhile, waits
from tests.support.chat import Chat

pytestmark = [pytest.mark.django_db(transaction=True), waits]


@pytest.fixture
def caller(alice: User) -> Caller:
    return caller_of_user(alice)


@pytest.fixture
def project(chat: Chat) -> Project:
    return Project.objects.get(path=chat.project)


def test_a_setting_that_somebody_else_changed_meanwhile_stays(project: Project, caller: Caller) -> None:
    def change() -> None:
        update_project(caller=caller, project_id=project.id, fields={"settings": {"redaction": "redact"}})

    def instruct() -> Project:
        return update_project(caller=caller, project_id=project.id, fields={"settings": {"instructions": "Be brief."}})

    with meanwhile(change, instruct) as (changed,):
        assert changed.settings == {"redaction": "redact", "instructions": "Be brief."}
    project.refresh_from_db()
    assert project.settings == changed.settings


@pytest.mark.parametrize("act", ["rename", "run", "restore"])
def test_who_works_in_a_project_that_is_erased_is_told_that_it_is_gone(project: Project, caller: Caller, act: str) -> None:
    project_id = project.id
    start_run(caller=caller, project_id=project_id)
    if act == "restore":
        delete_project(caller=caller, project_id=project_id)
    acts: dict[str, Callable[[], Any]] = {
        "rename": lambda: update_project(caller=caller, project_id=project_id, fields={"name": "new"}),
        "run": lambda: start_run(caller=caller, project_id=project_id),
        "restore": lambda: undelete_project(caller=caller, project_id=project_id),
    }
    with meanwhile(lambda: erase_project(project), acts[act]) as (answer,):
        assert isinstance(answer, ProjectNotFound)
