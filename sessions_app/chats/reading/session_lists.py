"""Lists of sessions, filtered and sorted, at a cost that does not depend on how many sessions are stored.

Without further conditions a page is read from the index of its order; over several projects that is the beginning of each,
merged. With conditions it takes up to three steps, like a search: the first sessions in order are read and tested; then the
database is asked for all the others, by whichever index leaves few, within a time limit; if that takes too long, reading
continues for a while, and the page says where it ended.
"""

import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet
from django.db.models.expressions import RawSQL

from sessions_app.chats.reading.session_filters import (
    DEFAULT_SORT,
    ORDERS,
    Condition,
    Order,
    Place,
    SessionFilter,
    Sort,
    asks,
    conditions_of,
    names_error,
    ranges_of,
)
from sessions_app.chats.reading.sessions import SessionRow, session_columns, session_row
from sessions_app.chats.search.session_search import continue_within, find_sessions
from sessions_app.core.serialization.stored_json import stored_object
from sessions_app.core.storage.sql import as_uuid, db_uuid, on_postgresql, rfc3339
from sessions_app.core.storage.time_limit import TimeIsUp, time_limit
from sessions_app.models import AgentState, Caller, ChatSession
from sessions_app.models.session import EXTERNAL_ID_LENGTH

# Sessions in the first read, and in each later one.
FIRST_ROWS, ROWS = 200, 1_000
# Seconds: of all steps, and of the second one.
LIST_SECONDS, INDEX_SECONDS = 0.1, 0.05
NO_FILTER = SessionFilter()
# What a search for text needs to know of a session; its value in the order is added.
_SEARCHED = ("id", "title", "epoch", "size_bytes")
_SHOWN: dict[str | None, Callable[[dict[str, Any]], bool]] = {"errors": names_error, "question": asks}


@dataclass(frozen=True, slots=True)
class SessionPage:
    """`next`: where the next page begins; None: last page."""

    rows: list[SessionRow]
    next: Place | None


def list_sessions(
    *,
    caller: Caller,
    project_id: uuid.UUID | None = None,
    wanted: SessionFilter = NO_FILTER,
    sort: Sort = DEFAULT_SORT,
    after: Place | None = None,
    limit: int = 50,
) -> SessionPage:
    """Sessions of one project, or of all of the caller's. A page may have fewer than `limit` rows and still a next page,
    because the time for finding what a filter or a text leaves is limited."""
    listing = Listing(caller, project_id, wanted, ORDERS[sort])
    if wanted.text and project_id is not None:
        found, following = listing.by_text(project_id, after, limit)
    elif listing.conditions:
        found, following = listing.by_conditions(after, limit)
    else:
        rows = listing.in_order(after, limit + 1)
        return SessionPage(rows[:limit], listing.place_of(rows[limit - 1]) if len(rows) > limit else None)
    return SessionPage(listing.rows_of([place.id for place in found]), following)


def own_sessions(*, caller: Caller, ids: list[uuid.UUID]) -> list[SessionRow]:
    """Those of these sessions that are the caller's, in the order of `ids`."""
    own = set(ChatSession.objects.visible_to(caller).filter(pk__in=ids).values_list("pk", flat=True))
    return Listing(caller, None, NO_FILTER, ORDERS[DEFAULT_SORT]).rows_of([pk for pk in ids if pk in own])


