"""Statements for rows that an import has staged."""

from typing import Any

from django.db import connection
from django.db.models import Model, QuerySet

from sessions_app.core.errors import Conflict
from sessions_app.models import ImportJob, Message
from sessions_app.portability.content_kinds import Kind, kind_named


class IdTaken(Conflict):
    def __init__(self, kind: Kind, taken: str) -> None:
        message = f"The {kind.name} {taken} cannot be added here: its id is taken. Nothing was imported."
        super().__init__(message, code="id_taken", details={"kind": kind.name, "id": taken})


class CannotStandBeside(Conflict):
    code, message = "import_conflict", "A row of the file conflicts with existing content. Nothing was imported."


class Stopped(Exception):
    """The import was stopped, or another process continues it."""


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


def staged_rows(kind: Kind, job: ImportJob) -> QuerySet[Any]:
    """The hidden rows of a kind below a project that this import added."""
    path, above = kind.link, kind_named(kind.under)
    while above.name != "project":
        path, above = f"{path}__{above.link}", kind_named(above.under)
    return kind.model._default_manager.filter(**{f"{path}__import_id": job.pk, f"{path}__owner": None})
