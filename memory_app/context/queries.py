"""What a new run should know about its project: one response of bounded size, with a number of statements independent
of the amount of data."""

import hashlib
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from memory_app.context.sections import (
    RESOLVED_FOR,
    Reading,
    ai_states_section,
    api_schema_section,
    baselines_section,
    errors_section,
    handoff_section,
    noise_section,
    performance_section,
    session_section,
)
from memory_app.context.size_budget import cut
from memory_app.errors.noise.queries import waiting
from memory_app.models.error import KEPT_FOR
from sessions_app.core.public_names import Caller, db_time, db_uuid, fetch_row, now, rfc3339
from sessions_app.core.storage.snapshot_reads import one_moment
from sessions_app.core.storage.store_incarnation import incarnation
from sessions_app.projects.queries import get_summary

BYTES_A_TOKEN = 4
# No row has it: the sections of such a project are empty.
NO_PROJECT = uuid.UUID(int=0)


@dataclass(frozen=True, slots=True)
class Context:
    """The head: enough for a 304. The sections are read only for the body."""

    reading: Reading
    etag: str
    head: dict[str, Any]

    def body(self, budget: int) -> bytes:
        """JSON of at most `budget` tokens."""
        self.reading.room_bytes = budget * BYTES_A_TOKEN
        with one_moment():
            sections = [make(self.reading) for make in _SECTIONS]
        answer = cut(self.head, sections, self.reading.room_bytes)
        return orjson.dumps({**answer, "skipped": self.reading.skipped})


_SECTIONS = (
    baselines_section,
    api_schema_section,
    noise_section,
    errors_section,
    performance_section,
    handoff_section,
    session_section,
    ai_states_section,
)


def find_context(*, caller: Caller, project_id: uuid.UUID) -> Context:
    project, at = get_summary(caller=caller, project_id=project_id), now()
    last = project.last_session_at
    head = {
        "project": {
            "id": str(project.id),
            "path": project.path,
            "name": project.name,
            "created_at": rfc3339(project.created_at),
            "last_session_at": None if last is None else rfc3339(last),
        },
        "session_count": max(1, project.session_count),
    }
    rev, stored, unresolved, resolved = _counters(project_id, at)
    filtered = stored + waiting.of(project_id).total()
    # Every change of the content raises an event number or a rev, is in the head, or depends only on the time.
    version = [incarnation(), project.event_seq, rev, filtered, unresolved, resolved, head]
    etag = hashlib.sha256(orjson.dumps(version)).hexdigest()[:32]
    reading = Reading(caller, project.id, project.current_session_id, at, filtered, unresolved + resolved)
    return Context(reading, f'"{etag}"', head)


def unsaved_context(*, caller: Caller, path: str, budget: int) -> bytes:
    """The context of a path without a project, as JSON of at most `budget` tokens. No project is created."""
    project = {"id": None, "path": path, "name": "", "created_at": None, "last_session_at": None}
    reading = Reading(caller, NO_PROJECT, None, now(), 0, 0)
    return Context(reading, "", {"project": project, "session_count": 1}).body(budget)


def _counters(project_id: uuid.UUID, at: datetime) -> tuple[int | None, int, int, int]:
    """The memory's rev, and counts of errors: filtered by rules as far as that is stored, unresolved, and recently resolved.
    Plain SQL, as it is most of a 304's cost."""
    is_open = "resolved_at IS NULL AND (muted_until IS NULL OR muted_until <= %s)"
    sql = (
        "SELECT (SELECT rev FROM memory_app_memorystore WHERE project_id = %s), "  # noqa: S608 - our own text
        "(SELECT SUM(count) FROM memory_app_filteredcount WHERE project_id = %s), "
        f"COUNT(CASE WHEN {is_open} THEN 1 END), COUNT(CASE WHEN resolved_at > %s THEN 1 END) "
        "FROM memory_app_errorreport WHERE project_id = %s AND last_seen > %s"
    )
    project = db_uuid(project_id)
    rev, filtered, unresolved, resolved = fetch_row(
        sql, [project, project, db_time(at), db_time(at - RESOLVED_FOR), project, db_time(at - KEPT_FOR)]
    )
    return rev, int(filtered or 0), unresolved, resolved
