"""Erases sessions that may be long: first they are hidden, then their messages are erased in pieces, so that saves go on
meanwhile.

Hidden sessions are in a project without an owner, as forks that are being copied. Where this is interrupted, pruning erases
them an hour later.
"""

import uuid
from collections.abc import Iterator
from itertools import batched

from django.db.models import QuerySet

from sessions_app.chats.lifecycle.erasing.rows import drop_staged, erase_sessions
from sessions_app.core.storage.paced_writes import Pace, run_paced
from sessions_app.core.storage.transactions import write
from sessions_app.models import ChatSession, Message, Project
from sessions_app.models.times import now

# What is erased in one transaction, without a pause, is no more than this.
FEW_SESSIONS = 50
FEW_MESSAGES = 500
FEW_BYTES = 2_000_000


def is_short(sessions: QuerySet[ChatSession]) -> bool:
    """Whether these sessions have so few messages together, removed ones included, that all can be erased at once."""
    if len(sessions.order_by().values_list("pk")[: FEW_SESSIONS + 1]) > FEW_SESSIONS:
        return False
    return are_few(Message.objects.filter(session__in=sessions.order_by().values("pk")))


def are_few(messages: QuerySet[Message]) -> bool:
    """Whether all of them can be erased at once."""
    sizes = messages.order_by().values_list("size_bytes", flat=True)[: FEW_MESSAGES + 1]
    return len(sizes) <= FEW_MESSAGES and sum(sizes) <= FEW_BYTES


def hide(session_ids: list[uuid.UUID]) -> None:
    """From now on nobody has these sessions. Inside the caller's transaction."""
    hidden, rows = Project.objects.create(owner=None), ChatSession.objects.filter(id__in=session_ids)
    # In the order in which other transactions lock sessions.
    list(rows.select_for_update(no_key=True).order_by("id").values_list("id"))
    rows.update(project=hidden, external_id=None, import_id=None, updated_at=now())


def erase_hidden(session_ids: list[uuid.UUID]) -> None:
    """Erase hidden sessions, with pauses."""
    run_paced(_steps(session_ids))


def purge_sessions_of(project: Project) -> None:
    """Erase all sessions of a project in the trash. What the project itself has stays."""
    while found := list(ChatSession.objects.filter(project=project).order_by("id").values_list("id", flat=True)[:FEW_SESSIONS]):
        write(lambda found=found: hide(found))  # type: ignore[misc]
        erase_hidden(found)


def _steps(session_ids: list[uuid.UUID]) -> Iterator[bool]:
    pace = Pace(20)
    for session_id in session_ids:
        rows = Message.objects.filter(session_id=session_id).order_by()
        while found := list(rows.values_list("pk", flat=True)[: pace.rows]):

            def erase(found: list[int] = found) -> None:
                pace.begin()
                some = Message.objects.filter(pk__in=found)
                some._raw_delete(some.db)
                pace.end()

            write(erase)
            yield True
    for some in batched(session_ids, FEW_SESSIONS):
        write(lambda some=some: _erase_rest(list(some)))  # type: ignore[misc]
        yield True


def _erase_rest(session_ids: list[uuid.UUID]) -> None:
    staged = list(Project.objects.filter(owner=None, sessions__in=session_ids).distinct().values_list("pk", flat=True))
    erase_sessions(session_ids)
    drop_staged(staged)
