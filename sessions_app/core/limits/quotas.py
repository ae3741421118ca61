"""What one account may store. Over a quota, writes that add data are refused (507); reads, exports and deletes still work.

Each process counts an account's usage from its rows at most once in `COUNTED_EVERY` seconds; in between, it adds what it
accepted itself. So a quota costs a save no statement, and the error is at most what other processes stored meanwhile.
"""

import threading
import time
from dataclasses import dataclass

from cachetools import LRUCache
from django.conf import settings

from sessions_app.core.errors import InsufficientStorage
from sessions_app.core.limits.account_usage import STATES_COUNTED_EVERY, Usage, add_states, forget_states, read_usage

COUNTED_EVERY = 60.0
# Count again before refusing: something may have been deleted.
RECOUNTED_EVERY = 1.0
STATES_RECOUNTED_EVERY = 10.0
ACCOUNTS_REMEMBERED = 10_000


class QuotaExceeded(InsufficientStorage):
    code = "quota_exceeded"

    def __init__(self, what: str, limit: int, used: int, needed: int) -> None:
        super().__init__(
            f"This account may store {limit:,} {what} and has {used:,}; this needs {needed:,} more."
            " Delete or purge something, or ask for a larger quota.",
            details={"quota": what, "limit": limit, "used": used, "needed": needed},
        )


@dataclass(slots=True)
class _Counted:
    at: float
    size_bytes: int
    projects: int
    sessions: int


_accounts: LRUCache[int, _Counted] = LRUCache(ACCOUNTS_REMEMBERED)
_lock = threading.Lock()


def check_bytes(user_id: int, needed: int, *, beside: int = 0) -> None:
    """Check that `needed` more bytes fit and count them as stored. Raises QuotaExceeded.

    `beside`: bytes that are stored and that no usage has yet; negative for some that it has and that will go.
    """
    _take(user_id, "bytes", settings.ACCOUNT_BYTES, needed, beside)


def check_state_bytes(user_id: int, needed: int) -> None:
    """The same for a state that is kept with its versions: its request may have sent a part of it only."""
    check_bytes(user_id, needed)
    add_states(user_id, needed)


def check_projects(user_id: int, needed: int = 1) -> None:
    _take(user_id, "projects", settings.ACCOUNT_PROJECTS, needed)


def check_sessions(user_id: int, needed: int = 1) -> None:
    _take(user_id, "sessions", settings.ACCOUNT_SESSIONS, needed)


def usage_now(user_id: int) -> Usage:
    """Current usage, counted now, for the account's page."""
    found = read_usage(user_id, states_every=0)
    _remember(user_id, found)
    return found


def _take(user_id: int, what: str, limit: int, needed: int, beside: int = 0) -> None:
    if not limit or needed + max(beside, 0) == 0:
        return
    name = "size_bytes" if what == "bytes" else what
    counted = _counted(user_id, COUNTED_EVERY)
    if getattr(counted, name) + beside + needed > limit:
        counted = _counted(user_id, RECOUNTED_EVERY, states_every=STATES_RECOUNTED_EVERY)
        if (used := getattr(counted, name)) + beside + needed > limit:
            raise QuotaExceeded(what, limit, used, max(beside, 0) + needed)
    with _lock:
        setattr(counted, name, getattr(counted, name) + needed)


def _counted(user_id: int, seconds: float, *, states_every: float = STATES_COUNTED_EVERY) -> _Counted:
    with _lock:
        found = _accounts.get(user_id)
    if found is not None and time.monotonic() - found.at < seconds:
        return found
    return _remember(user_id, read_usage(user_id, states_every=states_every))


def _remember(user_id: int, usage: Usage) -> _Counted:
    counted = _Counted(time.monotonic(), usage.size_bytes, usage.projects, usage.sessions)
    with _lock:
        _accounts[user_id] = counted
    return counted


def forget() -> None:
    """Recount every account at its next write (tests)."""
    forget_states()
    with _lock:
        _accounts.clear()
