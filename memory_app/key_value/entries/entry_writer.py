"""Changes of entries in one transaction: what they need is read at once, and written at once at the end."""

import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from django.conf import settings

from memory_app.core.namespaces import as_sent
from memory_app.key_value.entries import entry_rows
from memory_app.key_value.entries.entry_rows import MICROSECOND, EntryRow, Place
from memory_app.key_value.entries.entry_values import CheckedEntry, Removed, Stored, as_kept, etag_of, expiry
from memory_app.models import MemoryStore, NamespaceSettings
from memory_app.models.entry import VERSIONS
from sessions_app.core.errors import InsufficientStorage
from sessions_app.core.public_names import Caller, EventType, db_time, now
from sessions_app.core.storage.sql import execute_together
from sessions_app.core.storage.statement_batch import Work
from sessions_app.core.web.preconditions import ANY, Conditions
from sessions_app.events import event_log

# Deleted entries per project: the last deleted can be restored.
DELETED = 100
# An event names so many entries.
NAMED = 20


class MemoryFull(InsufficientStorage):
    code, message = "over_quota", "The project's memory is full. Delete entries, or raise STILLHERE_PROJECT_BYTES."


class NamespaceFull(InsufficientStorage):
    code, message = "over_namespace_quota", "This namespace is full. Delete entries, or raise `quota_bytes` in its settings."


