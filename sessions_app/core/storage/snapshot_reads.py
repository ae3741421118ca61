"""Several reads that see one snapshot of the store."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from sessions_app.core.storage.sql import execute, on_postgresql


@contextmanager
def one_moment() -> Iterator[None]:
    """Reads inside the block see the store as of the first read; no writer waits for it."""
    if connection.in_atomic_block:
        yield
    elif on_postgresql():
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
    else:
        # Not `atomic`: here it begins as a writer and would block saves.
        execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            execute("ROLLBACK")
