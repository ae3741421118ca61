"""The statement that reads the children of one row, built once per kind: with many small sessions, building it each time, as
the ORM does, takes longer than running it."""

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, cast

from django.db import connection
from django.db.models import Count, ForeignKey, UUIDField

from sessions_app.core.storage.sql import on_postgresql
from sessions_app.portability.content_kinds import Kind, kind_named

# Rows of a statement in memory at once; a row can have a megabyte.
CHUNK = 50
type Rows = list[tuple[Any, ...]]


class Statement:
    """Returns `(pk, *fields)` of a kind's rows below one parent, in the kind's order."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._key = cast("ForeignKey[Any, Any]", kind.model._meta.get_field(kind.link)).target_field
        anyone = uuid.UUID(int=1) if isinstance(self._key, UUIDField) else 1
        rows = kind.model._default_manager.filter(**{kind.link: anyone}).order_by(*kind.order)
        self._compiler = rows.values_list("pk", *kind.fields).query.get_compiler(connection=connection)
        self._sql, _ = self._compiler.as_sql()
        self._converters = self._compiler.get_converters([column for column, _, _ in self._compiler.select])

    def below(self, pk: Any, count: int) -> Iterator[Rows]:
        """Yields rows in batches. `count`: the current number of rows."""
        if on_postgresql() and count > CHUNK:  # Its cursors load all rows at once, except Django's named ones.
            yield from self._streamed(pk)
            return
        with connection.cursor() as cursor:
            cursor.execute(self._sql, [self._key.get_db_prep_value(pk, connection)])
            while some := cursor.fetchmany(CHUNK):
                yield self._converted(some)

    def _streamed(self, pk: Any) -> Iterator[Rows]:
        rows = self._kind.model._default_manager.filter(**{self._kind.link: pk}).order_by(*self._kind.order)
        some: Rows = []
        for row in rows.values_list("pk", *self._kind.fields).iterator(chunk_size=CHUNK):
            some.append(row)
            if len(some) == CHUNK:
                yield some
                some = []
        yield some

    def _converted(self, rows: Iterable[Any]) -> Rows:
        if not self._converters:
            return list(rows)
        return [tuple(row) for row in self._compiler.apply_converters(rows, self._converters)]


@cache
def statement_of(name: str) -> Statement:
    return Statement(kind_named(name))


def counts_below(kind: Kind, pks: list[Any]) -> Counter[Any]:
    """How many rows of a kind each of these parents has."""
    rows = kind.model._default_manager.filter(**{f"{kind.link}__in": pks}).order_by()
    return Counter(dict(rows.values_list(kind.link_column).annotate(count=Count("pk"))))
