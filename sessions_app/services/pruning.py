"""Forgetting what is kept only for a while: looked for without a lock, erased in batches so small that saves go on.

A message that was taken out of the present epoch loses its content, never its row: a late save must still find it removed.
"""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import accumulate
from typing import Any

from django.contrib.sessions.models import Session as BrowserSession
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from sessions_app.models import ChatSession, Clearing, ConflictCopy, Event, FlushToken, Message, Project, SaveReceipt
from sessions_app.models.event import KEPT_FOR as EVENTS_KEPT_FOR
from sessions_app.models.key import SignInLink, SocketTicket
from sessions_app.models.sql import fetch_row, now, on_postgresql
from sessions_app.queries.removed import RESTORABLE_FOR
from sessions_app.services.deletion import erase_project, erase_sessions
from sessions_app.services.writing import write

RECEIPTS_FOR = timedelta(hours=24)
# Rows of one kind in one transaction.
AT_ONCE = 100
_LOCK = 0x5711
# Of rows that can be large, so many bytes: erasing means overwriting.
BYTES_AT_ONCE = 2_000_000
_EMPTY = Q(text="", parts=None, metadata=None, raw=None)


@dataclass(frozen=True, slots=True)
class Due:
    """Rows whose time is over. `size`: the field that tells a row's bytes, where rows can be large."""

    rows: QuerySet[Any]
    size: str = ""


_other_kinds: list[Callable[[], dict[str, Due]]] = []


def register(due: Callable[[], dict[str, Due]]) -> None:
    """For another app, whose rows expire too; called once, when it is ready."""
    _other_kinds.append(due)


def prune() -> dict[str, int]:
    """Everything that is due, batch by batch; answers how many of each kind."""
    total: dict[str, int] = {}
    while any((some := prune_some()).values()):
        for kind, count in some.items():
            total[kind] = total.get(kind, 0) + count
    return total or some


def prune_some() -> dict[str, int]:
    """One batch of each kind. Zeros: nothing is due, or another process is at it."""
    counts = {kind: _erase(Due(rows)) for kind, rows in _due_rows().items()}
    others = {kind: _erase(due) for other in _other_kinds for kind, due in other().items()}
    counts |= others
    counts["removed messages"] = _empty_some()
    counts["clearings"] = _end_clearings()
    counts["sessions"] = _erase_sessions()
    # With a project go all rows of other apps, in one transaction: not before those have had their own.
    counts["projects"] = 0 if any(others.values()) else _erase_projects()
    return counts


def _due_rows() -> dict[str, QuerySet[Any]]:
    """What goes row by row. The contents of expired trash and of cleared epochs go before what they hang on."""
    at = now()
    kept_since = at - RESTORABLE_FOR
    cleared = Clearing.objects.filter(
        session=OuterRef("session"), epoch=OuterRef("epoch"), cleared_at__lt=kept_since, purged_at=None
    )
    return {
        "cleared messages": Message.objects.filter(Exists(cleared), epoch__lt=F("session__epoch")),
        "deleted messages": Message.objects.filter(session__in=_expired_sessions()),
        "conflict copies": ConflictCopy.objects.filter(created_at__lt=kept_since),
        "receipts": SaveReceipt.objects.filter(created_at__lt=at - RECEIPTS_FOR),
        "events": Event.objects.filter(at__lt=at - EVENTS_KEPT_FOR),
        "sign-in links": SignInLink.objects.filter(expires_at__lt=at),
        "socket tickets": SocketTicket.objects.filter(expires_at__lt=at),
        "flush tokens": FlushToken.objects.filter(expires_at__lt=at),
        "browser sessions": BrowserSession.objects.filter(expire_date__lt=at),
    }


def _erase(due: Due) -> int:
    """The condition is asked again where the rows go: one that was brought back meanwhile stays."""
    found = _some(due)
    return _alone(lambda: due.rows.filter(pk__in=found).delete()[0]) if found else 0


def _some(due: Due) -> list[Any]:
    """At least one, where there is one."""
    if not due.size:
        return list(due.rows.values_list("pk", flat=True)[:AT_ONCE])
    sizes = due.rows.values_list("pk", due.size)[:AT_ONCE]
    return [
        pk
        for (pk, _), before in zip(sizes, accumulate((size for _, size in sizes), initial=0), strict=False)
        if before < BYTES_AT_ONCE
    ]


def _empty_some() -> int:
    """Content of what was deleted, truncated, replaced or dropped in the present epoch; the row remembers that it was."""
    due = Message.objects.exclude(removed="").filter(updated_at__lt=now() - RESTORABLE_FOR).exclude(_EMPTY)
    found = list(due.values_list("pk", flat=True)[:AT_ONCE])
    nothing: dict[str, Any] = {"text": "", "parts": None, "metadata": None, "raw": None, "flagged": None, "size_bytes": 0}
    return _alone(lambda: due.filter(pk__in=found).update(**nothing)) if found else 0


def _end_clearings() -> int:
    """A cleared epoch of which nothing is left can no longer be brought back, and says so."""
    left = Message.objects.filter(session=OuterRef("session"), epoch=OuterRef("epoch"))
    due = Clearing.objects.filter(~Exists(left), cleared_at__lt=now() - RESTORABLE_FOR, purged_at=None)
    found = list(due.values_list("pk", flat=True)[:AT_ONCE])
    return _alone(lambda: due.filter(pk__in=found).update(purged_at=now())) if found else 0


def _expired_sessions() -> QuerySet[ChatSession]:
    kept_since = now() - RESTORABLE_FOR
    return ChatSession.objects.filter(Q(deleted_at__lt=kept_since) | Q(project__deleted_at__lt=kept_since))


def _erase_sessions() -> int:
    """Those in the trash whose messages are gone by now."""
    empty = _expired_sessions().exclude(Exists(Message.objects.filter(session=OuterRef("pk"))))
    sessions = list(empty.values_list("pk", flat=True)[:AT_ONCE])

    def erase() -> int:
        erase_sessions(sessions)
        return len(sessions)

    return _alone(erase) if sessions else 0


def expired_projects() -> list[uuid.UUID]:
    """Some of those whose time in the trash is over: what other apps have of them may go."""
    return list(Project.objects.filter(deleted_at__lt=now() - RESTORABLE_FOR).values_list("pk", flat=True)[:AT_ONCE])


def _erase_projects() -> int:
    projects = Project.objects.filter(deleted_at__lt=now() - RESTORABLE_FOR, sessions=None)
    found = list(projects.values_list("pk", flat=True)[:AT_ONCE])

    def erase() -> int:
        chosen = list(projects.filter(pk__in=found))
        for project in chosen:
            erase_project(project)
        return len(chosen)

    return _alone(erase) if found else 0


def _alone(work: Any) -> int:
    """In one transaction, and on PostgreSQL by one process at a time."""

    def guarded() -> int:
        if on_postgresql():
            [locked] = fetch_row("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
            if not locked:
                return 0
        return int(work())

    return write(guarded)


def counted(counts: dict[str, int]) -> Iterator[str]:
    """For people: `12 receipts`."""
    return (f"{count} {kind}" for kind, count in counts.items() if count)
