"""Maps errors of the store, the database and the files beside it, to refusals for the caller."""

import logging
import threading
import time

from django.db import DatabaseError, InterfaceError, OperationalError, ProgrammingError, connection
from django.db.utils import InternalError

from sessions_app.core.errors import AppError, InsufficientStorage, Unavailable
from sessions_app.core.storage.durable_files import FULL

logger = logging.getLogger(__name__)
# The operator is told once in this time, however many requests are refused.
TOLD_SECONDS = 60.0
NO_CONNECTION_LEFT = (
    "PostgreSQL refuses more connections: all of its max_connections are taken, or all that this role or database may have. "
    "Raise that limit, or lower STILLHERE_THREADS or STILLHERE_WORKERS: docs/operations.md says how many the server opens."
)


class StoreNotReady(Unavailable):
    code, message = "store_not_ready", "The store is not set up yet. Run `manage.py migrate`, then try again."


class StoreReadOnly(Unavailable):
    code, message = "store_read_only", "The store is read-only now. Saves will be accepted again when it can be written."


class StoreUnreachable(Unavailable):
    code, message = "store_unreachable", "The database does not respond. Try again shortly."


class NoConnectionLeft(StoreUnreachable):
    code = "too_many_connections"
    message = "The database takes no more connections. Try again shortly; the server's log says what its operator can change."


class LoginRefused(StoreUnreachable):
    message = (
        "PostgreSQL does not let the server in: its operator checks the name of the database, the role and the password in "
        "STILLHERE_DATABASE_URL. A database that does not exist is created first (`createdb`)."
    )


class StoreBusy(Unavailable):
    code, message = "store_busy", "The store is busy. Try again shortly."


# Texts of SQLite's and PostgreSQL's error messages; neither gives Django a code for all of these states.
_STATES: tuple[tuple[tuple[str, ...], type[AppError]], ...] = (
    (('fatal:  database "', 'fatal:  role "', "authentication failed for", "no pg_hba.conf entry"), LoginRefused),
    (("no such table", "no such column", "does not exist", "has no column"), StoreNotReady),
    (("disk is full", "disk i/o error", "no space left", "could not extend file", "disk full"), InsufficientStorage),
    (("readonly", "read-only", "unable to open database file"), StoreReadOnly),
    (("is locked", "deadlock detected", "lock timeout", "statement timeout", "could not serialize"), StoreBusy),
    # SQLSTATE 53300, which libpq does not pass on for a connection that was not made.
    (("too many clients", "remaining connection slots", "too many connections"), NoConnectionLeft),
    (("connection", "server closed", "terminating"), StoreUnreachable),
)


class _Notices:
    """What the operator of this process is told, each subject once in a time."""

    def __init__(self) -> None:
        self._lock, self._until = threading.Lock(), dict[str, float]()

    def due(self, subject: str) -> bool:
        with self._lock:
            if time.monotonic() < self._until.get(subject, 0.0):
                return False
            self._until[subject] = time.monotonic() + TOLD_SECONDS
            return True


_notices = _Notices()


def tell_refusal(refused: str, known: AppError, error: BaseException) -> None:
    """Why the store refused a request, a page or a tool. How many it refuses is in the lines of the requests themselves."""
    if _notices.due(known.code):
        logger.warning("the store refused a %s: %s (%s)", refused, known.code, type(error).__name__)


def as_app_error(error: BaseException) -> AppError | None:
    """The refusal for this state of the store; None if the error is a bug in the server."""
    if isinstance(error, OSError) and error.errno in FULL:  # Of a file beside the database, such as an export's.
        return InsufficientStorage()
    if not isinstance(error, (OperationalError, ProgrammingError, InterfaceError, InternalError)):
        return None
    said = str(error).lower()
    for words, kind in _STATES:
        if any(word in said for word in words):
            if kind is NoConnectionLeft and _notices.due(NO_CONNECTION_LEFT):
                logger.error(NO_CONNECTION_LEFT)
            return kind(retry_after=2 if kind is not InsufficientStorage else None)
    return StoreUnreachable(retry_after=2) if isinstance(error, (OperationalError, InterfaceError)) else None


def is_damage(error: BaseException) -> bool:
    """The file is no SQLite database, or not a whole one."""
    return isinstance(error, DatabaseError) and any(words in str(error) for words in ("not a database", "malformed"))


def leave_read_only(refusal: AppError) -> None:
    """Close the connection: PostgreSQL keeps a read-only connection read-only, even when the database allows writes again."""
    if isinstance(refusal, StoreReadOnly) and not connection.in_atomic_block:
        connection.close()
