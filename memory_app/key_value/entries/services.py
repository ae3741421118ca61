"""Writing single entries: keys, versions, quota, compare-and-set. `batches` has the same for many at once."""

import uuid

from memory_app.core.lease import Writer, lock_for_writing
from memory_app.core.namespaces import check_new_names
from memory_app.core.stored_json import EntryNotFound
from memory_app.key_value.entries.entry_validation import check_shape
from memory_app.key_value.entries.entry_values import CheckedEntry, NewEntry, Removed, Stored, check_entry
from memory_app.key_value.entries.entry_writer import EntryWriter
from memory_app.key_value.entries.queries import EntryVersionNotFound
from memory_app.models import DeletedEntry, MemoryEntry, MemoryStore, MemoryVersion
from sessions_app.core.errors import Conflict, NotFound
from sessions_app.core.public_names import Caller, now
from sessions_app.core.storage.transactions import write
from sessions_app.core.web.preconditions import ANY, Conditions


class DeletedNotFound(NotFound):
    kind = "deleted memory entry"
    message = "No deleted entry has this id: it was restored, or was deleted over 30 days ago. List the deleted ones."


class KeyTaken(Conflict):
    code, message = "key_taken", "An entry with this key exists again. Delete or rename that one first."


def put_entry(*, caller: Caller, project_id: uuid.UUID, entry: NewEntry, conditions: Conditions, run_id: Writer) -> Stored:
    """Store a value; the same value again changes nothing. 413 over 1 MB, 507 over the project's quota."""
    check_new_names(entry.namespace, entry.key)
    checked = check_entry(entry)

    def work() -> Stored:
        store = lock_for_writing(caller=caller, project_id=project_id, run_id=run_id, touched=[(entry.namespace, False)])
        return store_entry(caller=caller, store=store, entry=checked, conditions=conditions)

    return write(work)


def delete_entry(
    *, caller: Caller, project_id: uuid.UUID, namespace: str, key: str, conditions: Conditions, run_id: Writer
) -> Removed:
    """Delete the entry. It can be restored with its versions for a while, if its namespace keeps versions."""
    check_deletable(namespace, key)

    def work() -> Removed:
        store = lock_for_writing(caller=caller, project_id=project_id, run_id=run_id, touched=[(namespace, False)])
        writer = EntryWriter(caller=caller, store=store)
        removed = writer.delete(namespace, key, conditions)
        if removed is None:
            raise EntryNotFound
        writer.finish()
        return removed

    return write(work)


def purge_namespace(*, caller: Caller, project_id: uuid.UUID, namespace: str, run_id: Writer) -> int:
    """Erase all entries of a namespace and of those beneath it, and what the trash has of them. Returns their number."""

    def work() -> int:
        store = lock_for_writing(caller=caller, project_id=project_id, run_id=run_id, touched=[(namespace, True)])
        writer = EntryWriter(caller=caller, store=store)
        count = writer.purge_all(namespace, deep=True)
        writer.finish()
        return count

    return write(work)


def undelete_entry(*, caller: Caller, project_id: uuid.UUID, deleted_id: uuid.UUID, run_id: Writer) -> Stored:
    """Restore a deleted entry under a new rev; 409 if its key is taken."""

    def work() -> Stored:
        deleted = DeletedEntry.objects.filter(project_id=project_id, id=deleted_id).first()
        touched = None if deleted is None else [(deleted.namespace, False)]
        store = lock_for_writing(caller=caller, project_id=project_id, run_id=run_id, touched=touched)
        deleted = DeletedEntry.objects.filter(project_id=project_id, id=deleted_id).first()
        newest = None if deleted is None else deleted.versions.first()
        if deleted is None or newest is None:
            raise DeletedNotFound
        place = {"project_id": project_id, "namespace": deleted.namespace, "key": deleted.key}
        if MemoryEntry.objects.live_at(now()).filter(**place).exists():
            raise KeyTaken
        stored = store_entry(caller=caller, store=store, entry=_as_stored(deleted.namespace, deleted.key, newest))
        entry = MemoryEntry.objects.get(**place)
        deleted.versions.update(entry=entry, deleted=None)
        _forget_old_versions(entry, store.rules.for_namespace(deleted.namespace).versions)
        deleted.delete()
        return stored

    return write(work)


def restore_version(*, caller: Caller, project_id: uuid.UUID, namespace: str, key: str, rev: int, run_id: Writer) -> Stored:
    """Restore an earlier value as a new rev."""

    def work() -> Stored:
        store = lock_for_writing(caller=caller, project_id=project_id, run_id=run_id, touched=[(namespace, False)])
        entry = MemoryEntry.objects.live_at(now()).filter(project_id=project_id, namespace=namespace, key=key).first()
        version = None if entry is None else entry.versions.filter(rev=rev).first()
        if version is None:
            raise EntryVersionNotFound
        return store_entry(caller=caller, store=store, entry=_as_stored(namespace, key, version))

    return write(work)


def check_deletable(namespace: str, key: str) -> None:
    """Raises 409 for what the server generates."""
    check_shape(namespace, key, {"rules": [], "endpoints": []})


def store_entry(*, caller: Caller, store: MemoryStore, entry: CheckedEntry, conditions: Conditions = ANY) -> Stored:
    """Runs in the caller's transaction, on the locked store."""
    writer = EntryWriter(caller=caller, store=store)
    stored = writer.put(entry, conditions)
    writer.finish()
    return stored


def _as_stored(namespace: str, key: str, version: MemoryVersion) -> CheckedEntry:
    return CheckedEntry(namespace, key, version.value, version.size_bytes, {}, exact=version.exact)


def _forget_old_versions(row: MemoryEntry, kept: int) -> None:
    newest_too_many = row.versions.order_by("-rev").values("rev")[kept : kept + 1]
    row.versions.filter(rev__lte=newest_too_many).delete()
