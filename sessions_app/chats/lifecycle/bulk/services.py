"""The same change of up to 500 sessions: one transaction, and a number of statements that depends on the projects only."""

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models import F
from django.db.models.functions import Coalesce

from sessions_app.chats.lifecycle.moving.session_move import StricterProject, removes_secrets
from sessions_app.chats.lifecycle.removed_queries import RESTORABLE_FOR
from sessions_app.chats.reading.sessions import stored_tags
from sessions_app.chats.sessions.services import ExternalIdTaken
from sessions_app.chats.sessions.session_fields import tags_text
from sessions_app.core.errors import Invalid
from sessions_app.core.storage.transactions import StaleRead, write
from sessions_app.events import event_log
from sessions_app.events.event_log import SessionChange
from sessions_app.models import Caller, ChatSession, Project
from sessions_app.models.event import EventType
from sessions_app.models.times import now
from sessions_app.projects.queries import get_project

MOST_AT_ONCE = 500


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
class Change:
    """`tags`: added or removed. `to_project`: where they move. `current`: of these sessions, who becomes the current one again in
    a project that has none: an undo knows who was."""

    act: Act
    tags: tuple[str, ...] = ()
    to_project: uuid.UUID | None = None
    current: frozenset[uuid.UUID] = frozenset()


@dataclass(frozen=True, slots=True)
class Step:
    """A change of some sessions: a part of an undo."""

    change: Change
    sessions: list[uuid.UUID]


@dataclass(frozen=True, slots=True)
class Changed:
    """`unchanged`: they were so already. `unknown`: no session of the caller, or in the trash. `undo`: takes all of it back."""

    changed: list[uuid.UUID]
    unchanged: list[uuid.UUID]
    unknown: list[uuid.UUID]
    undo: list[Step]


def change_sessions(*, caller: Caller, sessions: list[uuid.UUID], change: Change) -> Changed:
    """All or nothing, and it may be repeated. Raises Invalid, WrongTags, ProjectNotFound, StricterProject, ExternalIdTaken."""
    return run_steps(caller=caller, steps=[Step(change, sessions)])


def run_steps(*, caller: Caller, steps: list[Step]) -> Changed:
    """As `change_sessions`, several changes in one transaction: an undo."""
    wanted = [Step(step.change, list(dict.fromkeys(step.sessions))) for step in steps]
    if sum(len(step.sessions) for step in wanted) > MOST_AT_ONCE:
        raise Invalid(f"At most {MOST_AT_ONCE} sessions at a time.", details={"field": "sessions", "limit": MOST_AT_ONCE})

    def work() -> Changed:
        if len(wanted) > 1:  # All locks are taken in one order.
            targets = {step.change.to_project for step in wanted if step.change.to_project is not None}
            _lock(caller, [one for step in wanted for one in step.sessions], targets)
        done = [_run(caller, step) for step in wanted]
        return Changed(
            [one for part in done for one in part.changed],
            [one for part in done for one in part.unchanged],
            [one for part in done for one in part.unknown],
            [step for part in done for step in part.undo],
        )

    return write(work)


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


def _run(caller: Caller, step: Step) -> Changed:
    targets = set() if step.change.to_project is None else {step.change.to_project}
    for target in targets:
        get_project(caller=caller, project_id=target)
    in_trash = step.change.act == Act.UNDELETE
    rows, projects = _lock(caller, step.sessions, targets)
    rows = [row for row in rows if (row.deleted_at is not None) is in_trash]
    work = Work(step.change, now(), rows, projects)
    before = {row.id: row.project_id for row in rows}
    changed = _ACTS[step.change.act](work) if rows else []
    _publish(caller, work, changed, before)
    known, done = {row.id for row in rows}, {row.id for row in changed}
    return Changed(
        [one for one in step.sessions if one in done],
        [one for one in step.sessions if one in known - done],
        [one for one in step.sessions if one not in known],
        work.undo,
    )


def _lock(caller: Caller, ids: list[uuid.UUID], targets: set[uuid.UUID]) -> tuple[list[ChatSession], dict[uuid.UUID, Project]]:
    """The caller's sessions and their projects, read under their locks, in the order of `locking.py`."""
    mine = ChatSession.objects.visible_to(caller).filter(project__deleted_at=None)
    wanted = set(mine.filter(id__in=ids).values_list("project_id", flat=True)) | targets
    current = set(
        Project.objects.filter(id__in=wanted).exclude(current_session=None).values_list("current_session_id", flat=True)
    )
    locked = mine.select_for_update(no_key=True, of=("self",)).filter(id__in={*ids, *current}).order_by("id")
    list(locked.values_list("id"))
    projects = {row.id: row for row in Project.objects.select_for_update(no_key=True).filter(id__in=wanted).order_by("id")}
    rows = list(mine.filter(id__in=ids).defer("metadata").order_by("-updated_at", "id"))
    moved = any(row.project_id not in projects for row in rows)
    if moved or {project.current_session_id for project in projects.values()} - {None} - current:
        raise StaleRead
    return rows, projects


def _archive(work: Work) -> list[ChatSession]:
    rows = [row for row in work.rows if row.archive_requested_at is None]
    work.update(rows, archived_at=work.at, archive_requested_at=work.at)
    work.leave_current(rows)
    work.undo_by(Act.UNARCHIVE, rows)
    return rows


