"""A project that only has to be there is looked for by plain SQL: with the answers of the query by the ORM."""

import uuid
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User

from sessions_app.core.callers import caller_of_user
from sessions_app.models import Project
from sessions_app.models.times import now
from sessions_app.projects.queries import check_project, get_project

pytestmark = pytest.mark.django_db


def _refusal(ask: Any, **asked: Any) -> Any:
    try:
        ask(**asked)
    except Exception as error:
        return type(error), str(error)
    return None


def test_it_refuses_whom_the_project_itself_refuses(alice: User, bob: User) -> None:
    mine = Project.objects.create(owner=alice, path="/a")
    other = Project.objects.create(owner=alice, path="/b")
    trashed = Project.objects.create(owner=alice, path="/c", deleted_at=now())
    staged = Project.objects.create(owner=None, path="/d")
    anyone = caller_of_user(alice)
    callers = [anyone, caller_of_user(bob), replace(anyone, project_id=mine.id), replace(anyone, project_id=trashed.id)]
    answers = []
    for caller in callers:
        for project_id in (mine.id, other.id, trashed.id, staged.id, uuid.uuid4()):
            asked = {"caller": caller, "project_id": project_id}
            answers.append(_refusal(check_project, **asked))
            assert answers[-1] == _refusal(get_project, **asked)
    assert answers.count(None) == 3
