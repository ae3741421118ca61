"""Lists of entries. Those of one batch are read together."""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any

from django.conf import settings

from memory_app.core.namespaces import after_prefix
from memory_app.key_value.batches.operations import List, Order
from memory_app.key_value.entries.entry_rows import READ, EntryRow, column_sql, condition, entries_of
from sessions_app.core.errors import TooLarge
from sessions_app.core.public_names import db_time, db_uuid, now
from sessions_app.core.storage.sql import fetch_rows, fetch_together

# What the lists and gets of one batch read, in bytes of values: it bounds their time, and the size of the answer.
READ_BYTES = 50_000_000
# Rows that a filter looks at between two statements, and the bytes that each counts for at least.
LOOKED_AT, LEAST_BYTES = 200, 250
_HEADS = READ.replace(" value,", " NULL,")
_NAMES = ", ".join(map(column_sql, ("namespace", "key")))
_ORDERS = {
    Order.KEY: _NAMES,
    Order.KEY_DOWN: ", ".join(f"{column_sql(name)} DESC" for name in ("namespace", "key")),
    Order.UPDATED: f"updated_at, {_NAMES}",
    Order.UPDATED_DOWN: f"updated_at DESC, {_NAMES}",
}
_BEYOND = {
    Order.KEY: f"({_NAMES}) > (%s, %s)",
    Order.KEY_DOWN: f"({_NAMES}) < (%s, %s)",
    Order.UPDATED: f"(updated_at > %s OR updated_at = %s AND ({_NAMES}) > (%s, %s))",
    Order.UPDATED_DOWN: f"(updated_at < %s OR updated_at = %s AND ({_NAMES}) > (%s, %s))",
}


class TooMuchRead(TooLarge):
    code = "too_much_read"
    message = f"The lists and gets of one batch read at most {READ_BYTES} bytes of values. Split it, or list without values."


class ReadBudget:
    """Of one batch."""

    def __init__(self) -> None:
        self.left = READ_BYTES

    def take(self, size_bytes: int) -> None:
        self.left -= size_bytes
        if self.left < 0:
            raise TooMuchRead(details={"limit": READ_BYTES})


def read_lists(project_id: uuid.UUID, lists: Sequence[List], budget: ReadBudget) -> list[list[EntryRow]]:
    """The entries of each list, one more than its limit if there are more. Without values, unless it asks for them."""
    together = [asked for asked in lists if asked.sought is None]
    moment = now()
    _check_values(project_id, [asked for asked in together if asked.values], moment, budget)
    statements = [_statement(project_id, asked, moment, asked.limit + 1, asked.offset) for asked in together]
    # The same question is asked once.
    different = {(statement, tuple(parameters)): (statement, parameters) for statement, parameters in statements}
    answers = dict(zip(different, fetch_together(list(different.values())), strict=True))
    made = {name: entries_of(project_id, rows) for name, rows in answers.items()}
    plain = iter([made[statement, tuple(parameters)] for statement, parameters in statements])
    filtered = _filtered(project_id, [asked for asked in lists if asked.sought is not None], moment, budget)
    return [next(plain) if asked.sought is None else next(filtered) for asked in lists]


def _filtered(project_id: uuid.UUID, lists: Sequence[List], moment: datetime, budget: ReadBudget) -> Iterator[list[EntryRow]]:
    walks: dict[object, _Walk] = {}
    for asked in lists:
        statement, parameters = _statement(project_id, asked, moment, LOOKED_AT, 0)
        name = statement, tuple(parameters), asked.sought and asked.sought.fields
        if name not in walks:
            walks[name] = _Walk(_matching(project_id, asked, moment, budget), budget)
        yield walks[name].page(asked.offset, asked.limit)


def _check_values(project_id: uuid.UUID, lists: Sequence[List], moment: datetime, budget: ReadBudget) -> None:
    """Before they are read: each of hundreds of lists can read the whole memory. A few cannot read more than the budget."""
    if len(lists) * settings.PROJECT_BYTES <= READ_BYTES:
        return
    found = [_statement(project_id, replace(asked, values=False), moment, asked.limit, asked.offset) for asked in lists]
    sums = [(f"SELECT COALESCE(SUM(size_bytes), 0) FROM ({statement}) listed", values) for statement, values in found]  # noqa: S608
    if sum(int(size) for [(size,)] in fetch_together(sums)) > budget.left:
        raise TooMuchRead(details={"limit": READ_BYTES})


def key_range(prefix: str) -> tuple[str, list[Any]]:
    """SQL for keys that begin so: a range of bytes."""
    if not prefix:
        return "1 = 1", []
    end, key = after_prefix(prefix), column_sql("key")
    return (f"{key} >= %s", [prefix]) if end is None else (f"{key} >= %s AND {key} < %s", [prefix, end])


class _Walk:
    """Through the entries of a filtered list, once for all of its pages that a batch asks for. What is in several of them counts
    for each."""

    def __init__(self, matching: Iterator[EntryRow], budget: ReadBudget) -> None:
        self._left, self._budget = matching, budget
        self._found: list[EntryRow] = []
        self._given = 0

    def page(self, offset: int, limit: int) -> list[EntryRow]:
        """One more than its limit if there are more."""
        self._found += islice(self._left, max(0, offset + limit + 1 - len(self._found)))
        for entry in self._found[offset : min(offset + limit, self._given)]:
            self._budget.take(max(entry.size_bytes, LEAST_BYTES))
        self._given = max(self._given, offset + limit)
        return self._found[offset : offset + limit + 1]


def _matching(project_id: uuid.UUID, asked: List, moment: datetime, budget: ReadBudget) -> Iterator[EntryRow]:
    while True:
        statement, parameters = _statement(project_id, asked, moment, LOOKED_AT, 0)
        entries = entries_of(project_id, fetch_rows(statement, parameters))
        for entry in entries:
            budget.take(max(entry.size_bytes, LEAST_BYTES))
            if _matches(asked, entry.value):
                yield entry
        if len(entries) < LOOKED_AT:
            return
        last = entries[-1]  # Not an offset: each statement would count again what those before it read.
        asked = replace(asked, cursor=(last.updated_at.isoformat(), last.namespace, last.key))


def _matches(asked: List, text: str) -> bool:
    try:
        return asked.sought is not None and asked.sought.matches(asked.sought.read(text))
    except ValueError:  # A damaged value has no fields.
        return False


def _statement(project_id: uuid.UUID, asked: List, moment: datetime, limit: int, offset: int) -> tuple[str, list[Any]]:
    columns = READ if asked.with_values else _HEADS
    of_namespace, names = condition(asked.namespace, deep=asked.deep)
    of_keys, keys = key_range(asked.prefix)
    beyond, last = _beyond(asked)
    chosen = f"project_id = %s AND {of_namespace} AND {of_keys} AND {beyond} AND (expires_at IS NULL OR expires_at > %s)"
    statement = f"SELECT {columns} FROM memory_app_memoryentry WHERE {chosen} ORDER BY {_ORDERS[asked.order]} LIMIT %s OFFSET %s"  # noqa: S608 - our own SQL
    return statement, [db_uuid(project_id), *names, *keys, *last, db_time(moment), limit, offset]


def _beyond(asked: List) -> tuple[str, list[Any]]:
    if asked.cursor is None:
        return "1 = 1", []
    updated, namespace, key = asked.cursor
    if asked.order in {Order.KEY, Order.KEY_DOWN}:
        return _BEYOND[asked.order], [namespace, key]
    at = db_time(datetime.fromisoformat(updated))
    return _BEYOND[asked.order], [at, at, namespace, key]
