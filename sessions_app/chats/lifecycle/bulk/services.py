"""The same change of up to 500 sessions: one transaction, and a number of statements that depends on the projects only."""

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable

from django.db.models import F
from django.db.models.functions import Coalesce

from sessions_app.chats.lifecycle.bulk import moves
from sessions_app.chats.lifecycle.bulk.work import Act, Change, Changed, Step, Work
from sessions_app.chats.lifecycle.removed_queries import RESTORABLE_FOR
from sessions_app.chats.reading.sessions import stored_tags
from sessions_app.chats.sessions.session_fields import tags_text
from sessions_app.core.errors import Invalid
from sessions_app.core.storage.transactions import StaleRead, write
from sessions_app.events import event_log
from sessions_app.events.event_log import SessionChange
from sessions_app.models import Caller, ChatSession, Project
from sessions_app.models.event import EventType
from sessions_app.models.times import now

MOST_AT_ONCE = 500


def change_sessions(*, caller: Caller, sessions: list[uuid.UUID], change: Change) -> Changed:
    """All or nothing, and it may be repeated. Raises Invalid, WrongTags, ProjectNotFound, ProjectDeleted, StricterProject,
    ExternalIdTaken."""
    return run_steps(caller=caller, steps=[Step(change, sessions)])


def run_steps(*, caller: Caller, steps: list[Step]) -> Changed:
    """As `change_sessions`, several changes in one transaction: an undo. Also raises NotMovedBack."""
    wanted = [Step(step.change, list(dict.fromkeys(step.sessions))) for step in steps]
    if sum(len(step.sessions) for step in wanted) > MOST_AT_ONCE:
        raise Invalid(f"At most {MOST_AT_ONCE} sessions at a time.", details={"field": "sessions", "limit": MOST_AT_ONCE})

    def work() -> Changed:
        if len(wanted) > 1:  # All locks are taken in one order.
            targets = {step.change.to_project for step in wanted if step.change.to_project is not None}
            lock_rows(caller, [one for step in wanted for one in step.sessions], targets)
        done = [_run(caller, step) for step in wanted]
        return Changed(
            [one for part in done for one in part.changed],
            [one for part in done for one in part.unchanged],
            [one for part in done for one in part.unknown],
            [step for part in done for step in part.undo],
            [one for part in done for one in part.superseded],
        )

    return write(work)


def _run(caller: Caller, step: Step) -> Changed:
    targets = set() if step.change.to_project is None else {step.change.to_project}
    moves.check_target(caller, step.change)
    in_trash = step.change.act == Act.UNDELETE
    rows, projects = lock_rows(caller, step.sessions, targets)
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
        work.superseded(changed),
    )


def lock_rows(
    caller: Caller, ids: list[uuid.UUID], targets: set[uuid.UUID]
) -> tuple[list[ChatSession], dict[uuid.UUID, Project]]:
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
    Act.MOVE: moves.move,
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
