"""Reading what clients did. The caller must be the account's own: keys see nothing of this."""

import uuid
from collections.abc import Collection
from datetime import timedelta

from mcp_app.models import AgentClient, ToolCall
from sessions_app.core.extension import KeyClient
from sessions_app.core.public_names import Caller, now
from sessions_app.projects.queries import get_project

# Rows of a project.
MOST_CALLS, MOST_CLIENTS = 200, 50
CONNECTED_FOR = timedelta(minutes=10)


def list_clients(*, caller: Caller, project_id: uuid.UUID) -> list[AgentClient]:
    """Most recently seen first. Raises ProjectNotFound, ProjectDeleted."""
    get_project(caller=caller, project_id=project_id)
    return list(AgentClient.objects.filter(project_id=project_id, user_id=caller.user_id).select_related("key")[:MOST_CLIENTS])


def list_calls(*, caller: Caller, project_id: uuid.UUID) -> list[ToolCall]:
    """The newest first. Raises ProjectNotFound, ProjectDeleted."""
    get_project(caller=caller, project_id=project_id)
    return list(ToolCall.objects.filter(project_id=project_id)[:MOST_CALLS])


def clients_of_keys(key_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, KeyClient]:
    """The client that was last seen with each key."""
    newest: dict[uuid.UUID, KeyClient] = {}
    for row in AgentClient.objects.filter(key_id__in=key_ids).order_by("last_seen_at"):
        if row.key_id is not None:
            newest[row.key_id] = KeyClient(str(row), row.last_seen_at, row.last_seen_at > now() - CONNECTED_FOR)
    return newest
