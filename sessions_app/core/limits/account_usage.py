"""How much an account has stored: used for its quotas and shown on its page."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from cachetools import LRUCache

from sessions_app.core.extension import extensions
from sessions_app.core.storage.sql import fetch_row
from sessions_app.models import ChatSession, Project

_OF_PROJECT = "JOIN sessions_app_project p ON p.id = {}.project_id WHERE p.owner_id = %s"
_OF_SESSION = "JOIN sessions_app_chatsession s ON s.id = {}.session_id " + _OF_PROJECT.format("s")
_OF_STATE = "JOIN sessions_app_{} o ON o.id = v.state_id " + _OF_SESSION.format("o")
# Texts, by what their size is: the databases know the bytes of a column without reading it.
_COPY = ("text", "parts", "raw", "metadata")
# What has bytes: an expression of SQL, and the rows of an account that it is summed over.
_STORED = (
    # Live messages, and what a session has besides; cleared ones that can still be restored; removed ones; conflict copies.
    ("s.size_bytes + COALESCE(OCTET_LENGTH(s.metadata), 0)", "chatsession s " + _OF_PROJECT.format("s")),
    ("c.size_bytes", f"clearing c {_OF_SESSION.format('c')} AND c.undone_at IS NULL AND c.purged_at IS NULL"),
    ("m.size_bytes", f"message m {_OF_SESSION.format('m')} AND NOT (m.removed = '')"),
    (" + ".join(f"COALESCE(OCTET_LENGTH(c.{name}), 0)" for name in _COPY), "conflictcopy c " + _OF_SESSION.format("c")),
    ("OCTET_LENGTH(h.content)", "handoff h " + _OF_PROJECT.format("h")),
    ("OCTET_LENGTH(h.payload)", "handoffsnapshot h " + _OF_PROJECT.format("h")),
    # Files; files of imports.
    ("f.size_bytes", "storedfile f WHERE f.owner_id = %s"),
    ("i.size_bytes", "importjob i WHERE i.user_id = %s AND i.state IN ('queued', 'running', 'publishing')"),
)
# States of agents and AIs with the versions that are kept, and agents' questions.
_STATES = (
    ("OCTET_LENGTH(a.content)", "agentstate a " + _OF_SESSION.format("a")),
    ("OCTET_LENGTH(v.content)", "agentstateversion v " + _OF_STATE.format("agentstate")),
    ("OCTET_LENGTH(a.content)", "aistate a " + _OF_SESSION.format("a")),
    ("OCTET_LENGTH(v.content)", "aistateversion v " + _OF_STATE.format("aistate")),
    ("OCTET_LENGTH(a.content) + COALESCE(OCTET_LENGTH(a.resolution), 0)", "pendingaction a " + _OF_SESSION.format("a")),
)
# Seconds: to look at all states of 20,000 sessions takes a quarter of one. Meanwhile what is added is added up.
STATES_COUNTED_EVERY = 600.0
_states: LRUCache[int, "_States"] = LRUCache(10_000)
_lock = threading.Lock()


@dataclass(slots=True)
class _States:
    at: float
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage of one account, including trash, versions and what can be restored."""

    size_bytes: int
    projects: int
    sessions: int


def read_usage(user_id: int, *, states_every: float = STATES_COUNTED_EVERY) -> Usage:
    """Counted from the rows: a few indexed sums, some ten milliseconds at 20,000 sessions. `states_every`: how many seconds ago
    states may have been counted."""
    return Usage(
        size_bytes=_sum(_STORED, user_id)
        + _states_bytes(user_id, states_every)
        + sum(extension.account_bytes(user_id) for extension in extensions()),
        projects=Project.objects.filter(owner_id=user_id).count(),
        sessions=ChatSession.objects.filter(project__owner_id=user_id).count(),
    )


def add_states(user_id: int, size_bytes: int) -> None:
    """These bytes of states were stored since they were counted."""
    with _lock:
        if user_id in _states:
            _states[user_id].size_bytes += size_bytes


def forget_states() -> None:
    """Count the states of all accounts again."""
    with _lock:
        _states.clear()


def _states_bytes(user_id: int, every: float) -> int:
    with _lock:
        known = _states.get(user_id)
    if known is None or time.monotonic() - known.at >= every:
        known = _States(time.monotonic(), _sum(_STATES, user_id))
        with _lock:
            _states[user_id] = known
    return known.size_bytes


def _sum(stored: Sequence[tuple[str, str]], user_id: int) -> int:
    sums = (f"(SELECT COALESCE(SUM({size}), 0) FROM sessions_app_{rows})" for size, rows in stored)  # noqa: S608 - constants only
    return sum(int(part) for part in fetch_row("SELECT " + ", ".join(sums), [user_id] * len(stored)))
