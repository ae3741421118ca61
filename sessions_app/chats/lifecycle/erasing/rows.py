"""Erases sessions and projects with all that belongs to them, inside the caller's transaction."""

import uuid

from sessions_app.core.storage.cascades import erase
from sessions_app.core.storage.transactions import StaleRead
from sessions_app.models import AppState, ChatSession, Project, Purge
from sessions_app.models.times import now

ERASED_AT_ONCE = 500


def erase_sessions(session_ids: list[uuid.UUID]) -> None:
    """Without reading what they have: a session can have a hundred thousand messages."""
    for start in range(0, len(session_ids), ERASED_AT_ONCE):
        erase(ChatSession, session_ids[start : start + ERASED_AT_ONCE])


def erase_project(project: Project) -> None:
    """Erase a project with everything in it, inside the caller's transaction. Raises StaleRead."""
    project_id = project.id
    erase_sessions(_locked_sessions(project))
    # The database lets frozen handoffs be deleted only while this row exists.
    Purge.objects.create(project_id=project_id)
    project.delete()
    Purge.objects.filter(project_id=project_id).delete()
    if project.owner_id is not None:
        _forget_path(project.owner_id, project.path)


def _forget_path(owner_id: int, path: str) -> None:
    """No frontend's state names it any more, unless another project has it by now."""
    if Project.objects.filter(owner_id=owner_id, path=path).exists():
        return
    for state in AppState.objects.select_for_update().filter(user_id=owner_id).order_by("pk"):
        if path not in {state.selected_project, *state.recent_projects}:
            continue
        state.recent_projects = [recent for recent in state.recent_projects if recent != path]
        state.selected_project = None if state.selected_project == path else state.selected_project
        state.rev, state.updated_at = state.rev + 1, now()
        state.save(update_fields=["recent_projects", "selected_project", "rev", "updated_at"])


def _locked_sessions(project: Project) -> list[uuid.UUID]:
    """In the order in which other transactions lock them, and before the project's row. With that locked too, nothing comes into
    the project any more."""
    rows = ChatSession.objects.filter(project=project).order_by("id").values_list("id", flat=True)
    locked = list(rows.select_for_update())
    list(Project.objects.select_for_update().filter(pk=project.pk).values_list("pk"))
    if not set(locked).issuperset(rows):
        raise StaleRead
    return locked


def drop_staged(project_ids: list[uuid.UUID]) -> None:
    """Delete projects in which forks were staged; nothing refers to them any more."""
    rows = Project.objects.filter(pk__in=project_ids, owner=None, import_id=None, sessions=None)
    for pk in list(rows.values_list("pk", flat=True)):
        staged = Project.objects.filter(pk=pk)
        staged._raw_delete(staged.db)
