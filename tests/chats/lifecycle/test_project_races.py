"""A project changes, or is erased, while somebody else is at work in it."""

import threading
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from memory_app.key_value.entries.entry_values import NewEntry
from memory_app.key_value.entries.services import put_entry
from memory_app.runs.services import start_run
from sessions_app.chats.beacon.tokens import create_flush_token
from sessions_app.chats.lifecycle.deletion import delete_project, purge_project, undelete_project
from sessions_app.chats.lifecycle.erasing.rows import erase_project, erase_sessions
from sessions_app.chats.locking import lock_session
from sessions_app.chats.reading.sessions import SessionNotFound
from sessions_app.chats.sessions.services import NewSession, create_session
from sessions_app.core.callers import caller_of_user
from sessions_app.core.web.preconditions import ANY
from sessions_app.models import Caller, ChatSession, Event, Project
from sessions_app.models.event import EventType
from sessions_app.projects.queries import ProjectNotFound
from sessions_app.projects.services import update_project
from tests.chats.test_locking import SECONDS, meanwhile, wait_until_one_waits, waits
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


@pytest.mark.parametrize("act", ["rename", "run", "restore", "put"])
def test_who_works_in_a_project_that_is_erased_is_told_that_it_is_gone(project: Project, caller: Caller, act: str) -> None:
    project_id = project.id
    if act == "run":
        start_run(caller=caller, project_id=project_id)
    if act == "restore":
        delete_project(caller=caller, project_id=project_id)
    acts: dict[str, Callable[[], Any]] = {
        "rename": lambda: update_project(caller=caller, project_id=project_id, fields={"name": "new"}),
        "run": lambda: start_run(caller=caller, project_id=project_id),
        "put": lambda: put_entry(
            caller=caller, project_id=project_id, entry=NewEntry("notes", "k", 1), conditions=ANY, run_id=None
        ),
        "restore": lambda: undelete_project(caller=caller, project_id=project_id),
    }
    with meanwhile(lambda: erase_project(project), acts[act]) as (answer,):
        assert isinstance(answer, ProjectNotFound)


@pytest.mark.parametrize("others", [True, False])
def test_a_session_that_comes_into_a_project_at_its_end_is_erased_with_it(chat: Chat, caller: Caller, *, others: bool) -> None:
    project = Project.objects.get(path=chat.project)
    if not others:
        chat.api.delete(f"/sessions/{chat.id}?purge=1")

    def begin() -> None:
        create_session(caller=caller, project_id=project.id, new=NewSession())

    with meanwhile(begin, lambda: purge_project(caller=caller, project_id=project.id)) as (answer,):
        assert answer is None
    assert not Project.objects.exists()
    assert not ChatSession.objects.exists()


def beside(act: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """A thread that does this in transactions of its own, and what it answered or raised."""
    answers: list[Any] = []

    def run() -> None:
        try:
            answers.append(act())
        except Exception as error:
            answers.append(error)
        finally:
            connection.close()

    return threading.Thread(target=run), answers


def test_who_adds_to_a_session_that_is_erased_is_told_that_it_is_gone(chat: Chat, caller: Caller) -> None:
    """What is added names the session, for which the database looks at the end."""
    own_id = uuid.UUID(chat.id)
    thread, answers = beside(lambda: create_flush_token(caller=caller, session_id=own_id))
    with transaction.atomic():
        erase_sessions([own_id])
        thread.start()
        wait_until_one_waits()
    thread.join(SECONDS)
    assert [type(answer) for answer in answers] == [SessionNotFound]


def test_a_save_and_the_end_of_its_project_wait_for_each_other_in_one_order(chat: Chat, project: Project, caller: Caller) -> None:
    thread, answers = beside(lambda: purge_project(caller=caller, project_id=project.id))
    with transaction.atomic():
        session = lock_session(caller=caller, session_id=uuid.UUID(chat.id))
        thread.start()
        wait_until_one_waits()
        session.publish(EventType.SESSION_SAVED, caller)
    thread.join(SECONDS)
    assert answers == [None]
    assert not ChatSession.objects.exists()
    assert not Event.objects.exists()
