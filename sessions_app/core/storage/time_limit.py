"""Time limits for reads."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connection, transaction

from sessions_app.core.errors import Unavailable
from sessions_app.core.storage.sql import execute, on_postgresql

QUERY_CANCELED = "57014"
# SQLite calls the check after this many of its steps.
STEPS = 1_000
_ONE_BY_ONE = ("enable_seqscan", "off")
# Costs like these would also have it compile the statement.
_TOGETHER = (("enable_indexscan", "off"), ("random_page_cost", "1000"), ("jit", "off"))


class TimeIsUp(Unavailable):
    """A statement ran into its time limit."""

    code, message = "search_too_slow", "The search took too long and was stopped. Search for longer or rarer text."


@contextmanager
def time_limit(seconds: float, *, by_index: bool = False, by_all_indexes: bool = False) -> Iterator[None]:
    """Limit each statement in the block to `seconds`, else raise `TimeIsUp`. For reads only: PostgreSQL rolls back writes.

    `by_index`: PostgreSQL does no sequential scan, however common it estimates the text to be. `by_all_indexes`: and it reads
    only rows that all its indexes name. It does not know that texts may be long, so it would read all that one index names.
    """
    settings = [_ONE_BY_ONE] if by_index else [_ONE_BY_ONE, *_TOGETHER] if by_all_indexes else []
    limited = _postgresql(seconds, settings) if on_postgresql() else _sqlite(seconds)
    try:
        with limited:
            yield
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", "") == QUERY_CANCELED or str(error) == "interrupted":
            raise TimeIsUp from None
        raise


@contextmanager
def _postgresql(seconds: float, settings: list[tuple[str, str]]) -> Iterator[None]:
    with transaction.atomic():
        # The limit is the last: it is for the statements of the block.
        for setting in [*settings, ("statement_timeout", f"{max(1, round(seconds * 1000))}ms")]:
            execute("SELECT set_config(%s, %s, true)", setting)
        yield
        # Inside another transaction the settings would last as long as that one.
        transaction.set_rollback(True)


@contextmanager
def _sqlite(seconds: float) -> Iterator[None]:
    until = time.monotonic() + seconds
    connection.ensure_connection()
    raw = connection.connection
    raw.set_progress_handler(lambda: time.monotonic() > until, STEPS)
    try:
        yield
    finally:
        raw.set_progress_handler(None, STEPS)
