"""Reads that keep what is read: where a namespace's settings say so, an entry that is read expires later."""

import uuid
from collections.abc import Iterable
from datetime import datetime

from django.db import DatabaseError

from memory_app.core.stored_json import EntryNotFound
from memory_app.key_value.entries import entry_rows
from memory_app.key_value.entries.entry_rows import EntryRow
from memory_app.key_value.entries.entry_values import expiry
from memory_app.models.namespace_settings import Rules
from sessions_app.core.errors import AppError, InsufficientStorage
from sessions_app.core.public_names import Caller, now
from sessions_app.core.storage.database_errors import StoreBusy, StoreReadOnly, as_app_error, leave_read_only
from sessions_app.core.storage.sql import db_uuid, execute_together, fetch_row, on_postgresql
from sessions_app.core.storage.transactions import write
from sessions_app.projects.queries import check_project

# A read that would move the expiry by less than this part of its time writes nothing: entries that are read all the time.
LEAST_PART = 1 / 60
# Of a store that can still be read: the value is worth more than its expiry.
_NOT_NOW = (StoreReadOnly, InsufficientStorage, StoreBusy)


def read_entry(*, caller: Caller, project_id: uuid.UUID, namespace: str, key: str) -> EntryRow:
    """An entry that its reader wants, in contrast to a page that shows it."""
    check_project(caller=caller, project_id=project_id)
    return read_entry_of(project_id=project_id, namespace=namespace, key=key)


def read_entry_of(*, project_id: uuid.UUID, namespace: str, key: str) -> EntryRow:
    """As `read_entry`, in a project that the caller was found to have."""
    entry = next(iter(entry_rows.read_places(project_id, [(namespace, key)])), None)
    if entry is None or not entry.is_live_at(now()):
        raise EntryNotFound
    if entry.expires_at is not None:
        keep(project_id, [entry] if Rules.of(project_id).for_namespace(namespace).refresh_on_read else [])
    return entry


def keep(project_id: uuid.UUID, entries: Iterable[EntryRow]) -> None:
    """These were read. Those that expire do so later, counted from now, if the store can be written."""
    moment = now()
    late = sorted((entry for entry in entries if due(entry, moment)), key=lambda entry: (entry.namespace, entry.key))
    if not late:
        return
    before = [entry.expires_at for entry in late]
    for entry in late:
        entry.expires_at = expiry(entry.ttl_minutes, moment)
    try:
        write(lambda: _touch(project_id, late))
    except (DatabaseError, AppError) as error:
        refusal = error if isinstance(error, AppError) else as_app_error(error)
        if not isinstance(refusal, _NOT_NOW):
            raise
        leave_read_only(refusal)
        for entry, expires_at in zip(late, before, strict=True):
            entry.expires_at = expires_at


def due(entry: EntryRow, moment: datetime) -> bool:
    """Whether a read at this moment moves the expiry."""
    later = expiry(entry.ttl_minutes, moment)
    if later is None or entry.expires_at is None or not entry.is_live_at(moment):
        return False
    return (later - entry.expires_at) > LEAST_PART * (later - moment)


def _touch(project_id: uuid.UUID, entries: list[EntryRow]) -> None:
    if on_postgresql():  # The lock that every write of memory takes first: so two of them cannot wait for each other's rows.
        fetch_row("SELECT 1 FROM memory_app_memorystore WHERE project_id = %s FOR UPDATE", [db_uuid(project_id)])
    execute_together([entry_rows.touch(entries)])
