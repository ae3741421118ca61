"""Records errors."""

import uuid
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from memory_app.core.lease import Writer, lock_for_writing
from memory_app.errors.fingerprints import Identity, alike, identify
from memory_app.errors.noise import filtering
from memory_app.errors.noise.filtering import Rules, count_filtered, rules_of
from memory_app.errors.occurrences import Occurrence, Origin, count_days, run_number
from memory_app.errors.own_frames import top_own_frame
from memory_app.errors.queries import read_days
from memory_app.models import ErrorReport, MemoryStore
from memory_app.models.error import KEPT, KEPT_FOR, KIND_LENGTH, PLACE_LENGTH
from sessions_app.core.public_names import Caller, EventType, now
from sessions_app.core.redaction import Redacted, redact
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.storage.transactions import write
from sessions_app.events import event_log

MESSAGE_LENGTH = 2_000
STACK_LENGTH = 8_000
FRAMES = 50
HISTORY_DAYS = 14
NOWHERE_IN_CHATS = Origin()
_CHANGED = (
    "message", "kind", "file", "function", "line", "stack", "count", "days", "first_seen", "last_seen", "resolved_at",
    "reopened_at", "muted_until", "muted_count", "alike_place", "alike_message",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NewError:
    message: str
    kind: str = ""
    stack: Any = None
    # When it happened, if not just now.
    at: datetime | None = None
    origin: Origin = NOWHERE_IN_CHATS


@dataclass(frozen=True, slots=True)
class CheckedError:
    """An error as it will be stored: without secrets, cut to size, with its fingerprint."""

    message: str
    stack: str
    at: datetime
    identity: Identity
    redacted: Redacted
    # See `fingerprints.alike`.
    alike: tuple[str, str]
    origin: Origin


@dataclass(frozen=True, slots=True)
class Batch:
    """Errors that are ready to be stored, with the noise rules' result for each."""

    errors: list[CheckedError]
    rules: Rules
    filtered_by: list[str | None]


@dataclass(frozen=True, slots=True)
class Recorded:
    """The fingerprint of each error, None if a rule filtered it; and the counts of the batch."""

    fingerprints: list[str | None]
    new: int
    reopened: int
    redacted: Redacted

    @property
    def filtered(self) -> int:
        return self.fingerprints.count(None)

    @property
    def recorded(self) -> int:
        return len(self.fingerprints) - self.filtered

    def as_json(self) -> dict[str, Any]:
        return {
            "recorded": self.recorded,
            "filtered": self.filtered,
            "new": self.new,
            "reopened": self.reopened,
            "fingerprints": self.fingerprints,
            "redacted": self.redacted,
        }


def record_errors(*, caller: Caller, project_id: uuid.UUID, errors: list[NewError], run_id: Writer) -> Recorded:
    """Store new errors and count known ones; errors matching an enabled noise rule are counted, not stored."""
    batch = make_batch(project_id, errors)

    def work() -> Recorded:
        store = lock_for_writing(caller=caller, project_id=project_id, run_id=run_id)
        return store_errors(caller=caller, store=store, batch=batch, run_id=run_id)

    return write(work)


def make_batch(project_id: uuid.UUID, errors: list[NewError], rules: Rules | None = None) -> Batch:
    """The slow part, before anything is locked. Checks no permission, as it reveals nothing of the project."""
    checked = [check_error(error) for error in errors]
    rules = rules or rules_of(project_id)
    return Batch(checked, rules, rules.sift(_said(checked), filtering.SECONDS))


def check_error(error: NewError) -> CheckedError:
    said, redacted = redact({"message": error.message, "kind": error.kind, "stack": error.stack})
    message, stack = _cut(said["message"], MESSAGE_LENGTH), _short_stack(said["stack"])
    identity = identify(message=message, kind=said["kind"][:KIND_LENGTH], stack=stack)
    at = now() if error.at is None else min(_to_ms(error.at), now())
    same = alike(message=identity.message, kind=identity.kind, own=top_own_frame(stack))
    return CheckedError(message, json_text(stack), at, identity, redacted, same, error.origin)


def store_errors(*, caller: Caller, store: MemoryStore, batch: Batch, run_id: Writer) -> Recorded:
    """Runs in the caller's transaction, on the locked store."""
    rules = rules_of(store.project_id, batch.rules)
    same = rules.rules == batch.rules.rules
    filtered_by = batch.filtered_by if same else rules.sift(_said(batch.errors), filtering.SECONDS_LOCKED)
    count_filtered(store.project_id, [rule_id for rule_id in filtered_by if rule_id is not None])
    kept = [error for error, rule_id in zip(batch.errors, filtered_by, strict=True) if rule_id is None]
    new, reopened = _count_up(store, kept, run_id) if kept else (0, 0)
    fingerprints = [
        error.identity.fingerprint if rule_id is None else None for error, rule_id in zip(batch.errors, filtered_by, strict=True)
    ]
    recorded = Recorded(fingerprints, new, reopened, total(error.redacted for error in batch.errors))
    if kept:
        touch(store)
        data = {"recorded": len(kept), "new": new, "reopened": reopened, "rev": store.rev}
        event_log.publish(project_id=store.project_id, type=EventType.ERROR_RECORDED, caller=caller, data=data)
    return recorded


def total(many: Iterable[Redacted]) -> Redacted:
    """Counts of what was redacted, added up."""
    added: Counter[str] = Counter()
    for counts in many:
        added.update(counts)
    return dict(added)


def _count_up(store: MemoryStore, errors: list[CheckedError], run_id: Writer) -> tuple[int, int]:
    """Stores the errors; returns how many are new, and how many were reopened."""
    mine = ErrorReport.objects.filter(project_id=store.project_id)
    mine.expired_at(now()).delete()
    known = {row.fingerprint: row for row in mine.filter(fingerprint__in={error.identity.fingerprint for error in errors})}
    before, resolved = len(known), {row.fingerprint for row in known.values() if row.resolved_at is not None}
    seen: list[Occurrence] = []
    for error in errors:
        fingerprint = error.identity.fingerprint
        row = known.get(fingerprint)
        if row is None:
            row = ErrorReport(project_id=store.project_id, fingerprint=fingerprint, count=0)
            row.first_seen = row.last_seen = error.at
            known[fingerprint] = row
        see(row, error)
        seen.append(Occurrence(row, error.at, error.origin))
    # One statement for new and known ones.
    ErrorReport.objects.bulk_create(known.values(), update_conflicts=True, unique_fields=["id"], update_fields=_CHANGED)
    count_days([one for one in seen if one.at > now() - KEPT_FOR], run_number(store, run_id))
    too_many = list(mine.order_by("-last_seen", "id").values_list("pk", flat=True)[KEPT:])
    mine.filter(pk__in=too_many).delete()
    reopened = sum(1 for fingerprint in resolved if known[fingerprint].resolved_at is None)
    return len(known) - before, reopened


def see(row: ErrorReport, error: CheckedError) -> None:
    """Counts one more occurrence; the row keeps the details of the newest. One from before the resolve reopens nothing."""
    row.count += 1
    if row.resolved_at is not None and error.at >= row.resolved_at:
        row.resolved_at, row.reopened_at = None, now()
        row.muted_until = row.muted_count = None
    if row.muted_count is not None and row.count >= row.muted_count:
        row.muted_until = row.muted_count = None
    row.first_seen = min(row.first_seen, error.at)
    if error.at >= row.last_seen:
        identity = error.identity
        row.message, row.kind, row.stack, row.last_seen = error.message, identity.kind[:KIND_LENGTH], error.stack, error.at
        row.file, row.function = identity.frame.file[-PLACE_LENGTH:], identity.frame.function[:PLACE_LENGTH]
        row.line = identity.frame.line
        row.alike_place, row.alike_message = error.alike
    days = read_days(row)
    day = error.at.date().isoformat()
    days[day] = days.get(day, 0) + 1
    oldest = (row.last_seen.date() - timedelta(days=HISTORY_DAYS - 1)).isoformat()
    row.days = json_text({name: count for name, count in sorted(days.items()) if name >= oldest})


def touch(store: MemoryStore) -> None:
    """Notes that the errors changed now."""
    store.rev += 1
    store.errors_changed_at = now()
    store.save(update_fields=["rev", "errors_changed_at"])


def _said(errors: list[CheckedError]) -> list[tuple[str, str]]:
    return [(error.message, error.identity.kind) for error in errors]


def _to_ms(at: datetime) -> datetime:
    utc = at.astimezone(UTC)
    return utc.replace(microsecond=utc.microsecond // 1000 * 1000)


def _short_stack(stack: Any) -> Any:
    if isinstance(stack, str):
        return _cut(stack, STACK_LENGTH)
    return None if stack is None else [_short_frame(frame) for frame in stack[:FRAMES]]


def _short_frame(frame: dict[str, Any]) -> dict[str, Any]:
    """Cuts a frame: the end of a path and the beginning of a function matter most."""
    file, function = frame.get("file"), frame.get("function")
    short = {"file": file and file[-PLACE_LENGTH:], "function": function and function[:PLACE_LENGTH], "line": frame.get("line")}
    return short if frame.get("own") is None else {**short, "own": frame["own"]}


def _cut(text: str, length: int) -> str:
    """Cuts out the middle: one end has the error, the other the place where it was raised."""
    return text if len(text) <= length else f"{text[: length // 2]}\n…\n{text[3 - length // 2 :]}"
