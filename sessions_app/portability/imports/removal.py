"""Removes an import: what is only staged, or what it added and nobody has changed since."""

import uuid
from collections.abc import Iterator
from datetime import timedelta
from itertools import batched
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from sessions_app.chats.lifecycle.erasing.rows import erase_project, erase_sessions
from sessions_app.core.extension import extensions
from sessions_app.core.storage.paced_writes import Pace
from sessions_app.core.storage.transactions import write
from sessions_app.events import event_log
from sessions_app.models import ApiKey, AppState, Caller, ChatSession, ConflictCopy, Event, ImportJob, Project, SessionFile
from sessions_app.models.event import EventType
from sessions_app.models.import_job import ImportState
from sessions_app.models.times import now
from sessions_app.portability.content_kinds import USER, export_kinds
from sessions_app.portability.imports.publishing import staged_projects
from sessions_app.portability.imports.staged_rows import staged_rows

# How many sessions are hidden in one transaction, each with its event.
AT_ONCE = 50
# Events that seem to be older than the import are looked at for so long before it.
CLOCK_SET_BACK = timedelta(days=1)
# These rows are deleted with their parents; handoff snapshots only with their project.
_LAST = {"project", "session", "handoff_snapshot"}


def erase_staged(job: ImportJob) -> Iterator[bool]:
    """Deletes all hidden rows, in batches, children first."""
    # Projects whose memory was written to meanwhile keep all of it.
    kept = [project.pk for project in staged_projects(job) if project.import_into is None and _written_to(job, project.pk)]
    write(lambda: Project.objects.filter(pk__in=kept).update(owner=job.user_id))
    for kind in reversed(export_kinds()):
        if kind.under != USER and kind.name not in _LAST:
            yield from _erase(staged_rows(kind, job))
    for some in batched(_ids(ChatSession.objects.filter(project__in=staged_projects(job))), AT_ONCE):
        write(lambda some=some: erase_sessions(list(some)))  # type: ignore[misc]
        yield True
    for project in list(staged_projects(job)):
        write(lambda project=project: _erase_project(job, project))  # type: ignore[misc]
        yield True
    write(lambda: AppState.objects.filter(user=None, import_id=job.pk).delete())


def hide_untouched(caller: Caller, job: ImportJob) -> Iterator[bool]:
    """Hides what the import added and nobody changed since; the rest is listed in `left_out`."""
    for some in batched(_ids(_visible_sessions(job)), AT_ONCE):
        write(lambda some=some: _hide_sessions(caller, job, list(some)))  # type: ignore[misc]
        yield True
    made = Project.objects.filter(owner_id=job.user_id, import_id=job.pk)
    for project_id in _ids(made):
        write(lambda project_id=project_id: _hide_project(job, project_id))  # type: ignore[misc]
        yield True
    kept = [{"where": f"session {pk}", "reason": "changed since"} for pk in _ids(_visible_sessions(job))]
    kept += [{"where": f"project {pk}", "reason": "changed since"} for pk in _ids(made)]
    write(lambda: ImportJob.objects.filter(pk=job.pk).update(left_out=kept))
    yield True


def _visible_sessions(job: ImportJob) -> QuerySet[ChatSession]:
    return ChatSession.objects.filter(import_id=job.pk, project__owner_id=job.user_id).order_by("project_id", "id")


def _ids(rows: QuerySet[Any]) -> list[uuid.UUID]:
    return list(rows.values_list("pk", flat=True))


