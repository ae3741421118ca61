"""One change of several sessions: what is asked for, what came of it, and the rows that are locked for it."""

import uuid
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models import F

from sessions_app.models import ChatSession, Project


class Act(StrEnum):
    ARCHIVE = "archive"
    UNARCHIVE = "unarchive"
    PIN = "pin"
    UNPIN = "unpin"
    TAG = "tag"
    UNTAG = "untag"
    MOVE = "move"
    DELETE = "delete"
    UNDELETE = "undelete"


@dataclass(frozen=True, slots=True)
class MadeMove:
    """A move as its undo must know it. `to`: the project where the sessions went. `event_seq`: the number of that project's
    newest event right after the move. `archived`: the session that became the current one there, and its `archived_at` before."""

    to: uuid.UUID
    event_seq: int
    archived: tuple[uuid.UUID, datetime] | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """`tags`: added or removed. `to_project`: where they move. `current`: of these sessions, who becomes the current one again in
    a project that has none: an undo knows who was. `undoes`: the move that this one undoes."""

    act: Act
    tags: tuple[str, ...] = ()
    to_project: uuid.UUID | None = None
    current: frozenset[uuid.UUID] = frozenset()
    undoes: MadeMove | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A change of some sessions: a part of an undo."""

    change: Change
    sessions: list[uuid.UUID]


@dataclass(frozen=True, slots=True)
class Changed:
    """`unchanged`: they were so already, or (undo of a move) are elsewhere by now. `unknown`: no session of the caller, or in the
    trash. `undo`: takes all of it back. `superseded`: the current ones until the change that is undone; their projects have
    another current session now."""

    changed: list[uuid.UUID]
    unchanged: list[uuid.UUID]
    unknown: list[uuid.UUID]
    undo: list[Step]
    superseded: list[uuid.UUID]


@dataclass
class Work:
    """The locked sessions and projects of one change. `undo`: filled by the act."""

    change: Change
    at: datetime
    rows: list[ChatSession]
    projects: dict[uuid.UUID, Project]
    undo: list[Step] = field(default_factory=list)
    left: frozenset[uuid.UUID] = frozenset()

    def update(self, rows: list[ChatSession], **fields: Any) -> None:
        ChatSession.objects.filter(id__in=[row.id for row in rows]).update(**fields, rev=F("rev") + 1, updated_at=self.at)

    def leave_current(self, rows: list[ChatSession]) -> None:
        gone = {row.id for row in rows}
        left = [project for project in self.projects.values() if project.current_session_id in gone]
        self.left = frozenset(project.current_session_id for project in left if project.current_session_id is not None)
        for project in left:
            project.current_session_id = None
        Project.objects.filter(id__in=[project.id for project in left]).update(current_session=None, updated_at=self.at)

    def become_current(self, rows: list[ChatSession]) -> None:
        """The first of each project that has no current session."""
        made: dict[uuid.UUID, Project] = {}
        for row in rows:
            project = self.projects[row.project_id]
            if project.current_session_id is None:
                project.current_session_id, project.updated_at = row.id, self.at
                made[row.id] = project
        if made:
            Project.objects.bulk_update(made.values(), ["current_session", "updated_at"])
            ChatSession.objects.filter(id__in=made).update(archived_at=None, archive_requested_at=None)

    def undo_by(self, act: Act, rows: list[ChatSession], **more: Any) -> None:
        if rows:
            ids = [row.id for row in rows]
            self.undo.append(Step(Change(act, current=self.left & set(ids), **more), ids))

    def superseded(self, rows: list[ChatSession]) -> list[uuid.UUID]:
        """Of these rows after the change, those of `Changed.superseded`."""
        were = [row for row in rows if row.id in self.change.current]
        return [row.id for row in were if self.projects[row.project_id].current_session_id not in {None, row.id}]
