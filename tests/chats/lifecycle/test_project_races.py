"""A project changes, or is erased, while somebody else is at work in it."""

import pytest
from django.contrib.auth.models import User

from sessions_app.core.callers import caller_of_user
from sessions_app.models import Caller, Project
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
