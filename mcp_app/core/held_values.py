"""Values that the store refused because it cannot be written now: kept in this process, served, and written as soon as possible.

They are lost if the process ends before; the log says so. A process keeps a limited number of bytes; what does not fit is not
kept.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import DatabaseError

from mcp_app.core.outcomes import size_of
from sessions_app.accounts.api_keys import is_usable
from sessions_app.core.errors import AppError, InsufficientStorage, Locked, Unavailable
from sessions_app.core.public_names import Caller
from sessions_app.core.storage.database_errors import (
    NoConnectionLeft,
    StoreReadOnly,
    StoreUnreachable,
    as_app_error,
    leave_read_only,
)

MOST_BYTES = 8_000_000
logger = logging.getLogger(__name__)


class HeldKey(NamedTuple):
    user_id: int
    project: str
    namespace: str
    key: str


@dataclass(frozen=True, slots=True)
class Held:
    """`write` stores the value, unless somebody else has stored a newer one."""

    name: HeldKey
    caller: Caller
    value: Any
    write: Callable[[], object]


_held: dict[HeldKey, tuple[Held, int]] = {}
_lock = threading.Lock()
# Held while one of them is written: see `settled`.
_writing = threading.Lock()


def state_of_store(error: Exception) -> AppError | None:
    """The refusal, if it is for a state of the store that passes: read-only, full, not there. A quota is none."""
    found = error if isinstance(error, AppError) else as_app_error(error)
    if found is None or type(found) not in {StoreReadOnly, StoreUnreachable, NoConnectionLeft, InsufficientStorage}:
        return None
    leave_read_only(found)
    return found


def hold(held: Held) -> bool:
    """Keep it in place of an earlier value of this name. False: there is no room."""
    size = size_of({"value": held.value})
    with _lock:
        others = sum(bytes_ for name, (_, bytes_) in _held.items() if name != held.name)
        if others + size > MOST_BYTES:
            return False
        _held[held.name] = (held, size)
        return True


def find(name: HeldKey, caller: Caller) -> Held | None:
    """For the key that it was saved with, or for one of the same account without a limit to a project."""
    with _lock:
        held = _held[name][0] if name in _held else None
    if held is None or caller.project_id not in {None, held.caller.project_id}:
        return None
    return held


def drop(name: HeldKey) -> bool:
    """A newer value was stored, or it was deleted. Returns whether there was one."""
    with _lock:
        return _held.pop(name, None) is not None


@contextmanager
def settled(name: HeldKey) -> Iterator[None]:
    """In the block the held value of this name, if there is one, is not being written: it would come back after a delete."""
    with _lock:
        is_held = name in _held
    if not is_held:
        yield
        return
    with _writing:
        yield


def write_again() -> int:
    """Writes what is held, the oldest first; stops where the store still refuses. What a lease or a quota refuses waits for the
    next time. Returns 0: nothing is left to do at once."""
    with _lock:
        waiting = [held for held, _ in _held.values()]
    for held in waiting:
        with _writing:
            if not _is_held(held):  # A newer value was stored meanwhile, or it was deleted.
                continue
            try:
                refusal = _refusal_of(held)
            except (DatabaseError, AppError) as error:
                if state_of_store(error) is not None:
                    break
                if _passes(error):
                    continue
                refusal = error.code if isinstance(error, AppError) else type(error).__name__
            if refusal:
                logger.warning("a value that an agent saved is given up (user %d): %s", held.name.user_id, refusal)
            if _is_held(held):
                drop(held.name)
    return 0


def write_last() -> int:
    """The same when the process ends: what is left then is lost."""
    write_again()
    with _lock:
        left = [held.name.user_id for held, _ in _held.values()]
    for user_id in left:
        logger.warning("a value that an agent saved is given up (user %d): the process ends", user_id)
    return 0


def _is_held(held: Held) -> bool:
    with _lock:
        return held.name in _held and _held[held.name][0] is held


def _refusal_of(held: Held) -> str:
    """Writes the value; "": it is written."""
    if not is_usable(held.caller):
        return "its key is no longer valid"
    held.write()
    return ""


def _passes(error: DatabaseError | AppError) -> bool:
    """Whether the same write may be accepted later: another run holds the lease, a quota is full, the store is busy."""
    found = error if isinstance(error, AppError) else as_app_error(error)
    return isinstance(found, (Locked, InsufficientStorage, Unavailable))
