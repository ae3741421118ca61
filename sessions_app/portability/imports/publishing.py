"""Publishes what was staged to its owner. The first step commits the import in one transaction; what it cannot include
(many sessions for existing projects) follows in batches, and is resumed by the process that takes over the job."""

import uuid
from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import batched
from typing import cast

from django.db import IntegrityError
from django.db.models import Exists, F, OuterRef, QuerySet

from sessions_app.chats.sessions.services import ExternalIdTaken
from sessions_app.core.extension import extensions
from sessions_app.core.storage.paced_writes import Pace
from sessions_app.core.storage.sql import db_uuid, execute
from sessions_app.core.storage.transactions import write
from sessions_app.events import event_log
from sessions_app.models import AppState, Caller, ChatSession, ImportJob, Project
from sessions_app.models.event import EventType
from sessions_app.models.import_job import ImportState
from sessions_app.models.times import now
from sessions_app.portability.imports.staged_rows import MadeMeanwhile, Stopped

# How many sessions join a project in one transaction, each with its event.
AT_ONCE = 50
# What sessions and their clears say of their messages.
_SESSION_COUNTS = (
    "UPDATE sessions_app_chatsession SET (message_count, size_bytes) = (SELECT count(*), COALESCE(SUM(m.size_bytes), 0) "
    "FROM sessions_app_message m WHERE m.session_id = sessions_app_chatsession.id AND m.epoch = sessions_app_chatsession.epoch "
    "AND m.removed = '') WHERE id IN ({})"
)
_CLEARED_BYTES = (
    "UPDATE sessions_app_clearing SET size_bytes = (SELECT COALESCE(SUM(m.size_bytes), 0) FROM sessions_app_message m "
    "WHERE m.session_id = sessions_app_clearing.session_id AND m.removed = '' "
    "AND m.epoch = COALESCE(sessions_app_clearing.filed_under, sessions_app_clearing.epoch)) "
    "WHERE undone_at IS NULL AND purged_at IS NULL AND session_id IN ({})"
)


def staged_projects(job: ImportJob) -> QuerySet[Project]:
    return Project.objects.filter(owner=None, import_id=job.pk)


def settle(job: ImportJob) -> Iterator[bool]:
    """Counts what came in, whatever the file says of it, and lets other apps do so, while the rows are still hidden."""
    sessions = ChatSession.objects.filter(import_id=job.pk, project__owner=None)
    ids, pace = deque(sessions.values_list("id", flat=True)), Pace(20)
    while ids:
        piece = [ids.popleft() for _ in range(min(pace.rows, len(ids)))]
        write(partial(_count, piece, pace))
        yield True
    made = staged_projects(job).filter(import_into=None).values_list("id", flat=True)
    for some in batched(list(made), 20):
        write(partial(_settle, some))
        yield True


def _count(sessions: list[uuid.UUID], pace: Pace) -> None:
    pace.begin()
    marks, ids = ", ".join(["%s"] * len(sessions)), [db_uuid(session_id) for session_id in sessions]
    execute(_SESSION_COUNTS.format(marks), ids)
    execute(_CLEARED_BYTES.format(marks), ids)
    pace.end()


def _settle(projects: Iterable[uuid.UUID]) -> None:
    for project_id in projects:
        for extension in extensions():
            extension.settle_import(project_id)


def decide(caller: Caller, job: ImportJob) -> None:
    """Commits the import: from here on it will be completed. Raises on a conflict; then nothing is published."""

    def work() -> None:
        at = now()
        due = ImportJob.objects.filter(pk=job.pk, state=ImportState.RUNNING, heartbeat_at=job.heartbeat_at)
        if not due.update(state=ImportState.PUBLISHING, published_at=at, heartbeat_at=at):
            raise Stopped
        job.state, job.published_at, job.heartbeat_at = ImportState.PUBLISHING, at, at
        _refuse_taken(job)
        made = staged_projects(job).filter(import_into=None)
        current = ChatSession.objects.filter(id=OuterRef("import_current"), project_id=OuterRef("id"), deleted_at=None)
        made.filter(Exists(current)).update(current_session_id=F("import_current"))
        made.update(owner_id=job.user_id)
        _publish_app_states(job)
        if (waiting := _waiting(job)).count() <= AT_ONCE:
            _join(caller, list(waiting))

    try:
        write(work)
    except IntegrityError:
        raise MadeMeanwhile from None


def join(caller: Caller, job: ImportJob) -> Iterator[bool]:
    """Moves waiting sessions into existing projects, in batches; then deletes their inboxes."""
    while True:
        joined = write(lambda: _join(caller, list(_waiting(job)[:AT_ONCE])))
        yield True
        if joined < AT_ONCE:
            break
    write(lambda: _end(job))
    yield True


def _waiting(job: ImportJob) -> QuerySet[ChatSession]:
    waiting = ChatSession.objects.filter(import_id=job.pk, project__owner=None, project__import_into__isnull=False)
    return waiting.select_related("project").order_by("project__import_into", "created_at", "id")


def _join(caller: Caller, sessions: list[ChatSession]) -> int:
    """Moves the sessions into their projects, one locked project at a time."""
    for session in sessions:
        project_id = cast("uuid.UUID", session.project.import_into)
        taken = ChatSession.objects.filter(project_id=project_id, external_id=session.external_id)
        if session.external_id is not None and taken.exists():
            # Taken since the import was committed. The session is worth more than its external id.
            ChatSession.objects.filter(pk=session.pk).update(external_id=None)
        ChatSession.objects.filter(pk=session.pk).update(project_id=project_id)
        if session.pk == session.project.import_current and session.deleted_at is None:
            Project.objects.filter(pk=project_id, current_session=None).update(current_session=session.pk)
        event_log.publish(
            project_id=project_id,
            type=EventType.SESSION_CREATED,
            caller=caller,
            session_id=session.id,
            epoch=session.epoch + (session.epochs_ahead or 0),
            rev=session.rev,
        )
    return len(sessions)


def _refuse_taken(job: ImportJob) -> None:
    """Raises if a conflicting row was created during staging. The database constraint detects a path taken meanwhile."""
    inboxes = staged_projects(job).exclude(import_into=None)
    there = Project.objects.filter(id=OuterRef("import_into"), owner_id=job.user_id)
    staged = Project.objects.filter(id=OuterRef("import_into"), owner=None, import_id=job.pk)
    if inboxes.exclude(Exists(there)).exclude(Exists(staged)).exists():
        raise MadeMeanwhile
    same = ChatSession.objects.filter(project_id=OuterRef("project__import_into"), external_id=OuterRef("external_id"))
    taken = ChatSession.objects.filter(project__in=inboxes, external_id__isnull=False).filter(Exists(same))
    if (found := taken.values_list("id", flat=True).first()) is not None:
        raise ExternalIdTaken(details={"session": str(found)})


def _publish_app_states(job: ImportJob) -> None:
    """App states saved meanwhile stay."""
    staged = AppState.objects.filter(user=None, import_id=job.pk)
    own = AppState.objects.filter(user_id=job.user_id, client=OuterRef("client"))
    staged.filter(Exists(own)).delete()
    staged.update(user_id=job.user_id)


def _end(job: ImportJob) -> None:
    staged_projects(job).delete()
    ImportJob.objects.filter(pk=job.pk).update(state=ImportState.DONE, finished_at=now())
