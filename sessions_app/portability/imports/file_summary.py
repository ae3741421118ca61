"""The projects in an import's file, by name, as shown to the user who imports it."""

from typing import Any

from sessions_app.portability.imports.file_reader import Row

PROJECTS_TOLD = 20


class ProjectsInFile:
    """`told`: `[label, sessions, messages]` of the first projects, as stored in JSON."""

    def __init__(self, told: list[list[Any]]) -> None:
        self.told = told
        self._known = bool(told)

    def take(self, row: Row) -> None:
        """Rows come project by project."""
        if row.kind.name == "project":
            self._known = len(self.told) < PROJECTS_TOLD
            if self._known:
                self.told.append([row.values.get("name") or row.values.get("path", ""), 0, 0])
        elif self._known and self.told and row.kind.name in {"session", "message"}:
            self.told[-1][1 if row.kind.name == "session" else 2] += 1
