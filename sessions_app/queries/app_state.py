from dataclasses import dataclass, field
from typing import Any

from sessions_app.models import Caller
from sessions_app.models.app_state import FIRST_PHASE
from sessions_app.models.sql import fetch_row, json_value

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


_FIND = (
    "SELECT selected_project, active_phase, recent_projects, rev FROM sessions_app_appstate WHERE user_id = %s AND client = %s"
)


def get_app_state(*, caller: Caller, client: str) -> AppStateRow:
    """Where the caller is in this frontend; what a new one starts with where nothing was kept."""
    found = fetch_row(_FIND, [caller.user_id, client])
    if found is None:
        return AppStateRow(client)
    selected_project, active_phase, recent_projects, rev = found
    return AppStateRow(client, selected_project, active_phase, json_value(recent_projects), rev)
