"""Many operations on entries in one transaction: what they need is read at once, and written at once at the end."""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

from memory_app.core.lease import Writer, lock_for_writing
from memory_app.core.namespaces import as_sent
from memory_app.core.stored_json import as_json
from memory_app.key_value.batches.operations import Delete, Get, List, Operation, Purge, Put, Result, make_cursor
from memory_app.key_value.batches.queries import ReadBudget, key_range, read_lists
from memory_app.key_value.entries.entry_rows import EntryRow
from memory_app.key_value.entries.entry_values import Removed, Stored, entry_etag
from memory_app.key_value.entries.entry_writer import EntryWriter
from memory_app.key_value.entries.generated import GENERATED, find_generated
from memory_app.key_value.entries.reading import due, keep
from memory_app.models import MemoryStore
from sessions_app.core.errors import AppError
from sessions_app.core.public_names import Caller, now, rfc3339
from sessions_app.core.storage.snapshot_reads import one_moment
from sessions_app.core.storage.transactions import write
from sessions_app.projects.queries import check_project

_READS = (Get, List)


def run_batch(*, caller: Caller, project_id: uuid.UUID, operations: Sequence[Operation], run_id: Writer) -> list[Result]:
    """The result of each operation, in their order; each sees what those before it did. If one is refused, nothing is done, and
    the error's details name its `index`."""
    touched = _touched(operations)
    if not touched:
        return _read_only(caller, project_id, operations)

    def work() -> list[Result]:
        store = lock_for_writing(caller=caller, project_id=project_id, run_id=run_id, touched=touched)
        batch = _Batch(caller, store, operations)
        results = batch.run()
        batch.writer.refresh(batch.late)
        batch.writer.finish()
        return results

    return write(work)


def _read_only(caller: Caller, project_id: uuid.UUID, operations: Sequence[Operation]) -> list[Result]:
    with one_moment():
        check_project(caller=caller, project_id=project_id)
        # Settings are looked for when an entry that expires needs them; nothing else of the store matters to a read.
        batch = _Batch(caller, MemoryStore(project_id=project_id, has_settings=True), operations)
        results = batch.run()
    keep(project_id, batch.late)
    return results


def _touched(operations: Sequence[Operation]) -> set[tuple[str, bool]]:
    """The namespaces that are written, each alone or with all beneath it."""
    return {
        (op.entry.namespace, False) if isinstance(op, Put) else (op.namespace, isinstance(op, Purge) and op.deep)
        for op in operations
        if not isinstance(op, _READS)
    }


class _Batch:
    """One run of a batch. `late`: entries that were read and expire later because of that."""

    def __init__(self, caller: Caller, store: MemoryStore, operations: Sequence[Operation]) -> None:
        self._store, self._operations = store, operations
        self.writer = EntryWriter(caller=caller, store=store)
        self.late: list[EntryRow] = []
        self._budget = ReadBudget()

    def run(self) -> list[Result]:
        self.writer.load(_places(self._operations))
        results: list[Result] = []
        reads = [isinstance(op, _READS) for op in self._operations]
        for are_reads, group in groupby(enumerate(self._operations), key=lambda numbered: reads[numbered[0]]):
            numbered = list(group)
            results += self._read(numbered) if are_reads else self._write_all(numbered)
        return results

    def _read(self, group: list[tuple[int, Operation]]) -> list[Result]:
        lists = [op for _, op in group if isinstance(op, List)]
        if lists:
            self.writer.flush()
        with _named(next((index for index, op in group if isinstance(op, List)), 0)):
            found = iter(read_lists(self._store.project_id, lists, self._budget) if lists else [])
        results = []
        for index, op in group:
            with _named(index):
                results.append(self._listed(op, next(found)) if isinstance(op, List) else self._got(op))
        return results

    def _got(self, op: Any) -> Result:
        if (op.namespace, op.key) in GENERATED:
            made = find_generated(self._store.project_id, op.namespace, op.key)
            return {"entry": None if made is None else made[0]}
        entry = self.writer.find(op.namespace, op.key)
        if entry is None:
            return {"entry": None}
        self._budget.take(entry.size_bytes)
        self._note_read(entry, op.refresh)
        return {"entry": _entry_json(entry, with_value=True)}

    def _listed(self, op: List, found: list[EntryRow]) -> Result:
        items = found[: op.limit]
        if op.values:
            if op.sought is None:  # Else they were counted when the filter read them.
                self._budget.take(sum(entry.size_bytes for entry in items))
            for entry in items:
                self._note_read(entry, op.refresh)
        following = make_cursor(items[-1]) if len(found) > op.limit else None
        return {"items": [_entry_json(entry, with_value=op.values) for entry in items], "next": following}

    def _note_read(self, entry: EntryRow, refresh: bool | None) -> None:
        if entry.expires_at is None:
            return
        if refresh is None:
            refresh = self._store.rules.for_namespace(entry.namespace).refresh_on_read
        if refresh and due(entry, now()):
            self.late.append(entry)

    def _write_all(self, group: list[tuple[int, Operation]]) -> list[Result]:
        results, put = list[Result](), self.writer.put
        try:
            for _, op in group:
                if isinstance(op, Put):
                    results.append(_stored_json(put(op.entry, op.conditions, op.ttl_minutes)))
                else:
                    results.append(self._write(op))
        except AppError as error:
            _name(error, group[len(results)][0])
            raise
        return results

    def _write(self, op: Operation) -> Result:
        if isinstance(op, Delete):
            return _removed_json(self.writer.delete(op.namespace, op.key, op.conditions))
        if isinstance(op, Purge) and op.key is not None:
            return {"purged": self.writer.purge(op.namespace, op.key)}
        assert isinstance(op, Purge)  # noqa: S101 - for the type checker
        return {"purged": self.writer.purge_all(op.namespace, deep=op.deep, prefix=key_range(op.prefix))}


def _places(operations: Sequence[Operation]) -> Iterator[tuple[str, str]]:
    for op in operations:
        if isinstance(op, Put):
            yield op.entry.namespace, op.entry.key
        elif not isinstance(op, List) and op.key is not None:
            yield op.namespace, op.key


@contextmanager
def _named(index: int) -> Iterator[None]:
    """A refusal tells which operation it is about."""
    try:
        yield
    except AppError as error:
        _name(error, index)
        raise


def _name(error: AppError, index: int) -> None:
    error.details = {**error.details, "index": index}


def _stored_json(stored: Stored) -> Result:
    entry = stored.entry
    result = {
        "created": stored.made,
        "rev": entry.rev,
        "etag": entry_etag(entry.rev),
        "size_bytes": entry.size_bytes,
        "redacted": stored.redacted,
    }
    if entry.expires_at is not None:
        result["expires_at"] = rfc3339(entry.expires_at)
    return result


def _removed_json(removed: Removed | None) -> Result:
    return {"deleted": removed is not None}


def _entry_json(entry: EntryRow, *, with_value: bool) -> dict[str, Any]:
    value = {"value": as_json(entry.value)} if with_value else {}
    return {
        "namespace": as_sent(entry.namespace),
        "key": entry.key,
        **value,
        "rev": entry.rev,
        "etag": entry_etag(entry.rev),
        "size_bytes": entry.size_bytes,
        "created_at": rfc3339(entry.created_at),
        "updated_at": rfc3339(entry.updated_at),
        "expires_at": None if entry.expires_at is None else rfc3339(entry.expires_at),
    }
