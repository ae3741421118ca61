"""What lists of sessions can be filtered and sorted by, as SQL in which `s` is the session and `p` its project."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from sessions_app.chats.search.message_search import title_test, titles_by_index
from sessions_app.core.storage.sql import db_time, db_uuid, on_postgresql, rfc3339_sql
from sessions_app.models.session import SessionState
from sessions_app.models.times import now

type Sort = Literal["updated", "-updated", "created", "-created", "title"]
type Has = Literal["errors", "question", "conflicts"]
DEFAULT_SORT: Sort = "-updated"


class Place(NamedTuple):
    """The session after which a list continues: its value in the order (a time as RFC 3339), and its id. `message`: a search for
    text first continues in it, with the messages before this number."""

    value: str
    id: uuid.UUID
    message: int | None = None


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """`text` is searched in titles (and in texts where the list is one project's); a session whose `external_id` it is, is found
    too. `agent`: an AI with a state in the session.

    `unarchived`: without those that were archived by request. `deleted`: only those in the trash, which other lists leave out.
    `has`: an agent's unresolved error, its open question, or open conflict copies. `weekday` (0 is Monday) and `hour`: of the
    last change, in UTC.
    """

    text: str = ""
    external_id: str | None = None
    tags: tuple[str, ...] = ()
    agent: str | None = None
    state: SessionState | None = None
    archived: bool | None = None
    unarchived: bool = False
    deleted: bool = False
    pinned: bool | None = None
    since: datetime | None = None
    until: datetime | None = None
    has: Has | None = None
    weekday: int | None = None
    hour: int | None = None

    @property
    def in_trash(self) -> bool:
        return self.deleted or self.state == SessionState.TRASH


@dataclass(frozen=True, slots=True)
class Order:
    """One sort, served by the index (project, column, id) in its own direction or in reverse."""

    column: str
    descending: bool = False
    # The index has the ids ascending beside descending times.
    ids_descending: bool = False
    is_time: bool = True

    def clause(self, table: str) -> str:
        directions = [" DESC" if down else "" for down in (self.descending, self.ids_descending)]
        return f"{table}.{self.column}{directions[0]}, {table}.id{directions[1]}"

    def after(self, table: str, place: Place) -> tuple[str, list[Any]]:
        """What follows a place. A comparison of rows where the index allows it: many titles are the same."""
        beyond, ids = ("<" if self.descending else ">"), ("<" if self.ids_descending else ">")
        value = db_time(datetime.fromisoformat(place.value)) if self.is_time else place.value
        column, row_id = f"{table}.{self.column}", f"{table}.id"
        if beyond == ids:
            return f"({column}, {row_id}) {beyond} (%s, %s)", [value, db_uuid(place.id)]
        condition = f"{column} {beyond}= %s AND ({column} {beyond} %s OR {row_id} {ids} %s)"
        return condition, [value, value, db_uuid(place.id)]

    def value_sql(self, table: str) -> str:
        column = f"{table}.{self.column}"
        return rfc3339_sql(column) if self.is_time else column


ORDERS: dict[str, Order] = {
    "-updated": Order("updated_at", descending=True),
    "updated": Order("updated_at", ids_descending=True),
    "created": Order("created_at"),
    "-created": Order("created_at", descending=True, ids_descending=True),
    "title": Order("title", is_time=False),
}


@dataclass(frozen=True, slots=True)
class Condition:
    """`test`: whether a session is wanted. The wanted ones are read from `table`, joined by `on`, or from an `index` of sessions,
    which SQLite has to be told: it keeps no statistics."""

    test: str
    parameters: list[Any] = field(default_factory=list)
    table: str = ""
    on: str = ""
    driving: list[Any] = field(default_factory=list)
    index: str = ""


def conditions_of(wanted: SessionFilter, order: Order, named: Sequence[uuid.UUID] = ()) -> list[Condition]:
    """Those that the order's index does not serve; the one that probably leaves the fewest comes first.

    `named`: the sessions that have the text as `external_id`.
    """
    found = [_external_id(wanted.external_id)] if wanted.external_id is not None else []
    found += [_tag(tag, number) for number, tag in enumerate(wanted.tags)]
    found += [_HAS[wanted.has]()] if wanted.has is not None else []
    found += [_agent(wanted.agent)] if wanted.agent is not None else []
    found += [_title(wanted.text, named)] if wanted.text else []
    if wanted.state is not None:
        found.append(_state(wanted.state))
    if wanted.deleted:
        found.append(_state(SessionState.TRASH))
    if wanted.pinned is not None:
        found.append(_pinned() if wanted.pinned else Condition("s.pinned IS NOT TRUE"))
    if wanted.archived is not None:
        found.append(Condition(f"s.archived_at IS {'NOT NULL' if wanted.archived else 'NULL'}"))
    if wanted.unarchived:
        found.append(Condition("s.archive_requested_at IS NULL"))
    found += [_clock(kind, at) for kind, at in (("weekday", wanted.weekday), ("hour", wanted.hour)) if at is not None]
    if order.column != "updated_at":
        found += [Condition(sql, parameters) for sql, parameters in between(wanted, "s")]
    return found


def between(wanted: SessionFilter, table: str) -> list[tuple[str, list[Any]]]:
    """`since` and `until`, both included."""
    limits = ((">=", wanted.since), ("<=", wanted.until))
    return [(f"{table}.updated_at {sign} %s", [db_time(at)]) for sign, at in limits if at is not None]


def ranges_of(wanted: SessionFilter, order: Order, after: Place | None, table: str) -> tuple[str, list[Any]]:
    """What the order's index serves: the place, and the times if it is an order by them. And the trash, which is little."""
    found = [] if wanted.in_trash else [(f"{table}.deleted_at IS NULL", list[Any]())]
    found += [order.after(table, after)] if after is not None else []
    found += between(wanted, table) if order.column == "updated_at" else []
    return "".join(f" AND {sql}" for sql, _ in found), [value for _, values in found for value in values]


def names_error(content: dict[str, Any]) -> bool:
    return content.get("last_error") is not None


def asks(content: dict[str, Any]) -> bool:
    action = content.get("pending_action")
    return isinstance(action, dict) and action.get("resolution") is None


_CURRENT = "p.current_session_id = s.id"
_STATES = {
    SessionState.TRASH: "s.deleted_at IS NOT NULL",
    SessionState.CURRENT: _CURRENT,
    SessionState.ARCHIVED: "s.archive_requested_at IS NOT NULL",
    SessionState.EARLIER: f"s.archive_requested_at IS NULL AND ({_CURRENT}) IS NOT TRUE",
}

_OF_STATE = {SessionState.TRASH: "session_trash", SessionState.ARCHIVED: "session_archived"}


def _external_id(external_id: str) -> Condition:
    return Condition("s.external_id = %s", [external_id], index="session_external_id_unique_in_project")


def _state(state: SessionState) -> Condition:
    return Condition(_STATES[state], index=_OF_STATE.get(state, ""))


def _pinned() -> Condition:
    """As the condition of its index on each database."""
    return Condition("s.pinned" if on_postgresql() else "s.pinned = 1", index="session_pinned")


def _tag(tag: str, number: int) -> Condition:
    name = f"t{number}"
    on = f"{name}.project_id = p.id AND {name}.tag = %s AND {name}.session_id = s.id"
    test = f"EXISTS (SELECT 1 FROM sessions_app_sessiontag {name} WHERE {on})"  # noqa: S608 - our own names
    return Condition(test, [tag], f"sessions_app_sessiontag {name}", on, [tag])


def _agent(agent: str) -> Condition:
    on = "a.ai_id = %s AND a.session_id = s.id AND a.content IS NOT NULL"
    test = f"EXISTS (SELECT 1 FROM sessions_app_aistate a WHERE {on})"  # noqa: S608
    return Condition(test, [agent], "sessions_app_aistate a", on, [agent])


def _errors() -> Condition:
    """As the index `agent_state_with_error` has it; `names_error` then reads the state."""
    find = "strpos" if on_postgresql() else "instr"
    on = f"{find}(e.content, {_quoted('last_error')}) > 0 AND e.session_id = s.id"
    test = f"EXISTS (SELECT 1 FROM sessions_app_agentstate e WHERE {on})"  # noqa: S608
    return Condition(test, [], "sessions_app_agentstate e", on)


def _question() -> Condition:
    """By the index `action_open`; `asks` then reads the state: one that it no longer has is open, but nobody sees it."""
    on = "q.session_id = s.id AND q.resolution IS NULL AND (q.expires_at IS NULL OR q.expires_at > %s)"
    test = f"EXISTS (SELECT 1 FROM sessions_app_pendingaction q WHERE {on})"  # noqa: S608
    at = db_time(now())
    found = "(SELECT DISTINCT session_id FROM sessions_app_pendingaction WHERE resolution IS NULL AND "
    return Condition(test, [at], f"{found}(expires_at IS NULL OR expires_at > %s)) q", "q.session_id = s.id", [at])


def _conflicts() -> Condition:
    """By the index `copy_to_settle`."""
    test = "EXISTS (SELECT 1 FROM sessions_app_conflictcopy c WHERE c.session_id = s.id AND c.settled_at IS NULL)"
    found = "(SELECT DISTINCT session_id FROM sessions_app_conflictcopy WHERE settled_at IS NULL) c"
    return Condition(test, [], found, "c.session_id = s.id")


def _title(text: str, named: Sequence[uuid.UUID]) -> Condition:
    test, parameters = title_test(text)
    ids, marks = [db_uuid(session_id) for session_id in named], ", ".join(["%s"] * len(named))
    if named:
        test, parameters = f"({test} OR s.id IN ({marks}))", [*parameters, *ids]
    if (by_index := titles_by_index(text)) is None:
        return Condition(test, list(parameters))
    table, trigrams = by_index
    if named:
        also = f"SELECT id FROM sessions_app_chatsession WHERE id IN ({marks})"  # noqa: S608
        table, trigrams = f"(SELECT session_id FROM {table} UNION {also})", [*trigrams, *ids]  # noqa: S608
    return Condition(test, list(parameters), f"{table} n", f"n.session_id = s.id AND {test}", [*trigrams, *parameters])


def _clock(kind: str, at: int) -> Condition:
    if on_postgresql():
        field_name = "ISODOW" if kind == "weekday" else "HOUR"
        value = f"EXTRACT({field_name} FROM s.updated_at AT TIME ZONE 'UTC')"
        return Condition(f"{value} = %s", [at + 1 if kind == "weekday" else at])
    # In SQLite the week begins with Sunday.
    value = (
        "CAST(strftime('%%w', s.updated_at) AS INTEGER)" if kind == "weekday" else "CAST(substr(s.updated_at, 12, 2) AS INTEGER)"
    )
    return Condition(f"{value} = %s", [(at + 1) % 7 if kind == "weekday" else at])


def _quoted(name: str) -> str:
    return f"'{json.dumps(name)}:'"


_HAS = {"errors": _errors, "question": _question, "conflicts": _conflicts}