def _changed(job: ImportJob, ids: list[uuid.UUID]) -> set[uuid.UUID]:
    """Ids changed since the import. Every change has an event, except text that only became a conflict copy, uploads, and what
    other apps have.

    Their numbers tell it if the clock was set back since. A session may have been moved since, away from the events of what was
    written to it before: a move is a change too. If the project that has these events was purged, the session's own time still
    tells it.
    """
    at = job.published_at
    assert at is not None  # noqa: S101 - for the type checker: what was never published has no visible sessions
    told = Event.objects.filter(project__owner_id=job.user_id, session_id__in=ids, at__gte=at - CLOCK_SET_BACK)
    arrival = told.filter(
        project=OuterRef("project"), session_id=OuterRef("session_id"), type=EventType.SESSION_CREATED, at__gte=at
    )
    later = Q(at__gte=at) | Q(project__import_id=job.pk) | Exists(arrival.filter(event_seq__lt=OuterRef("event_seq")))
    found: list[uuid.UUID | None] = [
        *told.exclude(type=EventType.SESSION_CREATED).filter(later).values_list("session_id", flat=True),
        *ChatSession.objects.filter(id__in=ids, updated_at__gte=at).values_list("id", flat=True),
        *ConflictCopy.objects.filter(session__in=ids, created_at__gte=at).values_list("session_id", flat=True),
        *SessionFile.objects.filter(session__in=ids, created_at__gte=at).values_list("session_id", flat=True),
    ]
    of_others = (extension.sessions_written_since(ids, at) for extension in extensions())
    return {pk for pk in found if pk is not None}.union(*of_others)


def _hide_sessions(caller: Caller, job: ImportJob, ids: list[uuid.UUID]) -> None:
    """Hides sessions. A save that waits for the lock then finds that the session is in no project of its caller."""
    sessions = list(ChatSession.objects.select_for_update(no_key=True).filter(id__in=ids).order_by("id"))
    changed = _changed(job, ids)
    for session in sorted(sessions, key=lambda found: found.project_id):
        if session.id in changed:
            continue
        inbox, _ = Project.objects.get_or_create(owner=None, import_id=job.pk, import_into=session.project_id)
        Project.objects.filter(id=session.project_id, current_session=session).update(current_session=None)
        ChatSession.objects.filter(pk=session.pk).update(project=inbox)
        event_log.publish(project_id=session.project_id, type=EventType.SESSION_DELETED, caller=caller, session_id=session.id)


def _hide_project(job: ImportJob, project_id: uuid.UUID) -> None:
    """Hides a project, unless it has content that the import did not add."""
    locked = Project.objects.select_for_update(no_key=True).filter(id=project_id, updated_at__lt=job.published_at).first()
    if locked is not None and not locked.sessions.exists() and not _written_to(job, project_id):
        Project.objects.filter(id=project_id).update(owner=None)


def _written_to(job: ImportJob, project_id: uuid.UUID) -> bool:
    """Whether anybody wrote to a project that the import made. What was never published had no writers."""
    told, at = Event.objects.filter(project_id=project_id), job.published_at
    if told.exclude(type__in=(EventType.SESSION_CREATED, EventType.SESSION_DELETED)).exists():
        return True
    if at is None:
        return False
    has_key = ApiKey.objects.filter(project=project_id, created_at__gte=at, revoked_at=None).exists()
    return has_key or any(extension.written_since(project_id, at) for extension in extensions())


def _erase_project(job: ImportJob, project: Project) -> None:
    """Erases a project, unless a save was acknowledged while it was hidden."""
    Project.objects.select_for_update().filter(pk=project.pk).first()
    if project.import_into is None and _written_to(job, project.pk):
        Project.objects.filter(pk=project.pk).update(owner=job.user_id)
    else:
        erase_project(project)


def _erase(rows: QuerySet[Any]) -> Iterator[bool]:
    pace = Pace(20)
    while found := list(rows.order_by().values_list("pk", flat=True)[: pace.rows]):

        def work(found: list[Any] = found) -> None:
            pace.begin()
            rows.model._default_manager.filter(pk__in=found).delete()

        write(work)
        pace.end()
        yield True


def end_removal(job: ImportJob) -> None:
    due = ImportJob.objects.filter(pk=job.pk, state=ImportState.REMOVING)
    write(lambda: due.update(state=job.then or ImportState.FAILED, finished_at=now(), place={}))
