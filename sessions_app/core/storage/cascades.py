"""Deletes rows together with what belongs to them, without reading any: Django's `delete()` first reads each table that refers to
a row, and its objects.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db.models import CASCADE, DO_NOTHING, SET_NULL, ForeignKey, Model

from sessions_app.core.storage.sql import db_uuid, execute_together, on_postgresql
from sessions_app.core.storage.statement_batch import Work


def erase(model: type[Model], ids: Sequence[UUID]) -> None:
    """Delete the rows with these ids, and what refers to them as each foreign key's `on_delete` says. Inside the caller's
    transaction. Raises TypeError for an `on_delete` that needs Django."""
    chosen = [db_uuid(row_id) for row_id in ids]
    parameter: Any = chosen if on_postgresql() else json.dumps(chosen)
    execute_together([Work(statement, [[parameter]]) for statement in _statements(model)])


@cache
def _statements(model: type[Model]) -> tuple[str, ...]:
    chosen = "= ANY(%s)" if on_postgresql() else "IN (SELECT value FROM json_each(%s))"
    return (*_of_those_below(model, chosen), f"DELETE FROM {model._meta.db_table} WHERE {_key(model)} {chosen}")  # noqa: S608


def _of_those_below(model: type[Model], chosen: str) -> Iterator[str]:
    """What refers to rows whose id is `chosen`, the farthest first."""
    for key in _foreign_keys_to(model):
        table, chosen_here = key.model._meta.db_table, f"{key.column} {chosen}"
        on_delete = key.remote_field.on_delete
        if on_delete is SET_NULL:
            yield f"UPDATE {table} SET {key.column} = NULL WHERE {chosen_here}"  # noqa: S608 - our own names
        elif on_delete is CASCADE:
            rows = f"IN (SELECT {_key(key.model)} FROM {table} WHERE {chosen_here})"  # noqa: S608 - our own names
            yield from _of_those_below(key.model, rows)
            yield f"DELETE FROM {table} WHERE {chosen_here}"  # noqa: S608 - our own names
        elif on_delete is not DO_NOTHING:
            raise TypeError(f"{key}: its `on_delete` cannot be done by the database.")


def _foreign_keys_to(model: type[Model]) -> list[Any]:
    """Also those without a name on the other side."""
    models = apps.get_models(include_auto_created=True)
    fields = [field for other in models for field in other._meta.local_fields if isinstance(field, ForeignKey)]
    return [field for field in fields if field.remote_field.model is model]


def _key(model: type[Model]) -> str:
    return str(model._meta.pk.column)
