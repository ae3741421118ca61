"""Maps database errors to refusals for the caller."""

from django.db import InterfaceError, OperationalError, ProgrammingError, connection
from django.db.utils import InternalError

from sessions_app.core.errors import AppError, InsufficientStorage, Unavailable


class StoreNotReady(Unavailable):
    code, message = "store_not_ready", "The store is not set up yet. Run `manage.py migrate`, then try again."


class StoreReadOnly(Unavailable):
    code, message = "store_read_only", "The store is read-only now. Saves will be accepted again when it can be written."


class StoreUnreachable(Unavailable):
    code, message = "store_unreachable", "The database does not respond. Try again shortly."


class StoreBusy(Unavailable):
    code, message = "store_busy", "The store is busy. Try again shortly."


# Texts of SQLite's and PostgreSQL's error messages; neither gives Django a code for all of these states.
_STATES: tuple[tuple[tuple[str, ...], type[AppError]], ...] = (
    (("no such table", "no such column", "does not exist", "has no column"), StoreNotReady),
    (("disk is full", "disk i/o error", "no space left", "could not extend file", "disk full"), InsufficientStorage),
    (("readonly", "read-only", "unable to open database file"), StoreReadOnly),
    (("is locked", "deadlock detected", "lock timeout", "statement timeout", "could not serialize"), StoreBusy),
    (("connection", "server closed", "terminating"), StoreUnreachable),
)


def as_app_error(error: BaseException) -> AppError | None:
    """The refusal for this state of the store; None if the error is a bug in the server."""
    if not isinstance(error, (OperationalError, ProgrammingError, InterfaceError, InternalError)):
        return None
    said = str(error).lower()
    for words, kind in _STATES:
        if any(word in said for word in words):
            return kind(retry_after=2 if kind is not InsufficientStorage else None)
    return StoreUnreachable(retry_after=2) if isinstance(error, (OperationalError, InterfaceError)) else None


def leave_read_only(refusal: AppError) -> None:
    """Close the connection: PostgreSQL keeps a read-only connection read-only, even when the database allows writes again."""
    if isinstance(refusal, StoreReadOnly) and not connection.in_atomic_block:
        connection.close()