class EntryWriter:
    """Works on the locked store. `finish` writes what is left and publishes one event."""

    def __init__(self, *, caller: Caller, store: MemoryStore) -> None:
        self._caller, self._store, self._project_id, self._moment = caller, store, store.project_id, now()
        self._by, self._limit = (caller.key_name or caller.username)[:150], settings.PROJECT_BYTES
        self._found: dict[Place, EntryRow | None] = {}
        self._expired: dict[Place, EntryRow] = {}
        # What waits to be written.
        self._erased: list[EntryRow] = []
        self._trashed: list[tuple[uuid.UUID, datetime, EntryRow]] = []
        self._put: dict[Place, tuple[EntryRow, int, bool]] = {}
        self._replaced: list[EntryRow] = []
        self._expiring: dict[Place, EntryRow] = {}
        self._written = (store.rev, store.size_bytes)
        self._used: dict[str, int] = {}
        # Each delete is a microsecond after the one before it: the trash is ordered, and cut, by time.
        self._deleted_at = self._moment
        # Of how many changes the first are named.
        self._changes, self._named = 0, list[dict[str, Any]]()

    def load(self, places: Iterable[Place]) -> None:
        """Read these with one statement."""
        unknown = [place for place in dict.fromkeys(places) if place not in self._found]
        if not unknown:
            return
        self._found |= dict.fromkeys(unknown)
        for row in entry_rows.read_places(self._project_id, unknown):
            if row.expires_at is None or row.is_live_at(self._moment):
                self._found[row.namespace, row.key] = row
            else:
                self._expired[row.namespace, row.key] = row

    def find(self, namespace: str, key: str) -> EntryRow | None:
        place = (namespace, key)
        if place not in self._found:
            self.load([place])
        return self._found[place]

    def put(self, entry: CheckedEntry, conditions: Conditions = ANY, ttl_minutes: float | None = None) -> Stored:
        """Store a value; the same value again changes nothing but its expiry."""
        namespace, key = entry.namespace, entry.key
        rules = self._store.rules.for_namespace(namespace)
        entry = as_kept(entry, rules)
        found = self.find(namespace, key)
        if conditions is not ANY:
            conditions.check_etag(etag_of(found))
        ttl_minutes = rules.ttl_minutes if ttl_minutes is None else ttl_minutes
        if found is not None and found.value == entry.text:
            self._set_expiry(found, ttl_minutes)
            return Stored(found, False, entry.redacted)
        if growth := entry.size_bytes - (0 if found is None else found.size_bytes):
            self._reserve(rules, namespace, growth)
        self._store.rev += 1
        row = EntryRow(
            self._project_id,
            namespace,
            key,
            entry.text,
            self._store.rev,
            entry.size_bytes,
            self._moment if found is None else found.created_at,
            self._moment,
            None if ttl_minutes is None else expiry(ttl_minutes, self._moment),
            ttl_minutes,
            entry.exact,
            None if found is None else found.id,
        )
        self._take(row, found, rules.versions)
        return Stored(row, found is None, entry.redacted)

    def _take(self, row: EntryRow, found: EntryRow | None, versions: int) -> None:
        place, is_new = (row.namespace, row.key), found is None
        if self._expired and (expired := self._expired.pop(place, None)) is not None:
            self._erase_row(place, expired)
        if place in self._put:
            earlier, _, was_new = self._put[place]
            self._replaced += [earlier] if versions else []
            is_new = is_new or was_new
        if row.expires_at is not None or (found is not None and found.expires_at is not None):
            self._expiring[place] = row
        self._found[place] = row
        self._put[place] = (row, versions, is_new)
        self._note(row, deleted=False)

    def delete(self, namespace: str, key: str, conditions: Conditions = ANY) -> Removed | None:
        """Into the trash with its versions; None: there is no such entry."""
        found = self.find(namespace, key)
        conditions.check_etag(etag_of(found))
        if found is None:
            return None
        self._settle((namespace, key))
        self._store.rev += 1
        self._grow(namespace, -found.size_bytes)
        self._found[namespace, key] = None
        self._note(found, deleted=True)
        if self._store.rules.for_namespace(namespace).versions == 0:
            self._erased.append(found)
            return Removed(found, None)
        deleted_id = uuid.uuid4()
        self._trashed.append((deleted_id, self._deleted_at, found))
        self._deleted_at += MICROSECOND
        return Removed(found, deleted_id)

    def purge(self, namespace: str, key: str) -> int:
        """Erase an entry, and what the trash has of it. Returns how many there were, 0 or 1; an expired one does not count."""
        found = self.find(namespace, key)
        self.flush()
        where, parameters = "namespace = %s AND key = %s", [namespace, key]
        entry_rows.forget_all(self._project_id, where, parameters)
        if found is None:
            if (expired := self._expired.pop((namespace, key), None)) is not None:
                self._erase_row((namespace, key), expired)
            return 0
        self._store.rev += 1
        self._erase_row((namespace, key), found)
        self._found[namespace, key] = None
        self._note(found, deleted=True)
        return 1

    def purge_all(self, namespace: str, *, deep: bool, prefix: tuple[str, list[Any]] = ("1 = 1", [])) -> int:
        """Erase a namespace (`deep`: with all beneath it) and what the trash has of it. Returns how many entries were present:
        an expired one is erased too, but was absent already."""
        self.flush()
        where, parameters = entry_rows.condition(namespace, deep=deep)
        where, parameters = f"{where} AND {prefix[0]}", [*parameters, *prefix[1]]
        count, size_bytes = self._count_bytes(where, parameters)
        entry_rows.forget_all(self._project_id, where, parameters)
        entry_rows.erase_all(self._project_id, where, parameters)
        self._store.size_bytes -= size_bytes
        if count:
            self._store.rev += 1
            self._changes += 1
            if self._changes <= NAMED:
                self._named.append({"namespace": as_sent(namespace) if namespace else [], "purged": count})
        self._forget_reads()
        return count

    def refresh(self, rows: Iterable[EntryRow]) -> None:
        """These were read: they expire later, unless they were written or removed since."""
        for row in rows:
            present = self._found.get((row.namespace, row.key), row)
            if present is not None and present.rev == row.rev:
                self._set_expiry(present, present.ttl_minutes)

    def flush(self) -> None:
        """Write what waits."""
        works: list[Work] = []
        if self._erased:
            works += entry_rows.erase([entry_rows.at(row) for row in self._erased])
        if self._trashed:
            works += entry_rows.trash(self._trashed, by=self._by, kept=DELETED)
        works += self._put_works()
        if read := [row for place, row in self._expiring.items() if place not in self._put]:
            works.append(entry_rows.set_expiry(read))
        if self._written != (now_written := (self._store.rev, self._store.size_bytes)):
            works.append(entry_rows.set_store(self._project_id, *now_written))
            self._written = now_written
        execute_together(works)
        self._erased, self._trashed, self._put, self._replaced, self._expiring = [], [], {}, [], {}

    def _put_works(self) -> list[Work]:
        if not self._put:
            return []
        works = entry_rows.put([(row, place in self._expiring) for place, (row, _, _) in self._put.items()])
        if self._replaced:
            works.append(entry_rows.keep_earlier_versions(self._replaced, self._by))
        if kept := [(row, versions) for row, versions, _ in self._put.values() if versions]:
            works += entry_rows.keep_versions(kept, self._by)
        if trimmed := list(self._that_may_exceed()):
            works += entry_rows.trim_versions(trimmed)
        return works

    def _that_may_exceed(self) -> Iterator[tuple[EntryRow, int]]:
        """Rows that may have more versions than are kept: they had more, or get several."""
        several = {(row.namespace, row.key) for row in self._replaced}
        for place, (row, versions, is_new) in self._put.items():
            if place in several or (not is_new and (row.id is None or versions < VERSIONS)):
                yield row, versions

    def finish(self) -> None:
        """Write what waits, and publish what changed: one entry by its name, more as a number and the first of them."""
        self.flush()
        if not self._changes:
            return
        data: dict[str, Any] = {"count": self._changes, "rev": self._store.rev, "entries": self._named}
        if self._changes == 1:
            data = {"rev": self._store.rev, **self._named[0]}
        event_log.publish(project_id=self._project_id, type=EventType.MEMORY_CHANGED, caller=self._caller, data=data)

    def _note(self, row: EntryRow, *, deleted: bool) -> None:
        self._changes += 1
        if self._changes <= NAMED:
            place = {"namespace": as_sent(row.namespace), "key": row.key}
            self._named.append({**place, "rev": self._store.rev, "deleted": deleted})

    def _settle(self, place: Place) -> None:
        """Puts are written after deletes: a delete of what waits to be put needs it written."""
        if place in self._put or place in self._expiring:
            self.flush()

    def _erase_row(self, place: Place, row: EntryRow) -> None:
        self._settle(place)
        self._erased.append(row)
        self._grow(row.namespace, -row.size_bytes)

    def _set_expiry(self, row: EntryRow, ttl_minutes: float | None) -> None:
        place = (row.namespace, row.key)
        if ttl_minutes is None and row.expires_at is None:
            return
        row.expires_at, row.ttl_minutes = expiry(ttl_minutes, self._moment), ttl_minutes
        self._expiring[place] = row

    def _reserve(self, rules: NamespaceSettings, namespace: str, growth: int) -> None:
        """Count the growth. Raises MemoryFull or NamespaceFull; expired entries make room first."""
        if growth > 0 and (full := self._what_is_full(rules, growth)) is not None:
            self._erase_expired()
            if self._what_is_full(rules, growth) is not None:
                raise full
        self._grow(namespace, growth)

    def _what_is_full(self, rules: NamespaceSettings, growth: int) -> InsufficientStorage | None:
        if self._store.size_bytes + growth > self._limit:
            details = {"size_bytes": self._store.size_bytes, "limit": self._limit, "needed": growth}
            return MemoryFull(details=details)
        if rules.quota_bytes is None:
            return None
        used = self._used_in(rules.namespace)
        if used + growth <= rules.quota_bytes:
            return None
        return NamespaceFull(details={"size_bytes": used, "limit": rules.quota_bytes, "needed": growth})

    def _used_in(self, namespace: str) -> int:
        """Bytes of a namespace and of all beneath it; counted once, then kept up to date."""
        if namespace not in self._used:
            self.flush()
            where, parameters = entry_rows.condition(namespace, deep=True)
            self._used[namespace] = self._count_bytes(where, parameters)[1]
        return self._used[namespace]

    def _grow(self, namespace: str, growth: int) -> None:
        self._store.size_bytes += growth
        for root in self._used:
            if namespace == root or namespace.startswith(f"{root}/"):
                self._used[root] += growth

    def _erase_expired(self) -> None:
        self.flush()
        where, parameters = "expires_at <= %s", [db_time(self._moment)]
        size_bytes = self._count_bytes(where, parameters)[1]
        if size_bytes:
            entry_rows.erase_all(self._project_id, where, parameters)
            self._store.size_bytes -= size_bytes
            self._expired.clear()
            self._used.clear()
            self.flush()  # A caller that continues after a refusal has these bytes subtracted too.

    def _count_bytes(self, where: str, parameters: list[Any]) -> tuple[int, int]:
        return entry_rows.count_bytes(self._project_id, where, parameters, moment=self._moment)

    def _forget_reads(self) -> None:
        for known in (self._found, self._expired, self._used):
            known.clear()
