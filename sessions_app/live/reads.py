"""What the fan-out reads from the database: the log after a number, and who may still listen to what."""

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import batched

from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.db import close_old_connections
from django.utils import timezone

from sessions_app.models import ApiKey, Caller, Event, Project

PAGE = 500
# Databases limit how many values one statement takes.
VALUES_A_STATEMENT = 1_000


@dataclass(frozen=True, slots=True)
class Admission:
    """Who was let in to listen to what, and by which credential."""

    caller: Caller
    project_id: uuid.UUID
    path: str
    session_key: str | None = None
    # Changes with the user's password; 0 for those who came by a key, which lives on its own.
    password_mark: int = 0


@dataclass(frozen=True, slots=True)
class LogPage:
    """Events that follow a number without a gap, the project's newest number, and whether some are gone for ever."""

    rows: list[tuple[int, str]]
    newest: int
    lost: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """What is true now of all who listen: each project's newest number, and the credentials that are still good."""

    numbers: dict[uuid.UUID, int]
    keys: set[uuid.UUID]
    password_marks: dict[int, int]
    session_keys: set[str]

    def admits(self, admission: Admission) -> bool:
        caller = admission.caller
        if caller.key_id is not None:
            return caller.key_id in self.keys
        if self.password_marks.get(caller.user_id) != admission.password_mark:
            return False
        return admission.session_key is None or admission.session_key in self.session_keys


def with_connection[T](work: Callable[[], T]) -> T:
    """Run `work` on this thread's lasting connection; one that broke is replaced the next time."""
    close_old_connections()
    try:
        return work()
    finally:
        close_old_connections()


def newest_number(project_id: uuid.UUID) -> int:
    return Project.objects.values_list("event_seq", flat=True).filter(id=project_id).first() or 0


def log_after(project_id: uuid.UUID, since: int) -> LogPage:
    """One page of the log. The number is read first: whatever was committed by then is in the rows, or was pruned."""
    newest = newest_number(project_id)
    found = Event.objects.filter(project_id=project_id, event_seq__gt=since).order_by("event_seq")
    rows: list[tuple[int, str]] = []
    for event_seq, frame in found.values_list("event_seq", "frame")[:PAGE]:
        if event_seq != since + len(rows) + 1:
            return LogPage([], max(newest, event_seq), lost=True)
        rows.append((event_seq, frame))
    # A number beyond the newest one belongs to a database that this one was restored over.
    lost = newest < since or (not rows and newest > since)
    return LogPage(rows, max(newest, rows[-1][0]) if rows else newest, lost)


def standing(admissions: Iterable[Admission]) -> Standing:
    """Four statements, however many listen."""
    everyone = list(admissions)
    users = {one.caller.user_id for one in everyone if one.caller.key_id is None}
    key_ids = {one.caller.key_id for one in everyone if one.caller.key_id is not None}
    cookies = {one.session_key for one in everyone if one.session_key is not None}
    numbers: dict[uuid.UUID, int] = {}
    marks: dict[int, int] = {}
    keys: set[uuid.UUID] = set()
    session_keys: set[str] = set()
    for some in batched({one.project_id for one in everyone}, VALUES_A_STATEMENT):
        numbers |= dict(Project.objects.alive().filter(id__in=some).values_list("id", "event_seq"))
    for some in batched(key_ids, VALUES_A_STATEMENT):
        keys |= set(ApiKey.objects.usable().filter(id__in=some).values_list("id", flat=True))
    for pks in batched(users, VALUES_A_STATEMENT):
        active = get_user_model().objects.filter(pk__in=pks, is_active=True)
        marks |= {pk: hash(password) for pk, password in active.values_list("pk", "password")}
    for names in batched(cookies, VALUES_A_STATEMENT):
        alive = Session.objects.filter(session_key__in=names, expire_date__gt=timezone.now())
        session_keys |= set(alive.values_list("session_key", flat=True))
    return Standing(numbers, keys, marks, session_keys)
