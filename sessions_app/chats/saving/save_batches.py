"""Saves of many clients in one transaction: one combined read before them, one combined write after.

The rules are those of `services.save_changes`, run for one save after another. The cost of database round trips and disk
syncs is shared. Special cases are left to be run alone: an unknown session, one locked by another transaction, a refusal.
"""

import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from django.db import DatabaseError, connection

from sessions_app.chats import locking
from sessions_app.chats.saving import message_batch, receipts
from sessions_app.chats.saving.receipts import Answer, Request
from sessions_app.chats.saving.services import Changes, named_ids, save_changes
from sessions_app.core.storage.database_errors import StoreBusy, as_app_error
from sessions_app.core.storage.sql import db_uuid, execute_together, fetch_together, on_postgresql
from sessions_app.core.storage.statement_batch import Batch, batching
from sessions_app.core.storage.transactions import write
from sessions_app.models import Caller

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Save:
    """One request."""

    caller: Caller
    session_id: uuid.UUID
    changes: Changes


class Left(Enum):
    """Why a save was left out: none of it was done."""

    # Run alone, it gets its own answer, which may be a refusal.
    ALONE = "alone"
    # Another transaction holds its session or project (or no such session exists: PostgreSQL reports both the same way).
    HELD = "held"


class _Broken(Exception):
    """The transaction cannot continue: one of the saves broke it."""


def save_together(saves: Sequence[Save]) -> list[Answer | Left]:
    """Returns the answer to each save, after the commit. Raises StoreBusy."""
    if not saves:
        return []
    try:
        return write(lambda: _save_all(saves))
    except Exception as error:
        if isinstance(busy := as_app_error(error), StoreBusy):  # Timed out waiting for the lock.
            raise busy from None
        logger.warning("%s saves that were put together are tried one by one: %s", len(saves), type(error).__name__)
        return [Left.ALONE] * len(saves)


def _save_all(saves: Sequence[Save]) -> list[Answer | Left]:
    batch = Batch()
    connection.errors_occurred = False
    locked = _read_ahead(batch, saves)

    def write_first(execute: Callable[..., Any], statement: str, *rest: Any) -> Any:
        """Write the queued statements before one that the batch did not prefetch, because it must see them."""
        if not statement.lstrip().startswith("SELECT"):
            batch.changes += 1
        execute_together(batch.take_later())
        return execute(statement, *rest)

    with batching(batch), connection.execute_wrapper(write_first):
        answers = [_save(batch, save) if save.session_id in locked else _left(save) for save in saves]
    # After some errors SQLite has rolled back already, even if only a read failed, possibly unnoticed.
    if connection.needs_rollback or connection.errors_occurred:
        raise _Broken
    execute_together(batch.take_later())
    return answers


def _save(batch: Batch, save: Save) -> Answer | Left:
    changes = batch.changes
    try:
        return save_changes(caller=save.caller, session_id=save.session_id, changes=save.changes)
    except DatabaseError:
        raise
    except Exception:
        if batch.changes != changes:  # Its writes are already in the transaction, which has to be rolled back.
            raise
        return Left.ALONE
    finally:
        if batch.changes != changes:
            batch.forget(db_uuid(save.session_id))


def _left(save: Save) -> Left:
    """What creates its session runs alone at once: most likely there is no session to wait for."""
    return Left.HELD if on_postgresql() and save.changes.create is None else Left.ALONE


def _read_ahead(batch: Batch, saves: Sequence[Save]) -> set[uuid.UUID]:
    """Prefetch for the first save of each session. Returns the sessions that are locked now."""
    firsts = list({save.session_id: save for save in reversed(saves)}.values())
    requests = [_request(save) for save in firsts]
    named = [(save.session_id, ids) for save in firsts if (ids := named_ids(save.changes.ops))]
    lock = locking.many([(save.session_id, save.caller.user_id) for save in firsts])
    queries = [*lock, receipts.many(requests), *([message_batch.many(named)] if named else [])]
    answers = fetch_together(queries)
    sessions, projects = locking.rows_of(answers[: len(lock)])
    answered, *messages = answers[len(lock) :]
    receipts.put_ahead(batch, requests, answered)
    if named:
        message_batch.put_ahead(batch, named, locking.epochs_of(sessions), messages[0])
    return locking.put_ahead(batch, sessions, projects)


def _request(save: Save) -> Request:
    return Request(save.session_id, save.changes.writer_id, save.changes.seq, save.changes.body_sha256)
