"""Database reads of the fan-out: the log after a number, and which listeners still have access."""

import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import batched

from django.contrib.auth import get_user_model
from django.db import close_old_connections
from django.utils import timezone

from sessions_app.models import ApiKey, Caller, Event, Login, Project

PAGE = 500
# Databases limit the number of parameters of one statement.
VALUES_A_STATEMENT = 1_000


@dataclass(frozen=True, slots=True)
class Admission:
    """A listener's caller, project and credential."""

    caller: Caller
    project_id: uuid.UUID
    path: str
    # Hashed, as `login_store` keeps it.
    session_key: str | None = None
    # Changes with the user's password; 0 for a key, which does not depend on it.
    password_mark: int = 0


@dataclass(frozen=True, slots=True)
class LogPage:
    """Events after a number without a gap, the project's newest number, and whether some were pruned."""

    rows: list[tuple[int, str]]
    newest: int
    lost: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """The current state for all listeners: each project's newest number, and the credentials that are still valid."""

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
    """Run `work` on this thread's persistent connection; a broken one is replaced at the next call."""
    close_old_connections()
    try:
        return work()
    finally:
        close_old_connections()


def newest_number(project_id: uuid.UUID) -> int:
    return Project.objects.values_list("event_seq", flat=True).filter(id=project_id).first() or 0


def log_after(project_id: uuid.UUID, since: int) -> LogPage:
    """One page of the log. The number is read first: everything committed by then is in the rows, or was pruned."""
    newest = newest_number(project_id)
    found = Event.objects.filter(project_id=project_id, event_seq__gt=since).order_by("event_seq")
    rows: list[tuple[int, str]] = []
    for event_seq, frame in found.values_list("event_seq", "frame")[:PAGE]:
        if event_seq != since + len(rows) + 1:
            return LogPage([], max(newest, event_seq), lost=True)
        rows.append((event_seq, frame))
    # A number beyond the newest one is from before this database was restored from a backup.
    lost = newest < since or (not rows and newest > since)
    return LogPage(rows, max(newest, rows[-1][0]) if rows else newest, lost)


def standing(admissions: Iterable[Admission]) -> Standing:
    """Four statements for any number of listeners."""
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
        alive = Login.objects.filter(session_key__in=names, expire_date__gt=timezone.now())
        session_keys |= set(alive.values_list("session_key", flat=True))
    return Standing(numbers, keys, marks, session_keys)
