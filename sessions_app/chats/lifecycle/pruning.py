"""Prunes expired data: searched without a lock, erased in batches so small that saves continue.

A message removed from the current epoch loses its content, never its row (tombstone): a late save must still find it removed.
"""

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import accumulate
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce, Length

from sessions_app.chats.files.collection import collect_files, collect_orphans
from sessions_app.chats.lifecycle.erasing.rows import drop_staged, erase_project, erase_sessions
from sessions_app.chats.lifecycle.removed_queries import RESTORABLE_FOR
from sessions_app.core.extension import extensions
from sessions_app.core.storage.sql import fetch_row, on_postgresql
from sessions_app.core.storage.transactions import write
from sessions_app.models import (
    ChatSession,
    Clearing,
    ConflictCopy,
    Event,
    FlushToken,
    ImportJob,
    Login,
    Message,
    Project,
    SaveReceipt,
)
from sessions_app.models.credentials import SignInLink, SocketTicket
from sessions_app.models.event import KEPT_FOR as EVENTS_KEPT_FOR
from sessions_app.models.times import now

RECEIPTS_FOR = timedelta(hours=24)
# Work that has stopped for this long will not resume.
FORKS_TAKE = timedelta(hours=1)
# Maximum rows in one transaction.
AT_ONCE = 75
# Of PostgreSQL, for the process that prunes.
LOCK = 0x5711
# Maximum bytes of large rows in one transaction: erasing means overwriting, and SQLite keeps a megabyte of pages in memory.
BYTES_AT_ONCE = 750_000
_FILED = Coalesce("filed_under", "epoch")
_EMPTY = Q(text="", parts=None, metadata=None, raw=None)


@dataclass(frozen=True, slots=True)
class Due:
    """Expired rows. `size`: the field with a row's bytes, where rows can be large."""

    rows: QuerySet[Any]
    size: str = ""


def prune() -> Counter[str]:
    """Prune everything that is due; returns the count of each kind."""
    total = Counter[str]()
    for kind, count in prune_in_batches():
        total[kind] += count
    collect_orphans()
    return total


def prune_in_batches() -> Iterator[tuple[str, int]]:
    """Prune everything that is due; after each batch its kind and count. Between two of them saves come first. Ends early where
    another process prunes."""
    is_over = False
    with suppress(_PrunedElsewhere):
        while not is_over:
            is_over = True
            for kind, erase in _kinds(expired_projects()):
                # To its end: to look for every other kind takes longer than a batch.
                while count := erase():
                    is_over = False
                    yield kind, count


def _kinds(projects: list[uuid.UUID]) -> Iterator[tuple[str, Callable[[], int]]]:
    """Each with what prunes a batch of it, and returns 0 if nothing is due. `projects`: expired ones. A project is erased with
    all that other apps have of it in one transaction, so that is pruned before, of exactly these projects."""
    for kind, rows in _due_rows().items():
        yield kind, partial(_erase, Due(rows))
    for extension in extensions():
        of_projects = extension.rows_of_projects(projects) if projects else {}
        for kind, due in [*extension.due_rows().items(), *of_projects.items()]:
            yield kind, partial(_erase, due)
    yield "receipts", lambda: _erase(_due_receipts())
    yield "removed messages", _empty_some
    yield "clearings", _end_clearings
    yield "sessions", _erase_sessions
    yield "files", collect_files
    yield "broken forks", _erase_broken_forks
    yield "projects", partial(_erase_projects, projects)


def _due_rows() -> dict[str, QuerySet[Any]]:
    """What is deleted row by row. Contents of expired trash and of cleared epochs are deleted before their parents."""
    at = now()
    kept_since = at - RESTORABLE_FOR
    cleared = Clearing.objects.alias(filed_as=_FILED).filter(
        filed_as=OuterRef("epoch"), session=OuterRef("session"), cleared_at__lt=kept_since, purged_at=None, undone_at=None
    )
    return {
        "cleared messages": Message.objects.filter(Exists(cleared)).exclude(epoch=F("session__epoch")),
        "deleted messages": Message.objects.filter(session__in=_expired_sessions()),
        "broken forks": Message.objects.filter(session__in=_broken_forks()),
        "conflict copies": ConflictCopy.objects.filter(created_at__lt=kept_since),
        "events": Event.objects.filter(at__lt=at - EVENTS_KEPT_FOR),
        "sign-in links": SignInLink.objects.filter(expires_at__lt=at),
        "socket tickets": SocketTicket.objects.filter(expires_at__lt=at),
        "flush tokens": FlushToken.objects.filter(expires_at__lt=at),
        "logins": Login.objects.filter(expire_date__lt=at),
        "imports": ImportJob.objects.filter(finished_at__lt=kept_since),
    }


