"""Resolves, reopens and mutes errors: one, or up to 500 at a time. Each change may be repeated."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.db.models import F, QuerySet

from memory_app.core.lease import Writer, lock_for_writing
from memory_app.errors.queries import ErrorNotFound
from memory_app.errors.services import touch
from memory_app.models import ErrorReport, MemoryStore
from sessions_app.core.errors import Invalid, PreconditionFailed
from sessions_app.core.public_names import Caller, EventType, now
from sessions_app.core.redaction import Redacted, redact_text
from sessions_app.core.storage.transactions import write
from sessions_app.events import event_log

MOST_AT_ONCE = 500
LONGEST_MUTE = timedelta(days=366)
_NOT_MUTED = {"muted_until": None, "muted_count": None}


class WrongMute(Invalid):
    code = "wrong_mute"
    message = f"Mute it until a day in the future, at most {LONGEST_MUTE.days} days away, or for a number of times, or both."


class FixChanged(PreconditionFailed):
    code = "fix_changed"
    message = "Somebody else wrote another fix meanwhile. Read the error again."


class Act(StrEnum):
    RESOLVE = "resolve"
    REOPEN = "reopen"
    MUTE = "mute"
    UNMUTE = "unmute"


@dataclass(frozen=True, slots=True)
class Change:
    """`known_fix`: of a resolve; empty: the known one stays. `until`, `times`: of a mute, which also so many occurrences end.

    `seen`: of one error, the fix that its writer saw: an empty one replaces it too, one that was written meanwhile stays.
    """

    act: Act
    known_fix: str = ""
    until: datetime | None = None
    times: int | None = None
    seen: str | None = None


@dataclass(frozen=True, slots=True)
class Mute:
    """How an error was muted; `until` None: not at all. `count`: the number of occurrences that also ends it."""

    fingerprint: str
    until: datetime | None
    count: int | None


@dataclass(frozen=True, slots=True)
class Changed:
    """`at`: the moment of the change. `unknown`: fingerprints that the project does not have. `number`: of those that it changed;
    a resolve leaves out what was resolved already.

    `former`: of a mute or its end, how the errors were muted before; `until`: how long they are muted since.
    """

    fingerprints: list[str]
    unknown: list[str]
    number: int
    at: datetime
    redacted: Redacted
    former: list[Mute]
    until: datetime | None


def change_errors(*, caller: Caller, project_id: uuid.UUID, fingerprints: list[str], change: Change, run_id: Writer) -> Changed:
    """The same change of several errors, in a constant number of statements. Raises WrongMute, FixChanged, Invalid."""
    wanted = list(dict.fromkeys(fingerprints))
    if len(wanted) > MOST_AT_ONCE:
        raise Invalid(f"At most {MOST_AT_ONCE} errors at a time.", details={"field": "fingerprints", "limit": MOST_AT_ONCE})
    fix, redacted = redact_text(change.known_fix)

    def work() -> Changed:
        store = lock_for_writing(caller=caller, project_id=project_id, run_id=run_id)
        at = now()
        rows = ErrorReport.objects.kept_at(at).filter(project_id=project_id, fingerprint__in=wanted)
        found, former, number = set(rows.values_list("fingerprint", flat=True)), list[Mute](), 0
        if found:
            former = _mutes(rows) if change.act in {Act.MUTE, Act.UNMUTE} else []
            number = _CHANGES[change.act](rows, change, at)
            if change.act == Act.RESOLVE:
                _keep_fix(rows, fix, change.seen)
            _tell(caller, store)
        known, unknown = ([name for name in wanted if (name in found) is there] for there in (True, False))
        until = _muted_until(change, at) if change.act == Act.MUTE else None
        return Changed(known, unknown, number, at, redacted, former, until)

    return write(work)


def change_error(
    *, caller: Caller, project_id: uuid.UUID, fingerprint: str, change: Change, run_id: Writer
) -> tuple[ErrorReport, Redacted]:
    """Raises ErrorNotFound, WrongMute, FixChanged."""
    done = change_errors(caller=caller, project_id=project_id, fingerprints=[fingerprint], change=change, run_id=run_id)
    found = ErrorReport.objects.filter(project_id=project_id, fingerprint=fingerprint).first() if done.fingerprints else None
    if found is None:
        raise ErrorNotFound
    return found, done.redacted


def reopen_resolved_at(*, caller: Caller, project_id: uuid.UUID, at: datetime, run_id: Writer) -> int:
    """Undoes a resolve of several errors: all that were resolved at this moment. Returns how many."""

    def work() -> int:
        store = lock_for_writing(caller=caller, project_id=project_id, run_id=run_id)
        reopened = ErrorReport.objects.filter(project_id=project_id, resolved_at=at).update(resolved_at=None)
        if reopened:
            _tell(caller, store)
        return reopened

    return write(work)


def restore_mutes(*, caller: Caller, project_id: uuid.UUID, former: list[Mute], until: datetime | None, run_id: Writer) -> int:
    """Undoes a mute of several errors that lasts until `until`, or the end of their mutes (None). What was changed otherwise
    since stays as it is. Returns how many were restored."""

    def work() -> int:
        store = lock_for_writing(caller=caller, project_id=project_id, run_id=run_id)
        before = {mute.fingerprint: mute for mute in former}
        muted = ErrorReport.objects.filter(project_id=project_id, resolved_at=None, muted_until=until)
        rows = list(muted.filter(fingerprint__in=before))
        for row in rows:
            row.muted_until, row.muted_count = before[row.fingerprint].until, before[row.fingerprint].count
        if rows:
            ErrorReport.objects.bulk_update(rows, ["muted_until", "muted_count"])
            _tell(caller, store)
        return len(rows)

    return write(work)


def _mutes(rows: QuerySet[ErrorReport]) -> list[Mute]:
    return [Mute(*row) for row in rows.filter(resolved_at=None).values_list("fingerprint", "muted_until", "muted_count")]


def _resolve(rows: QuerySet[ErrorReport], change: Change, at: datetime) -> int:
    """A mute stays noted, for the Undo; an occurrence that reopens the error ends it."""
    return rows.filter(resolved_at=None).update(resolved_at=at)


def _keep_fix(rows: QuerySet[ErrorReport], fix: str, seen: str | None) -> None:
    if seen is not None:
        stored = {_plain(text) for text in rows.values_list("known_fix", flat=True)}
        if fix == _plain(seen):
            return
        if not stored <= {_plain(seen), fix}:
            raise FixChanged
    if fix or seen is not None:
        rows.update(known_fix=fix)


def _plain(text: str) -> str:
    """As a form sends it back."""
    return text.replace("\r\n", "\n").strip()


def _reopen(rows: QuerySet[ErrorReport], change: Change, at: datetime) -> int:
    return rows.exclude(resolved_at=None).update(resolved_at=None)


def _mute(rows: QuerySet[ErrorReport], change: Change, at: datetime) -> int:
    until = _muted_until(change, at)
    if until is None or not at < until <= at + LONGEST_MUTE:
        raise WrongMute(details={"field": "until"})
    count = None if change.times is None else F("count") + change.times
    return rows.filter(resolved_at=None).update(muted_until=until, muted_count=count)


def _muted_until(change: Change, at: datetime) -> datetime | None:
    return at + LONGEST_MUTE if change.until is None and change.times is not None else change.until


def _unmute(rows: QuerySet[ErrorReport], change: Change, at: datetime) -> int:
    return rows.exclude(muted_until=None).update(**_NOT_MUTED)


_CHANGES: dict[Act, Callable[[QuerySet[ErrorReport], Change, datetime], int]] = {
    Act.RESOLVE: _resolve,
    Act.REOPEN: _reopen,
    Act.MUTE: _mute,
    Act.UNMUTE: _unmute,
}


def _tell(caller: Caller, store: MemoryStore) -> None:
    touch(store)
    data = {"namespace": "errors", "key": "history", "rev": store.rev, "deleted": False}
    event_log.publish(project_id=store.project_id, type=EventType.MEMORY_CHANGED, caller=caller, data=data)
