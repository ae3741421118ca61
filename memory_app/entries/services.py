"""Writing entries: keys, versions, quota, compare-and-set."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from memory_app.core.lease import Writer, lock_for_writing
from memory_app.core.stored_json import EntryNotFound
from memory_app.entries.entry_validation import check_shape
from memory_app.entries.queries import EntryVersionNotFound
from memory_app.models import DeletedEntry, MemoryEntry, MemoryStore, MemoryVersion
from memory_app.models.entry import ENTRY_BYTES, ENTRY_NAME, NAME_LENGTH, VERSIONS
from sessions_app.core.errors import Conflict, InsufficientStorage, Invalid, NotFound, TooLarge
from sessions_app.core.public_names import Caller, EventType, now
from sessions_app.core.redaction import redact
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.storage.store_incarnation import incarnation
from sessions_app.core.storage.transactions import write
from sessions_app.core.web.preconditions import ANY, Conditions
from sessions_app.events import event_log

# Deleted entries per project: the last deleted can be restored.
DELETED = 100


class EntryTooLarge(TooLarge):
    message = f"An entry has at most {ENTRY_BYTES} bytes of JSON. Split it into several keys."


class DeletedNotFound(NotFound):
    kind = "deleted memory entry"
    message = "No deleted entry has this id: it was restored, or was deleted over 30 days ago. List the deleted ones."


class KeyTaken(Conflict):
    code, message = "key_taken", "An entry with this key exists again. Delete or rename that one first."


class MemoryFull(InsufficientStorage):
    code, message = "over_quota", "The project's memory is full. Delete entries, or raise STILLHERE_PROJECT_BYTES."


@dataclass(frozen=True, slots=True)
class NewEntry:
    namespace: str
    key: str
    value: Any


@dataclass(frozen=True, slots=True)
class CheckedEntry:
    """An entry as it will be stored: without secrets, as text."""

    namespace: str
    key: str
    text: str
    size_bytes: int
    redacted: dict[str, int]


@dataclass(frozen=True, slots=True)
class Stored:
    entry: MemoryEntry
    made: bool
    redacted: dict[str, int]


def put_entry(*, caller: Caller, project_id: uuid.UUID, entry: NewEntry, conditions: Conditions, run_id: Writer) -> Stored:
    """Store a value; the same value again changes nothing. 413 over 1 MB, 507 over the project's quota."""
    checked = check_entry(entry)

    def work() -> Stored:
        store = lock_for_writing(caller=caller, project_id=project_id, run_id=run_id)
        return store_entry(caller=caller, store=store, entry=checked, conditions=conditions)

    return write(work)


def delete_entry(
    *, caller: Caller, project_id: uuid.UUID, namespace: str, key: str, conditions: Conditions, run_id: Writer
) -> DeletedEntry:
    """Delete the entry. It can be restored with its versions for a while."""
    check_shape(namespace, key, {"rules": [], "endpoints": []})

    def work() -> DeletedEntry:
        store = lock_for_writing(caller=caller, project_id=project_id, run_id=run_id)
        entry = _find(store, namespace, key)
        conditions.check_etag(_etag_of(entry))
        if entry is None:
            raise EntryNotFound
        store.rev += 1
        store.size_bytes -= entry.size_bytes
        store.save(update_fields=["rev", "size_bytes"])
        deleted = DeletedEntry.objects.create(project_id=project_id, namespace=namespace, key=key, by=_name(caller))
        entry.versions.update(entry=None, deleted=deleted)
        entry.delete()
        too_many = DeletedEntry.objects.filter(project_id=project_id).values_list("id", flat=True)[DELETED:]
        DeletedEntry.objects.filter(id__in=list(too_many)).delete()
        _tell(caller, store, namespace, key, deleted=True)
        return deleted

    return write(work)


def undelete_entry(*, caller: Caller, project_id: uuid.UUID, deleted_id: uuid.UUID, run_id: Writer) -> Stored:
    """Restore a deleted entry under a new rev; 409 if its key is taken."""

    def work() -> Stored:
        store = lock_for_writing(caller=caller, project_id=project_id, run_id=run_id)
        deleted = DeletedEntry.objects.filter(project_id=project_id, id=deleted_id).first()
        newest = None if deleted is None else deleted.versions.first()
        if deleted is None or newest is None:
            raise DeletedNotFound
        if _find(store, deleted.namespace, deleted.key) is not None:
            raise KeyTaken
        entry = CheckedEntry(deleted.namespace, deleted.key, newest.value, newest.size_bytes, {})
        stored = store_entry(caller=caller, store=store, entry=entry)
        deleted.versions.update(entry=stored.entry, deleted=None)
        _forget_old_versions(stored.entry)
        deleted.delete()
        return stored

    return write(work)


