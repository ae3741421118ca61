"""What clients do, for the page Agents and the page of keys: noted in memory, stored by a background task.

Noting costs microseconds and cannot fail a call. What is not stored yet is lost if the process is killed.
"""

import threading
import time
import uuid
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mcp_app.core.calls import Call, Client
from mcp_app.core.outcomes import Outcome
from mcp_app.core.places import ALL_PROJECTS
from sessions_app.core.public_names import now

# Of a process, between two rounds of the task.
MOST_CALLS, MOST_CLIENTS = 5_000, 1_000
NAME_LENGTH, PATH_LENGTH = 100, 512
# In a request's `_meta`, since 2026-07-28.
CLIENT = "io.modelcontextprotocol/clientInfo"


@dataclass(frozen=True, slots=True)
class Connection:
    """Who calls. `limit`: the only project of the key. `named`: the path or id of the project; "": none. A search of all
    projects is shown in the connection's."""

    user_id: int
    key_id: uuid.UUID | None
    limit: uuid.UUID | None
    named: str
    user_agent: str
    client: Client | None


@dataclass(frozen=True, slots=True)
class Made:
    """A call that was answered."""

    connection: Connection
    at: datetime
    tool: str
    code: str
    duration_ms: float


_calls: deque[Made] = deque(maxlen=MOST_CALLS)
_seen: dict[Connection, datetime] = {}
_lock = threading.Lock()


def record_call(call: Call, tool: str, arguments: Any, outcome: Outcome, begun: float) -> None:
    """`begun`: by `time.perf_counter`."""
    connection = _connection(call, arguments)
    code = str(outcome.data.get("error", {}).get("code", "error")) if outcome.is_error else ""
    made = Made(connection, now(), tool, code, (time.perf_counter() - begun) * 1_000)
    with _lock:
        _calls.append(made)
        _see(connection, made.at)


def record_client(call: Call) -> None:
    """A client that asks for something else than a tool."""
    if call.client is not None:
        with _lock:
            _see(_connection(call, {}), now())


def take_recorded() -> tuple[list[Made], dict[Connection, datetime]]:
    """What was recorded since the last time, the oldest first: calls, and when each client was last seen."""
    with _lock:
        calls, seen = list(_calls), dict(_seen)
        _calls.clear()
        _seen.clear()
    return calls, seen


def client_of(message: Any) -> Client | None:
    """As the client names itself: when it connects, or since 2026-07-28 in each request."""
    params = message.get("params") if isinstance(message, Mapping) else None
    if not isinstance(params, Mapping):
        return None
    meta = params.get("_meta")
    named = meta.get(CLIENT) if isinstance(meta, Mapping) else None
    return named_client(named or params.get("clientInfo"))


def named_client(named: Any) -> Client | None:
    """`named`: the protocol's `clientInfo`."""
    if not isinstance(named, Mapping) or not isinstance(named.get("name"), str) or not named["name"]:
        return None
    return Client(named["name"][:NAME_LENGTH], str(named.get("version") or "")[: NAME_LENGTH // 2])


def _connection(call: Call, arguments: Any) -> Connection:
    caller = call.caller
    given = arguments.get("project") if isinstance(arguments, Mapping) else None
    named = given if isinstance(given, str) and given not in {"", ALL_PROJECTS} else call.project
    return Connection(caller.user_id, caller.key_id, caller.project_id, named[:PATH_LENGTH], call.user_agent, call.client)


def _see(connection: Connection, at: datetime) -> None:
    if connection in _seen or len(_seen) < MOST_CLIENTS:
        _seen[connection] = at
