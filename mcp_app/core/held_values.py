"""Values that the store refused because it cannot be written now: kept in this process, served, and written as soon as possible.

They are lost if the process ends before. A process keeps a limited number of bytes; what does not fit is not kept.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import DatabaseError

from mcp_app.core.outcomes import size_of
from sessions_app.accounts.api_keys import is_usable
from sessions_app.core.errors import AppError, InsufficientStorage
from sessions_app.core.public_names import Caller
from sessions_app.core.storage.database_errors import (
    NoConnectionLeft,
    StoreReadOnly,
    StoreUnreachable,
    as_app_error,
    leave_read_only,
)

MOST_BYTES = 8_000_000


class HeldKey(NamedTuple):
    user_id: int
    project: str
    namespace: str
    key: str


@dataclass(frozen=True, slots=True)
class Held:
    """`write` stores the value."""

    name: HeldKey
    caller: Caller
    value: Any
    write: Callable[[], object]


_held: dict[HeldKey, tuple[Held, int]] = {}
_lock = threading.Lock()


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


def drop(name: HeldKey) -> None:
    """A newer value was stored."""
    with _lock:
        _held.pop(name, None)


def write_again() -> int:
    """Writes what is held, the oldest first; stops where the store still refuses. Returns 0: nothing is left to do at once."""
    with _lock:
        waiting = [held for held, _ in _held.values()]
    for held in waiting:
        try:
            if is_usable(held.caller):
                held.write()
        except (DatabaseError, AppError) as error:
            if state_of_store(error) is not None:
                break
        with _lock:
            if held.name in _held and _held[held.name][0] is held:  # Not a newer value.
                del _held[held.name]
    return 0
