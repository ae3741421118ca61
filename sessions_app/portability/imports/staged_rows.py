"""Rows that an import stages: where they belong, what they take, and statements for them."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Model, QuerySet

from sessions_app.core.errors import Conflict
from sessions_app.models import ImportJob, Message, Project
from sessions_app.portability.content_kinds import USER, Kind, export_kinds, kind_named


class IdTaken(Conflict):
    def __init__(self, kind: Kind, taken: str) -> None:
        message = f"The {kind.name} {taken} cannot be added here: its id is taken. Nothing was imported."
        super().__init__(message, code="id_taken", details={"kind": kind.name, "id": taken})


class CannotStandBeside(Conflict):
    code, message = "import_conflict", "A row of the file conflicts with existing content. Nothing was imported."


class MadeMeanwhile(CannotStandBeside):
    message = "A project in the file was created or erased during the import. Nothing was imported. Import it again."


class Stopped(Exception):
    """The import was stopped, or another process continues it."""


@dataclass(slots=True)
class Place:
    """The parent of the following rows. `made`: this import created it, so all its children are new too."""

    made: bool
    pk: Any = None
    # A row gets its key on insert.
    row: Model | None = None
    # Of a project: the file's current session, the inbox for its sessions, and whether it is in the trash here only.
    current: uuid.UUID | None = None
    inbox: uuid.UUID | None = None
    gone: bool = False

    @property
    def key(self) -> Any:
        return self.pk if self.row is None else self.row.pk

    def as_json(self) -> list[Any]:
        keys = (self.key, self.current, self.inbox)
        return [self.made, *(str(key) if isinstance(key, uuid.UUID) else key for key in keys), self.gone]


def read_places(stored: dict[str, list[Any]]) -> dict[str, Place]:
    places = {USER: Place(made=False)}
    for kind in export_kinds():
        if kind.name in stored:
            made, pk, current, inbox, *gone = stored[kind.name]  # Earlier versions did not note the last.
            key = kind.model._meta.pk.to_python(pk)
            places[kind.name] = Place(made, key, None, current and uuid.UUID(current), inbox and uuid.UUID(inbox), any(gone))
    return places


def in_trash(project_id: uuid.UUID) -> bool:
    return Project.objects.filter(id=project_id).exclude(deleted_at=None).exists()


def live_again(project_id: uuid.UUID) -> Project:
    """A project beside one in the trash, with its path and settings. Raises MadeMeanwhile."""
    there = Project.objects.filter(id=project_id).first()
    if there is None:
        raise MadeMeanwhile
    return Project(path=there.path, name=there.name, settings=there.settings)


def insertion(rows: list[tuple[Model, Any]]) -> tuple[str, list[list[Any]]]:
    """One INSERT statement for all these messages (each with its session's id), and its parameters."""
    columns = [column for column in Message._meta.concrete_fields if not column.primary_key]
    names = ", ".join(str(column.column) for column in columns)
    statement = f"INSERT INTO sessions_app_message ({names}) VALUES ({', '.join(['%s'] * len(columns))})"  # noqa: S608
    parameters = []
    for made, session_id in rows:
        made.session_id = session_id  # type: ignore[attr-defined]
        parameters.append([column.get_db_prep_save(column.pre_save(made, add=True), connection) for column in columns])
    return statement, parameters


def stored_bytes(kind: Kind, values: dict[str, Any]) -> int:
    """What the row adds to its account's usage."""
    return sum(len(value.encode() if isinstance(value, str) else value) for name in kind.contents if (value := values.get(name)))


def staged_rows(kind: Kind, job: ImportJob) -> QuerySet[Any]:
    """The hidden rows of a kind below a project that this import added."""
    path, above = kind.link, kind_named(kind.under)
    while above.name != "project":
        path, above = f"{path}__{above.link}", kind_named(above.under)
    return kind.model._default_manager.filter(**{f"{path}__import_id": job.pk, f"{path}__owner": None})