def restore_version(*, caller: Caller, project_id: uuid.UUID, namespace: str, key: str, rev: int, run_id: Writer) -> Stored:
    """Restore an earlier value as a new rev."""

    def work() -> Stored:
        store = lock_for_writing(caller=caller, project_id=project_id, run_id=run_id)
        version = MemoryVersion.objects.filter(
            entry__project_id=project_id, entry__namespace=namespace, entry__key=key, rev=rev
        ).first()
        if version is None:
            raise EntryVersionNotFound
        return store_entry(caller=caller, store=store, entry=CheckedEntry(namespace, key, version.value, version.size_bytes, {}))

    return write(work)


def check_entry(entry: NewEntry) -> CheckedEntry:
    """Checks that need no database: names, shape, size. Also redacts secrets."""
    for field in ("namespace", "key"):
        if not ENTRY_NAME.fullmatch(getattr(entry, field)):
            raise Invalid(
                f"A {field} has 1 to {NAME_LENGTH} of A-Z a-z 0-9 . _ - and does not begin with a dot.", details={"field": field}
            )
    check_shape(entry.namespace, entry.key, entry.value)
    value, redacted = redact(entry.value)
    text = json_text(value)
    size_bytes = len(text.encode())
    if size_bytes > ENTRY_BYTES:
        raise EntryTooLarge(details={"size_bytes": size_bytes, "limit": ENTRY_BYTES})
    return CheckedEntry(entry.namespace, entry.key, text, size_bytes, redacted)


def store_entry(*, caller: Caller, store: MemoryStore, entry: CheckedEntry, conditions: Conditions = ANY) -> Stored:
    """Runs in the caller's transaction, on the locked store."""
    found = _find(store, entry.namespace, entry.key)
    conditions.check_etag(_etag_of(found))
    if found is not None and found.value == entry.text:
        return Stored(found, False, entry.redacted)
    _reserve(store, entry.size_bytes - (0 if found is None else found.size_bytes))
    row = found or MemoryEntry(project_id=store.project_id, namespace=entry.namespace, key=entry.key)
    row.value, row.size_bytes, row.rev, row.updated_at = entry.text, entry.size_bytes, store.rev, now()
    row.save()
    _keep_version(caller, row)
    _tell(caller, store, entry.namespace, entry.key)
    return Stored(row, found is None, entry.redacted)


def entry_etag(rev: int) -> str:
    return f'"{incarnation()}.{rev}"'


def _reserve(store: MemoryStore, growth: int) -> None:
    size_bytes = store.size_bytes + growth
    if growth > 0 and size_bytes > settings.PROJECT_BYTES:
        raise MemoryFull(details={"size_bytes": store.size_bytes, "limit": settings.PROJECT_BYTES, "needed": growth})
    store.rev, store.size_bytes = store.rev + 1, size_bytes
    store.save(update_fields=["rev", "size_bytes"])


def _keep_version(caller: Caller, row: MemoryEntry) -> None:
    row.versions.create(value=row.value, rev=row.rev, size_bytes=row.size_bytes, saved_at=row.updated_at, by=_name(caller))
    _forget_old_versions(row)


def _forget_old_versions(row: MemoryEntry) -> None:
    newest_too_many = row.versions.order_by("-rev").values("rev")[VERSIONS : VERSIONS + 1]
    row.versions.filter(rev__lte=newest_too_many).delete()


def _name(caller: Caller) -> str:
    return (caller.key_name or caller.username)[:150]


def _find(store: MemoryStore, namespace: str, key: str) -> MemoryEntry | None:
    return MemoryEntry.objects.filter(project_id=store.project_id, namespace=namespace, key=key).first()


def _tell(caller: Caller, store: MemoryStore, namespace: str, key: str, *, deleted: bool = False) -> None:
    data = {"namespace": namespace, "key": key, "rev": store.rev, "deleted": deleted}
    event_log.publish(project_id=store.project_id, type=EventType.MEMORY_CHANGED, caller=caller, data=data)


def _etag_of(entry: MemoryEntry | None) -> str | None:
    return None if entry is None else entry_etag(entry.rev)
