"""Between two steps of a request somebody else erases, renames or makes what it is about: the answer says so, and is no 500.

The other one acts at the very moment, out of a function that the request calls between its steps.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from sessions_app.chats import locking
from sessions_app.chats.lifecycle import deletion
from sessions_app.chats.lifecycle.erasing.rows import erase_project
from sessions_app.chats.search import message_search
from sessions_app.models import ChatSession, Project
from sessions_app.models.times import now
from sessions_app.projects import services as project_services
from tests.support.chat import Chat
from tests.support.databases import ON_POSTGRESQL
from tests.support.saves import refusal

pytestmark = pytest.mark.django_db
Meanwhile = Callable[[Any, str, Callable[[], object]], None]


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """`act` happens once, after this module's function of this name has answered."""

    def arrange(module: Any, name: str, act: Callable[[], object]) -> None:
        usual = getattr(module, name)

        def interrupted(*positional: Any, **named: Any) -> Any:
            found = usual(*positional, **named)
            monkeypatch.setattr(module, name, usual)
            act()
            return found

        monkeypatch.setattr(module, name, interrupted)

    return arrange


@pytest.fixture
def project(chat: Chat) -> str:
    return str(chat.read()["session"]["project_id"])


def elsewhere(act: Callable[[], object]) -> None:
    """Over a connection of its own, and committed."""

    def work() -> None:
        with closing(connection), transaction.atomic():
            act()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(not ON_POSTGRESQL, reason="on SQLite nobody else writes between two steps of a write")
@pytest.mark.parametrize(("purge", "told"), [(True, (404, "not_found")), (False, (410, "project_deleted"))])
def test_a_project_that_goes_while_a_session_is_made(
    chat: Chat, project: str, meanwhile: Meanwhile, purge: bool, told: tuple[int, str]
) -> None:
    rows = Project.objects.filter(id=project)

    def go() -> None:
        if purge:
            erase_project(rows.get())
        else:
            rows.update(deleted_at=now())

    meanwhile(locking, "get_project", lambda: elsewhere(go))
    assert refusal(chat.api.post(f"/projects/{project}/sessions", {})) == told


def test_two_changes_of_a_project_at_once_both_stay(chat: Chat, project: str, meanwhile: Meanwhile) -> None:
    rename = Project.objects.filter(id=project)
    meanwhile(project_services, "get_project", lambda: rename.update(name="renamed meanwhile"))
    assert chat.api.patch(f"/projects/{project}", {"settings": {"redaction": "off"}}).status_code == 200
    changed = chat.api.get(f"/projects/{project}").json()
    assert (changed["name"], changed["settings"]["redaction"]) == ("renamed meanwhile", "off")


def test_a_path_that_is_taken_while_its_project_comes_back(chat: Chat, project: str, alice: User, meanwhile: Meanwhile) -> None:
    chat.api.delete(f"/projects/{project}")
    twin = partial(Project.objects.create, owner=alice, path=chat.project)
    # The second time that it asks for the time it has already looked whether the path is free.
    meanwhile(deletion, "now", lambda: meanwhile(deletion, "now", twin))
    assert refusal(chat.api.post(f"/projects/{project}/undelete")) == (409, "path_taken")


@pytest.mark.skipif(ON_POSTGRESQL, reason="one statement finds and reads there")
def test_a_session_that_is_erased_while_it_is_found(chat: Chat, meanwhile: Meanwhile) -> None:
    chat.api.patch(f"/sessions/{chat.id}", {"title": "the plan for lunch"})
    chat.say("m1", "hello")
    meanwhile(message_search, "_newest", lambda: ChatSession.objects.filter(id=chat.id).delete())
    found = chat.api.get("/search?q=plan+for")
    assert (found.status_code, found.json()["items"]) == (200, [])
    assert not ChatSession.objects.filter(id=chat.id).exists()
