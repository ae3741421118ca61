"""Stores what clients did, in batches, and keeps the newest of it only."""

import hashlib
import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db.models import QuerySet

from mcp_app.activity.queries import MOST_CALLS, MOST_CLIENTS
from mcp_app.core.calls import Client
from mcp_app.core.recording import Connection, Made, take_recorded
from mcp_app.models import AgentClient, ToolCall
from mcp_app.models.activity import AGENT_LENGTH, CODE_LENGTH, NAME_LENGTH, TOOL_LENGTH, VERSION_LENGTH
from sessions_app.chats.lifecycle.pruning import Due
from sessions_app.core.public_names import now
from sessions_app.core.storage.transactions import write
from sessions_app.projects.queries import find_project_ids

KEPT_FOR = timedelta(days=30)
type Projects = Mapping[tuple[int, str], uuid.UUID]


def store_recorded() -> int:
    """Always returns 0: one call stores all. What the store refuses is lost."""
    calls, seen = take_recorded()
    if seen:
        write(partial(_store, calls, seen))
    return 0


def due_rows() -> dict[str, Due]:
    kept_since = now() - KEPT_FOR
    return {
        "tool calls": Due(ToolCall.objects.filter(at__lt=kept_since)),
        "agent clients": Due(AgentClient.objects.filter(last_seen_at__lt=kept_since)),
    }


def _store(calls: list[Made], seen: Mapping[Connection, datetime]) -> None:
    """Calls of projects that do not exist are dropped, as their answers say so."""
    projects = find_project_ids({(one.user_id, one.named) for one in seen if one.named and one.limit is None})
    names = _names(seen)
    _store_clients(seen, projects, names)
    by_project: dict[uuid.UUID, list[Made]] = defaultdict(list)
    for made in reversed(calls):
        project_id = _project(made.connection, projects)
        if project_id is not None and len(by_project[project_id]) < MOST_CALLS:
            by_project[project_id].append(made)
    for project_id in sorted(by_project):
        newest = by_project[project_id][::-1]
        ToolCall.objects.bulk_create([_call(project_id, made, names[made.connection]) for made in newest])
        _forget(ToolCall.objects.filter(project_id=project_id), MOST_CALLS)


def _store_clients(seen: Mapping[Connection, datetime], projects: Projects, names: Mapping[Connection, Client]) -> None:
    """Always in the same order, to avoid deadlocks between processes."""
    rows: dict[str, AgentClient] = {}
    for connection, at in sorted(seen.items(), key=lambda item: item[1]):
        row = _client(connection, _project(connection, projects), names[connection], at)
        rows[row.mark] = row
    AgentClient.objects.bulk_create(
        [rows[mark] for mark in sorted(rows)],
        update_conflicts=True,
        unique_fields=["mark"],
        update_fields=["last_seen_at", "user_agent"],
    )
    for user_id, project_id in {(row.user_id, row.project_id) for row in rows.values()}:
        own = AgentClient.objects.filter(user_id=user_id, project=project_id)
        _forget(own, MOST_CLIENTS)


def _forget(newest_first: QuerySet[Any], most: int) -> None:
    """Deletes all rows but the first `most`."""
    old = list(newest_first.values_list("id", flat=True)[most : most + MOST_CALLS * 2])
    if old:
        newest_first.model._default_manager.filter(id__in=old).delete()


def _names(seen: Collection[Connection]) -> dict[Connection, Client]:
    """Clients of earlier protocol versions name themselves only when they connect, maybe to another worker: they are
    recognised by key and user agent, else called by their user agent."""
    told = {(one.key_id, one.user_agent): one.client for one in seen if one.client is not None}
    unnamed = {one.key_id for one in seen if one.client is None and (one.key_id, one.user_agent) not in told}
    known = AgentClient.objects.filter(key_id__in=unnamed - {None}).order_by("last_seen_at") if unnamed else []
    before = {(row.key_id, row.user_agent): Client(row.name, row.version) for row in known}
    return {one: one.client or (before | told).get((one.key_id, one.user_agent)) or _by_user_agent(one) for one in seen}


def _by_user_agent(connection: Connection) -> Client:
    name, _, version = connection.user_agent.partition(" ")[0].partition("/")
    return Client(name[:NAME_LENGTH] or "unnamed", version[:VERSION_LENGTH])


def _project(connection: Connection, projects: Projects) -> uuid.UUID | None:
    return connection.limit or projects.get((connection.user_id, connection.named))


def _client(connection: Connection, project_id: uuid.UUID | None, client: Client, at: datetime) -> AgentClient:
    parts = (connection.user_id, project_id, connection.key_id, client.name, client.version)
    return AgentClient(
        mark=hashlib.sha256(repr([str(part) for part in parts]).encode()).hexdigest(),
        user_id=connection.user_id,
        project_id=project_id,
        key_id=connection.key_id,
        name=client.name[:NAME_LENGTH],
        version=client.version[:VERSION_LENGTH],
        user_agent=connection.user_agent[:AGENT_LENGTH],
        last_seen_at=at,
    )


def _call(project_id: uuid.UUID, made: Made, client: Client) -> ToolCall:
    return ToolCall(
        project_id=project_id,
        at=made.at,
        client=f"{client.name} {client.version}".rstrip(),
        tool=made.tool[:TOOL_LENGTH],
        code=made.code[:CODE_LENGTH],
        duration_ms=made.duration_ms,
    )
