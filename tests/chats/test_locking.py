"""Locks on sessions and projects: whose they are, what they hold, and what they find when the world moved while they waited."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from sessions_app.chats import locking
from sessions_app.chats.locking import LockedSession, lock_project_and_current, lock_session
from sessions_app.chats.reading.sessions import SessionDeleted, SessionNotFound
from sessions_app.core.callers import caller_of_user
from sessions_app.core.errors import NotFound, Unavailable
from sessions_app.core.storage.transactions import StaleRead
from sessions_app.models import Caller, ChatSession, Project
from sessions_app.models.live import Live
from sessions_app.projects.queries import ProjectDeleted, get_project
from tests.support.chat import Chat
from tests.support.databases import ON_POSTGRESQL

pytestmark = pytest.mark.django_db(transaction=True)
waits = pytest.mark.skipif(not ON_POSTGRESQL, reason="SQLite has one writer: nobody waits for a row.")
SECONDS = 10
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def caller(alice: User) -> Caller:
    return caller_of_user(alice)


@pytest.fixture
def other(chat: Chat) -> Chat:
    """A session in another project."""
    return Chat(chat.api, project="/home/alice/other")


def id_of(chat: Chat) -> uuid.UUID:
    return uuid.UUID(chat.id)


def project_of(chat: Chat) -> Project:
    return Project.objects.get(path=chat.project)


def locked(caller: Caller, chat: Chat) -> LockedSession:
    with transaction.atomic():
        return lock_session(caller=caller, session_id=id_of(chat))


def with_current(caller: Caller, chat: Chat, **more: Any) -> Project:
    with transaction.atomic():
        return lock_project_and_current(caller=caller, project_id=project_of(chat).id, **more)


def test_a_locked_session_holds_the_numbers_as_they_are(chat: Chat, caller: Caller) -> None:
    chat.say("m1", "hello", opening_step="brainstorm")
    chat.say("m2", "you")
    found = locked(caller, chat)
    numbers = (found.epoch, found.rev, found.last_position, found.message_count, found.size_bytes, found.opening_step)
    assert numbers == (1, 2, 2, 2, 8, "brainstorm")
    assert (found.id, found.project_id, found.redaction) == (id_of(chat), project_of(chat).id, "flag")
    chat.api.patch(f"/projects/{found.project_id}", {"settings": {"redaction": "redact"}})
    assert locked(caller, chat).redaction == "redact"


def test_what_is_written_is_found_again(chat: Chat, other: Chat, caller: Caller) -> None:
    ChatSession.objects.update(updated_at=LONG_AGO)
    with transaction.atomic():
        session = lock_session(caller=caller, session_id=id_of(chat))
        session.epoch, session.rev, session.last_position = 2, 3, 4
        session.message_count, session.size_bytes, session.opening_step = 5, 6, "plan"
        session.write()
        session.store_epoch()
    assert locked(caller, chat) == session
    assert ChatSession.objects.get(id=chat.id).updated_at > LONG_AGO
    assert ChatSession.objects.get(id=other.id).updated_at == LONG_AGO
    assert locked(caller, other).rev == 0


REVIVED = [(Live(2, 0, 7), 2), (Live(2, 5, 0), 4), (Live(2, 5, 7), 4), (Live(2, 5, 150, 2), 4), (Live(2, 9, 900, 9), 4)]


@pytest.mark.parametrize(("live", "epoch"), [(Live(3), 3), *REVIVED])
def test_which_messages_are_live_is_found_again(chat: Chat, caller: Caller, live: Live, epoch: int) -> None:
    with transaction.atomic():
        session = lock_session(caller=caller, session_id=id_of(chat))
        assert (session.live, session.epoch) == (Live(1, 0, 0), 1)
        session.live, session.epoch = live, epoch
        session.write()
        session.store_epoch()
    assert (locked(caller, chat).live, locked(caller, chat).epoch) == (live, epoch)


def test_an_event_tells_of_the_session_as_it_is_now(chat: Chat, caller: Caller) -> None:
    with transaction.atomic():
        session = lock_session(caller=caller, session_id=id_of(chat))
        session.epoch, session.rev = 3, 7
        session.publish("session.updated", caller, writer_id="w1", data={"n": 1})
    event = chat.api.get(f"/projects/{session.project_id}/events?since=0").json()["items"][-1]
    told = {"type": "session.updated", "session": chat.id, "epoch": 3, "rev": 7, "data": {"n": 1}}
    assert event == {**event, **told, "by": {"user": "alice", "writer_id": "w1"}}


def test_what_is_not_the_caller_s_is_not_found(chat: Chat, other: Chat, caller: Caller, bob: User) -> None:
    limited = replace(caller, project_id=project_of(chat).id)
    assert locked(limited, chat).id == id_of(chat)
    for who, session_id in ((caller, uuid.uuid4()), (caller_of_user(bob), id_of(chat)), (limited, id_of(other))):
        with pytest.raises(SessionNotFound):
            lock_session(caller=who, session_id=session_id)


@pytest.mark.parametrize("model", [ChatSession, Project])
def test_what_is_in_the_trash_is_not_locked(chat: Chat, other: Chat, caller: Caller, model: Any) -> None:
    row = id_of(chat) if model is ChatSession else project_of(chat).id
    model.objects.filter(id=row).update(deleted_at=LONG_AGO)
    with pytest.raises(SessionDeleted) as refused:
        locked(caller, chat)
    assert refused.value.details == {"session": chat.id}
    assert locked(caller, other).id == id_of(other)


def test_a_project_with_its_current_session_and_another_one(chat: Chat, other: Chat, caller: Caller) -> None:
    earlier = Chat(chat.api, project=chat.project)
    there = project_of(other).id
    assert with_current(caller, chat).id == project_of(chat).id
    assert with_current(caller, chat, also=id_of(earlier)).id == project_of(chat).id
    assert with_current(caller, chat, also=uuid.uuid4()).id == project_of(chat).id
    assert with_current(caller, chat, also=id_of(other), also_project=there).id == project_of(chat).id
    assert with_current(caller, chat, also=id_of(chat), also_project=there).id == project_of(chat).id


def test_a_session_of_neither_project_is_waited_for_in_vain(chat: Chat, other: Chat, caller: Caller) -> None:
    third = Chat(chat.api, project="/home/alice/third")
    for more in ({"also": id_of(third)}, {"also": id_of(third), "also_project": project_of(other).id}):
        with pytest.raises(Unavailable) as refused:
            with_current(caller, chat, **more)
        assert refused.value.retry_after == 1


def test_a_project_that_is_unknown_or_in_the_trash_is_refused(chat: Chat, other: Chat, caller: Caller, bob: User) -> None:
    with pytest.raises(NotFound):
        with_current(caller_of_user(bob), chat)
    Project.objects.filter(path=chat.project).update(deleted_at=LONG_AGO)
    with pytest.raises(ProjectDeleted):
        with_current(caller, chat)
    assert with_current(caller, other).id == project_of(other).id


@contextmanager
def meanwhile(change: Callable[[], Any], act: Callable[[], Any]) -> Iterator[list[Any]]:
    """`act` comes while a transaction has changed something and not ended; in the block it has gone on, with what it answered."""
    answers: list[Any] = []

    def run() -> None:
        try:
            with transaction.atomic():
                answers.append(act())
        except Exception as error:
            answers.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    with transaction.atomic():
        change()
        thread.start()
        wait_until_one_waits()
        assert answers == []
    thread.join(SECONDS)
    yield answers


def wait_until_one_waits() -> None:
    until = time.monotonic() + SECONDS
    with connection.cursor() as cursor:
        while time.monotonic() < until:
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            if cursor.fetchone()[0]:
                return
            time.sleep(0.01)
    raise AssertionError("nobody waits")


@waits
def test_a_session_that_moved_while_it_was_waited_for_is_found_where_it_is_now(chat: Chat, other: Chat, caller: Caller) -> None:
    there = project_of(other)

    def move() -> None:
        ChatSession.objects.filter(id=chat.id).update(project=there)

    with meanwhile(move, lambda: lock_session(caller=caller, session_id=id_of(chat))) as (found,):
        # What `write` runs again, and then finds it.
        assert isinstance(found, StaleRead)
    assert locked(caller, chat).project_id == there.id


@waits
def test_a_session_that_changed_while_it_was_waited_for_is_as_it_is_now(chat: Chat, caller: Caller) -> None:
    def change() -> None:
        ChatSession.objects.filter(id=chat.id).update(rev=7)

    with meanwhile(change, lambda: lock_session(caller=caller, session_id=id_of(chat))) as (found,):
        assert found.rev == 7


@waits
@pytest.mark.parametrize("what", ["another is current", "in the trash"])
def test_a_project_that_changed_while_it_was_waited_for_is_as_it_is_now(chat: Chat, caller: Caller, what: str) -> None:
    earlier, project = Chat(chat.api, project=chat.project), project_of(chat)
    change = {"current_session_id": earlier.id} if what == "another is current" else {"deleted_at": LONG_AGO}

    def act() -> Project:
        return lock_project_and_current(caller=caller, project_id=project.id)

    with meanwhile(lambda: Project.objects.filter(id=project.id).update(**change), act) as (found,):
        if what == "in the trash":
            assert isinstance(found, ProjectDeleted)
        else:
            assert str(found.current_session_id) == earlier.id


@waits
def test_the_current_session_is_locked_with_its_project(chat: Chat, caller: Caller) -> None:
    project = project_of(chat)

    def save() -> LockedSession:
        return lock_session(caller=caller, session_id=id_of(chat))

    with meanwhile(lambda: lock_project_and_current(caller=caller, project_id=project.id), save) as (found,):
        assert found.id == id_of(chat)


@waits
def test_the_other_project_of_a_move_is_locked_too(chat: Chat, other: Chat, caller: Caller) -> None:
    project, there = project_of(chat), project_of(other)

    def lock_both() -> Project:
        return lock_project_and_current(caller=caller, project_id=project.id, also_project=there.id)

    with meanwhile(lock_both, lambda: Project.objects.filter(id=there.id).update(deleted_at=None)) as (changed,):
        assert changed == 1


@waits
def test_where_the_current_session_changes_at_every_try_it_is_refused_for_a_second(
    chat: Chat, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def read(**_: Any) -> Project:
        tries.append(Project(current_session_id=uuid.uuid4()))
        return tries[-1]

    monkeypatch.setattr(locking, "get_project", read)
    with pytest.raises(Unavailable) as refused:
        with_current(caller, chat)
    assert (refused.value.retry_after, len(tries)) == (1, 10)


@waits
def test_of_those_who_come_too_late_one_at_a_time_tries_again(
    chat: Chat, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = project_of(chat)
    former = [Project(id=project.id, current_session_id=uuid.uuid4())]
    monkeypatch.setattr(locking, "get_project", lambda **asked: former.pop() if former else get_project(**asked))

    def lock() -> Project:
        return lock_project_and_current(caller=caller, project_id=project.id)

    with meanwhile(lambda: locking._take_turn(project.id), lock) as (found,):
        assert (found.id, former) == (project.id, [])


@waits
def test_a_project_that_is_erased_between_the_read_and_the_lock_is_not_found(
    chat: Chat, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    erased = uuid.uuid4()
    before = [Project(id=erased)]
    monkeypatch.setattr(locking, "get_project", lambda **asked: before.pop() if before else get_project(**asked))
    with pytest.raises(NotFound):
        lock_project_and_current(caller=caller, project_id=erased)
    assert before == []
