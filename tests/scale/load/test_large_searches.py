"""20,000 sessions with 100,000 messages: the worst of 500 strings, in `/search` and in the list of a project's sessions."""

import itertools
import time
import uuid
from collections.abc import Callable, Iterator

import pytest
from django.contrib.auth.models import User
from django.db import connection

from benchmarks.measurements.hostile import words
from benchmarks.seeding.chat_texts import texts
from sessions_app.chats.reading.session_filters import SessionFilter
from sessions_app.chats.reading.session_lists import list_sessions
from sessions_app.chats.search.index_update import index_waiting
from sessions_app.chats.search.services import search
from sessions_app.core.callers import caller_of_user
from sessions_app.models import Caller, ChatSession, Message, Project
from tests.support.databases import ON_POSTGRESQL
from tests.support.machine_speed import allowed

pytestmark = [pytest.mark.scale, pytest.mark.timed, pytest.mark.django_db]
SEARCH_SECONDS, LIST_SECONDS = 0.3, 0.1
BATCH = 2_000
# SQLite does its work in this thread.
CLOCK = time.perf_counter if ON_POSTGRESQL else time.thread_time


def filled(owner: User, sessions: int, a_session: int, big: int) -> Project:
    """Sessions of messages of 1 KB, and one with `big` texts of 100 KB that repeat a letter."""
    project, prose = Project.objects.create(owner=owner, path="/large"), itertools.cycle(texts())
    made = [ChatSession(project=project, title=f"Session {number}", size_bytes=a_session * 1_000) for number in range(sessions)]
    letters = ChatSession(project=project, title="Letters", size_bytes=big * 100_000)
    ChatSession.objects.bulk_create([letters, *made], batch_size=BATCH)
    rows = _messages(letters, itertools.repeat("a" * 100_000), big)
    rows = itertools.chain(rows, *(_messages(session, prose, a_session) for session in made))
    while batch := list(itertools.islice(rows, BATCH)):
        Message.objects.bulk_create(batch)
    while index_waiting():
        pass
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return project


def _messages(session: ChatSession, said: Iterator[str], count: int) -> Iterator[Message]:
    for number in range(1, count + 1):
        text = next(said)
        counters = {"position": number, "rev": number, "writer_seq": number, "size_bytes": len(text.encode())}
        yield Message(session=session, epoch=1, message_id=f"m{number}", role="user", text=text, writer_id=_WRITER, **counters)


_WRITER = str(uuid.uuid4())


def slow(find: Callable[[str], object], count: int, limit: float) -> dict[str, float]:
    """Strings by which this takes longer, of two tries the quicker one."""
    found = {}
    for text in words(count):
        took = []
        for _ in range(2):
            begun = CLOCK()
            find(text)
            took.append(CLOCK() - begun)
        if min(took) > limit and min(took) > allowed(limit):
            found[text] = min(took)
    return found


def all_in_time(owner: User, project: Project, count: int) -> None:
    caller: Caller = caller_of_user(owner)
    if ON_POSTGRESQL:
        assert slow(lambda text: search(caller=caller, text=text), count, SEARCH_SECONDS) == {}
    assert (
        slow(
            lambda text: list_sessions(caller=caller, project_id=project.id, wanted=SessionFilter(text=text)), count, LIST_SECONDS
        )
        == {}
    )


@pytest.mark.once
def test_searches_end_in_time(alice: User) -> None:
    all_in_time(alice, filled(alice, 500, 5, 0), 20)


@pytest.mark.prove
def test_searches_end_in_time_in_a_large_store(alice: User) -> None:
    all_in_time(alice, filled(alice, 20_000, 5, 1_200 if ON_POSTGRESQL else 0), 500)