@dataclass
class Listing:
    """One list of one caller."""

    caller: Caller
    project_id: uuid.UUID | None
    wanted: SessionFilter
    order: Order

    @cached_property
    def conditions(self) -> list[Condition]:
        texts = self.project_id is None
        return conditions_of(self.wanted if texts else replace(self.wanted, text=""), self.order, self.named if texts else ())

    @cached_property
    def named(self) -> list[uuid.UUID]:
        """The sessions that have the text as `external_id`: at most one of each project. Empty if finding them takes too long."""
        text = self.wanted.text
        if not text or len(text) > EXTERNAL_ID_LENGTH or "\0" in text:
            return []
        by_id = replace(self, wanted=SessionFilter(external_id=text, deleted=self.wanted.in_trash))
        with suppress(TimeIsUp), time_limit(INDEX_SECONDS, by_index=True):
            return [as_uuid(pk) for (pk,) in _fetch(*by_id.search_sql("s.id", None))]
        return []

    def place_of(self, row: SessionRow) -> Place:
        return Place(getattr(row, self.order.column), row.id)

    def in_order(self, after: Place | None, count: int) -> list[SessionRow]:
        return [session_row(row) for row in _fetch(*self.walk_sql(session_columns(), [], after, count))]

    def rows_of(self, ids: list[uuid.UUID]) -> list[SessionRow]:
        """In the order of `ids`; without those that were erased meanwhile, or whose state turns out not to be wanted."""
        if not ids:
            return []
        marks = ", ".join(["%s"] * len(ids))
        sql = (
            f"SELECT {session_columns()} FROM sessions_app_chatsession s "  # noqa: S608 - constants only
            f"JOIN sessions_app_project p ON p.id = s.project_id WHERE s.id IN ({marks})"
        )
        rows = {row.id: row for row in map(session_row, _fetch(sql, [db_uuid(session_id) for session_id in ids]))}
        if (shown := _SHOWN.get(self.wanted.has)) is not None:
            states = AgentState.objects.filter(session_id__in=ids).values_list("session_id", "content")
            ids = [
                session_id for session_id in ids if session_id in {pk for pk, content in states if shown(stored_object(content))}
            ]
        return [rows[session_id] for session_id in ids if session_id in rows]

    def by_conditions(self, after: Place | None, limit: int) -> tuple[list[Place], Place | None]:
        """The places of one page, and the one after which the next page begins."""
        found: list[Place] = []
        until, count, place = time.monotonic() + LIST_SECONDS, FIRST_ROWS, after
        while True:
            walked = self._walk(place, count)
            found += [walked_place for walked_place, matches in walked if matches]
            if len(found) > limit or len(walked) < count:
                break
            place = walked[-1][0]
            if count == FIRST_ROWS and (rest := self._by_index(place, limit + 1 - len(found))) is not None:
                found += rest
                break
            if time.monotonic() > until:
                return found, place
            count = ROWS
        return found[:limit], found[limit - 1] if len(found) > limit else None

    def by_text(self, project_id: uuid.UUID, after: Place | None, limit: int) -> tuple[list[Place], Place | None]:
        """As `by_conditions`, with the text in the title or in a live message."""
        fields, text = (*_SEARCHED, self.order.column), self.wanted.text
        rows = self._searchable(project_id, after)
        begun = None
        if after is None or after.message is None:
            found = find_sessions(rows, fields, text, project_id, limit + 1, self.named)
        else:
            begun = after
            own = self._searchable(project_id, None).filter(pk=after.id)
            found = continue_within(own, after.message, rows, fields, text, limit + 1, self.named)

        def place(row: tuple[Any, ...], message: int | None = None) -> Place:
            """The session that was begun may have moved in the order since: the others are after its former place."""
            known = begun if begun is not None and begun.id == row[0] else _place(row)
            return known._replace(message=message)

        places = [place(row) for row in found.rows]
        if len(places) > limit:
            return places[:limit], places[limit - 1]
        return places, None if found.ended_at is None else place(found.ended_at, found.before)

    def walk_sql(self, columns: str, parameters: list[Any], after: Place | None, count: int) -> tuple[str, list[Any]]:
        """The first sessions in order: of each project its first ones, by index, then of these the first."""
        scope, owned = self._scope()
        ranges, values = ranges_of(self.wanted, self.order, after, "x")
        inner = f"x.project_id = p.id{ranges} ORDER BY {self.order.clause('x')} LIMIT %s"
        end = f"ORDER BY {self.order.clause('s')} LIMIT %s"
        if on_postgresql():
            sessions = f"(SELECT x.* FROM sessions_app_chatsession x WHERE {inner})"  # noqa: S608 - constants only
            sql = f"SELECT {columns} FROM sessions_app_project p CROSS JOIN LATERAL {sessions} s WHERE {scope} {end}"  # noqa: S608
            return sql, [*parameters, *values, count, *owned, count]
        ids = f"(SELECT x.id FROM sessions_app_chatsession x WHERE {inner})"  # noqa: S608
        tables = "sessions_app_project p CROSS JOIN sessions_app_chatsession s"
        sql = f"SELECT {columns} FROM {tables} WHERE {scope} AND s.id IN {ids} {end}"  # noqa: S608
        return sql, [*parameters, *owned, *values, count, count]

    def search_sql(self, columns: str, after: Place | None) -> tuple[str, list[Any]]:
        """All sessions that meet the conditions, from the table of the first one that has one."""
        scope, owned = self._scope()
        ranges, values = ranges_of(self.wanted, self.order, after, "s")
        source = next((condition for condition in self.conditions if condition.table), None)
        tables, tests, parameters = ["sessions_app_project p"], [scope, "s.project_id = p.id"], [*owned]
        first: list[Any] = []
        if source is not None:
            tables.append(source.table)
            in_table = source.table.count("%s")
            first = source.driving[:in_table]
            tests.append(source.on)
            parameters += source.driving[in_table:]
        for condition in self.conditions:
            if condition is not source:
                tests.append(condition.test)
                parameters += condition.parameters
        # SQLite keeps the order of a CROSS JOIN; PostgreSQL chooses its own.
        joined = " CROSS JOIN ".join([*tables, f"sessions_app_chatsession s{'' if source else self._index()}"])
        sql = f"SELECT {columns} FROM {joined} WHERE {' AND '.join(tests)}{ranges}"  # noqa: S608
        return sql, [*first, *parameters, *values]

    def _index(self) -> str:
        name = next((condition.index for condition in self.conditions if condition.index), "")
        return f" INDEXED BY {name}" if name and not on_postgresql() else ""

    def _scope(self) -> tuple[str, list[Any]]:
        sql, parameters = "p.owner_id = %s AND p.deleted_at IS NULL", [self.caller.user_id]
        for project_id in (self.caller.project_id, self.project_id):
            if project_id is not None:
                sql, parameters = f"{sql} AND p.id = %s", [*parameters, db_uuid(project_id)]
        return sql, parameters

    def _walk(self, after: Place | None, count: int) -> list[tuple[Place, bool]]:
        tests = " AND ".join(f"({condition.test})" for condition in self.conditions)
        parameters = [value for condition in self.conditions for value in condition.parameters]
        columns = f"s.id, {self.order.value_sql('s')}, CASE WHEN {tests} THEN 1 ELSE 0 END"
        rows = _fetch(*self.walk_sql(columns, parameters, after, count))
        return [(Place(value, as_uuid(pk)), bool(matches)) for pk, value, matches in rows]

    def _by_index(self, after: Place | None, count: int) -> list[Place] | None:
        """None: that takes too long."""
        sql, parameters = self.search_sql(f"s.id, {self.order.value_sql('s')}", after)
        try:
            with time_limit(INDEX_SECONDS, by_index=True):
                rows = _fetch(f"{sql} ORDER BY {self.order.clause('s')} LIMIT %s", [*parameters, count])
        except TimeIsUp:
            return None
        return [Place(value, as_uuid(pk)) for pk, value in rows]

    def _searchable(self, project_id: uuid.UUID, after: Place | None) -> QuerySet[ChatSession]:
        """The project's sessions after a place, for a search that reads them in order: what each row shows by itself is tested
        with it, only the rest by a list of ids."""
        wanted = self.wanted
        rows = ChatSession.objects.visible_to(self.caller).filter(project_id=project_id, **_times(wanted))
        rows = rows.filter(deleted_at__isnull=not wanted.in_trash)
        if wanted.state is not None:
            rows = rows.in_state(wanted.state)
        if wanted.archived is not None:
            rows = rows.filter(archived_at__isnull=not wanted.archived)
        if wanted.pinned is not None:
            rows = rows.filter(pinned=True) if wanted.pinned else rows.exclude(pinned=True)
        rest = SessionFilter(external_id=wanted.external_id, tags=wanted.tags, agent=wanted.agent, has=wanted.has)
        if rest != NO_FILTER:
            others = replace(self, wanted=replace(rest, deleted=wanted.in_trash))
            rows = rows.filter(pk__in=RawSQL(*others.search_sql("s.id", None)))  # noqa: S611 - our own SQL
        return self._after(rows, after)

    def _after(self, rows: QuerySet[ChatSession], after: Place | None) -> QuerySet[ChatSession]:
        column, backwards = self.order.column, "-" if self.order.descending else ""
        if after is not None:
            value: Any = datetime.fromisoformat(after.value) if self.order.is_time else after.value
            beyond, ids = ("lt" if self.order.descending else "gt"), ("lt" if self.order.ids_descending else "gt")
            rows = rows.filter(**{f"{column}__{beyond}e": value})
            rows = rows.filter(Q(**{f"{column}__{beyond}": value}) | Q(**{f"id__{ids}": after.id}))
        return rows.order_by(f"{backwards}{column}", "-id" if self.order.ids_descending else "id")


def _times(wanted: SessionFilter) -> dict[str, datetime]:
    limits = {"updated_at__gte": wanted.since, "updated_at__lte": wanted.until}
    return {name: at for name, at in limits.items() if at is not None}


def _place(row: tuple[Any, ...]) -> Place:
    value = row[len(_SEARCHED)]
    return Place(rfc3339(value) if isinstance(value, datetime) else value, row[0])


def _fetch(sql: str, parameters: list[Any]) -> list[Any]:
    """Not prepared: there are as many statements as combinations of filters."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())
