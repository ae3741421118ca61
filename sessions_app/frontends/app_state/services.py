"""Writes of per-client UI state."""

from typing import Any

from django.db import IntegrityError, transaction

from sessions_app.core.errors import Forbidden
from sessions_app.core.storage.transactions import write
from sessions_app.frontends.app_state.queries import AppStateRow, only_project
from sessions_app.models import AppState, Caller
from sessions_app.models.app_state import FIRST_PHASE, RECENT_PROJECTS
from sessions_app.models.times import now
from sessions_app.projects.services import check_path


class OtherProject(Forbidden):
    code, message = (
        "other_project",
        "This key is limited to one project. Select that project, or use a key for the whole account.",
    )


def save_app_state(*, caller: Caller, client: str, fields: dict[str, Any]) -> AppStateRow:
    """Save the selected project and the phase; missing fields stay.

    Selecting another project without a phase sets it to `plan` in the same write; selecting the same one changes
    nothing. The last ten selected projects are kept, newest first. A key for one project may select only that one.
    """

    only = only_project(caller)

    def work() -> AppStateRow:
        state = _locked(caller, client)
        if only is not None and fields.get("selected_project", state.selected_project) != only:
            raise OtherProject
        path = fields.get("selected_project", state.selected_project)
        if path is not None and path != state.selected_project:
            check_path(path)
            state.active_phase = FIRST_PHASE
            others = [recent for recent in state.recent_projects if recent != path]
            state.recent_projects = [path, *others][:RECENT_PROJECTS]
        if fields.get("active_phase") is not None:
            state.active_phase = fields["active_phase"]
        state.selected_project = path
        state.rev += 1
        state.updated_at = now()
        state.save()
        saved = AppStateRow(client, path, state.active_phase, state.recent_projects, state.rev)
        return saved if only is None else saved.limited_to(only)

    return write(work)


def _locked(caller: Caller, client: str) -> AppState:
    rows = AppState.objects.select_for_update().filter(user_id=caller.user_id, client=client)
    found = rows.first()
    if found is None:
        try:
            with transaction.atomic():
                return AppState.objects.create(user_id=caller.user_id, client=client)
        except IntegrityError:
            found = rows.get()
    return found