def _due_receipts() -> Due:
    """An answer to a pop has the messages."""
    old = SaveReceipt.objects.filter(created_at__lt=now() - RECEIPTS_FOR)
    return Due(old.annotate(answer_size=Length("answer")), "answer_size")


def _erase(due: Due) -> int:
    """Delete a batch. The delete checks the condition again: a row that was restored meanwhile stays."""
    found = _some(due)
    # What else a row has is not needed to delete it, nor what hangs on it.
    return _alone(lambda: due.rows.only("pk").filter(pk__in=found).delete()[0]) if found else 0


def _some(due: Due) -> list[Any]:
    """Ids of a batch: at least one, if there is one."""
    if not due.size:
        return list(due.rows.values_list("pk", flat=True)[:AT_ONCE])
    sizes = due.rows.values_list("pk", due.size)[:AT_ONCE]
    return [
        pk
        for (pk, _), before in zip(sizes, accumulate((size for _, size in sizes), initial=0), strict=False)
        if before < BYTES_AT_ONCE
    ]


def _empty_some() -> int:
    """Erase the content of messages removed from the current epoch; the row stays as a tombstone."""
    due = Message.objects.exclude(removed="").filter(updated_at__lt=now() - RESTORABLE_FOR).exclude(_EMPTY)
    found = list(due.values_list("pk", flat=True)[:AT_ONCE])
    nothing: dict[str, Any] = {"text": "", "parts": None, "metadata": None, "raw": None, "flagged": None, "size_bytes": 0}
    return _alone(lambda: due.filter(pk__in=found).update(**nothing)) if found else 0


def _end_clearings() -> int:
    """Mark cleared epochs whose messages are all gone as purged: they can no longer be restored."""
    left = Message.objects.filter(session=OuterRef("session"), epoch=OuterRef("filed_as"))
    due = Clearing.objects.alias(filed_as=_FILED).filter(~Exists(left), cleared_at__lt=now() - RESTORABLE_FOR, purged_at=None)
    found = list(due.values_list("pk", flat=True)[:AT_ONCE])
    return _alone(lambda: due.filter(pk__in=found).update(purged_at=now())) if found else 0


def _expired_sessions() -> QuerySet[ChatSession]:
    kept_since = now() - RESTORABLE_FOR
    expired = Q(deleted_at__lt=kept_since) | Q(project__deleted_at__lt=kept_since)
    # The import itself erases what it has staged.
    return ChatSession.objects.filter(expired, project__owner__isnull=False)


def _broken_forks() -> QuerySet[ChatSession]:
    """Forks that were staged and then abandoned."""
    return ChatSession.objects.filter(project__owner=None, project__import_id=None, updated_at__lt=now() - FORKS_TAKE)


def _erase_broken_forks() -> int:
    """Erase abandoned forks whose messages are gone, each with the project that it was staged in."""
    empty = _broken_forks().exclude(Exists(Message.objects.filter(session=OuterRef("pk"))))
    found = list(empty.values_list("pk", "project_id")[:AT_ONCE])

    def erase() -> int:
        erase_sessions([pk for pk, _ in found])
        drop_staged([project_id for _, project_id in found])
        return len(found)

    return _alone(erase) if found else 0


def _erase_sessions() -> int:
    """Erase expired sessions in the trash whose messages are gone."""
    empty = _expired_sessions().exclude(Exists(Message.objects.filter(session=OuterRef("pk"))))
    sessions = list(empty.values_list("pk", flat=True)[:AT_ONCE])

    def erase() -> int:
        erase_sessions(sessions)
        return len(sessions)

    return _alone(erase) if sessions else 0


def expired_projects() -> list[uuid.UUID]:
    """Some expired projects in the trash."""
    return list(_expired_projects().values_list("pk", flat=True)[:AT_ONCE])


def _expired_projects() -> QuerySet[Project]:
    return Project.objects.filter(deleted_at__lt=now() - RESTORABLE_FOR, owner__isnull=False)


def _erase_projects(projects: list[uuid.UUID]) -> int:
    """Those of them that have no session left."""
    empty = _expired_projects().filter(pk__in=projects, sessions=None)

    def erase() -> int:
        chosen = list(empty)
        for project in chosen:
            erase_project(project)
        return len(chosen)

    return _alone(erase) if projects and empty.exists() else 0


class _PrunedElsewhere(Exception):
    """Another process is pruning."""


def _alone(work: Any) -> int:
    """Run in one transaction, and on PostgreSQL in one process at a time."""

    def guarded() -> int:
        if on_postgresql():
            [locked] = fetch_row("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
            if not locked:
                raise _PrunedElsewhere
        return int(work())

    return write(guarded)


def counted(counts: Mapping[str, int]) -> Iterator[str]:
    """Text for display: `12 receipts`."""
    return (f"{count} {kind}" for kind, count in counts.items() if count)
