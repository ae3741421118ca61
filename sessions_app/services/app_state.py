"""Where a person is in a frontend."""

from typing import Any

from django.db import IntegrityError, transaction

from sessions_app.models import AppState, Caller
from sessions_app.models.app_state import FIRST_PHASE, RECENT_PROJECTS
from sessions_app.models.sql import now
from sessions_app.queries.app_state import AppStateRow
from sessions_app.services.projects import check_path
from sessions_app.services.writing import write


def save_app_state(*, caller: Caller, client: str, fields: dict[str, Any]) -> AppStateRow:
    """Keep the selected project and the phase; what `fields` leaves out stays.

    Selecting another project sets the phase to `plan` in the same write, whatever phase came with it; selecting the
    same one changes nothing. The last ten projects selected are kept, the newest first.
    """

    def work() -> AppStateRow:
        state = _locked(caller, client)
        path = fields.get("selected_project", state.selected_project)
        if path is not None and path != state.selected_project:
            check_path(path)
            state.active_phase = FIRST_PHASE
            others = [recent for recent in state.recent_projects if recent != path]
            state.recent_projects = [path, *others][:RECENT_PROJECTS]
        elif fields.get("active_phase") is not None:
            state.active_phase = fields["active_phase"]
        state.selected_project = path
        state.rev += 1
        state.updated_at = now()
        state.save()
        return AppStateRow(client, path, state.active_phase, state.recent_projects, state.rev)

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
