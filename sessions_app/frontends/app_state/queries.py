from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sessions_app.core.storage.sql import fetch_row, json_value
from sessions_app.models import Caller, Project
from sessions_app.models.app_state import FIRST_PHASE

DEFAULT_CLIENT = "default"


@dataclass(frozen=True, slots=True)
class AppStateRow:
    client: str
    selected_project: str | None = None
    active_phase: str = FIRST_PHASE
    recent_projects: list[str] = field(default_factory=list)
    rev: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "client": self.client,
            "selected_project": self.selected_project,
            "active_phase": self.active_phase,
            "recent_projects": self.recent_projects,
        }

    def limited_to(self, path: str) -> "AppStateRow":
        """What a key for one project may see: only that project, no other recent ones."""
        recent = [recent for recent in self.recent_projects if recent == path]
        if self.selected_project != path:
            return AppStateRow(self.client, recent_projects=recent, rev=self.rev)
        return replace(self, recent_projects=recent)


# The columns of `app_state_of`, for a SELECT in which `a` is the app state.
APP_STATE_COLUMNS = "a.selected_project, a.active_phase, a.recent_projects, a.rev"
_FIND = f"SELECT {APP_STATE_COLUMNS} FROM sessions_app_appstate a WHERE a.user_id = %s AND a.client = %s"  # noqa: S608 - constants only


def get_app_state(*, caller: Caller, client: str) -> AppStateRow:
    """The caller's UI state in this frontend; the defaults if nothing was saved."""
    return app_state_of(caller, client, fetch_row(_FIND, [caller.user_id, client]))


def app_state_of(caller: Caller, client: str, values: Sequence[Any] | None) -> AppStateRow:
    """`values`: of APP_STATE_COLUMNS; if nothing was saved, None, or NULLs of an outer join."""
    state = AppStateRow(client)
    if values is not None and values[-1] is not None:
        selected_project, active_phase, recent_projects, rev = values
        state = AppStateRow(client, selected_project, active_phase, json_value(recent_projects), rev)
    return state if (path := only_project(caller)) is None else state.limited_to(path)


def only_project(caller: Caller) -> str | None:
    """The path of the one project that the caller's key is limited to."""
    if caller.project_id is None:
        return None
    return Project.objects.values_list("path", flat=True).get(id=caller.project_id)