def _unarchive(work: Work) -> list[ChatSession]:
    rows = [row for row in work.rows if row.archive_requested_at is not None]
    work.update(rows, archived_at=None, archive_requested_at=None)
    work.become_current([row for row in rows if row.id in work.change.current])
    work.undo_by(Act.ARCHIVE, rows)
    return rows


def _pin(work: Work) -> list[ChatSession]:
    pinned = work.change.act == Act.PIN
    rows = [row for row in work.rows if bool(row.pinned) is not pinned]
    work.update(rows, pinned=pinned or None)
    work.undo_by(Act.UNPIN if pinned else Act.PIN, rows)
    return rows


def _tag(work: Work) -> list[ChatSession]:
    """The undo removes from each session only what it did not have."""
    adds, given = work.change.act == Act.TAG, work.change.tags
    groups: dict[tuple[str, ...], list[ChatSession]] = defaultdict(list)
    for row in work.rows:
        tags = stored_tags(row.tags)
        if differing := tuple(tag for tag in given if (tag in tags) is not adds):
            row.tags = tags_text([*tags, *differing] if adds else [tag for tag in tags if tag not in differing])
            groups[differing].append(row)
    rows = [row for some in groups.values() for row in some]
    ChatSession.objects.bulk_update(rows, ["tags"])
    work.update(rows)
    for differing, some in groups.items():
        work.undo_by(Act.UNTAG if adds else Act.TAG, some, tags=differing)
    return rows


def _move(work: Work) -> list[ChatSession]:
    if work.change.to_project is None:
        raise Invalid("Name the project to move them to.", details={"field": "to_project"})
    target = work.projects[work.change.to_project]
    rows = [row for row in work.rows if row.project_id != target.id]
    sources = {row.project_id for row in rows}
    if removes_secrets(target) and not all(removes_secrets(work.projects[source]) for source in sources):
        raise StricterProject
    _refuse_taken(target, [row.external_id for row in rows if row.external_id is not None])
    work.leave_current(rows)
    work.update(rows, project_id=target.id)
    for source in sources:
        work.undo_by(Act.MOVE, [row for row in rows if row.project_id == source], to_project=source)
    for row in rows:
        row.project_id = target.id
    live = [row for row in rows if row.archive_requested_at is None]
    first = work.change.current | work.left
    work.become_current(sorted(live, key=lambda row: row.id not in first))
    return rows


def _refuse_taken(target: Project, external_ids: list[str]) -> None:
    if len(set(external_ids)) < len(external_ids):
        raise ExternalIdTaken(message="Two of these sessions have the same external_id.")
    taken = ChatSession.objects.filter(project=target, external_id__in=external_ids).values_list("id", flat=True).first()
    if taken is not None:
        raise ExternalIdTaken(details={"session": str(taken)})


def _delete(work: Work) -> list[ChatSession]:
    work.update(work.rows, deleted_at=work.at)
    work.leave_current(work.rows)
    work.undo_by(Act.UNDELETE, work.rows)
    return work.rows


def _undelete(work: Work) -> list[ChatSession]:
    rows = [row for row in work.rows if row.deleted_at is not None and row.deleted_at >= work.at - RESTORABLE_FOR]
    work.update(rows, deleted_at=None)
    live = [row for row in rows if row.archived_at is None]
    work.become_current(sorted(live, key=lambda row: row.id not in work.change.current))
    work.undo_by(Act.DELETE, rows)
    return rows


_ACTS: dict[Act, Callable[[Work], list[ChatSession]]] = {
    Act.ARCHIVE: _archive,
    Act.UNARCHIVE: _unarchive,
    Act.PIN: _pin,
    Act.UNPIN: _pin,
    Act.TAG: _tag,
    Act.UNTAG: _tag,
    Act.MOVE: _move,
    Act.DELETE: _delete,
    Act.UNDELETE: _undelete,
}


def _publish(caller: Caller, work: Work, changed: list[ChatSession], before: dict[uuid.UUID, uuid.UUID]) -> None:
    ids = [row.id for row in changed]
    numbers = ChatSession.objects.filter(id__in=ids).values_list("id", F("epoch") + Coalesce("epochs_ahead", 0), "rev")
    told = {pk: SessionChange(pk, epoch, rev) for pk, epoch, rev in numbers} if ids else {}
    moves, deletes = work.change.act == Act.MOVE, work.change.act == Act.DELETE
    kind = EventType.SESSION_DELETED if deletes else EventType.SESSION_UPDATED
    for project_id, some in _by_project(ids, before):
        data = {"moved": True} if moves else None
        sessions = [told[one] for one in some]
        event_log.publish_all(project_id=project_id, type=kind, caller=caller, sessions=sessions, data=data)
    if moves and ids and work.change.to_project is not None:
        sessions = [told[one] for one in ids]
        event_log.publish_all(project_id=work.change.to_project, type=EventType.SESSION_CREATED, caller=caller, sessions=sessions)


def _by_project(ids: Iterable[uuid.UUID], projects: dict[uuid.UUID, uuid.UUID]) -> list[tuple[uuid.UUID, list[uuid.UUID]]]:
    groups: dict[uuid.UUID, list[uuid.UUID]] = defaultdict(list)
    for one in ids:
        groups[projects[one]].append(one)
    return sorted(groups.items())
