"""Many reads that all see one moment of the store."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from sessions_app.models.sql import on_postgresql


@contextmanager
def one_moment() -> Iterator[None]:
    """Reads inside see the store as it was at the first of them; nobody's writes wait for it."""
    if connection.in_atomic_block:
        yield
    elif on_postgresql():
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
    else:
        # Not `atomic`, which begins as a writer here and would keep others from saving.
        with connection.cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
