"""An account, or one session, as a file: a line of JSON a row, between a first line that tells what follows and a last
one that proves it whole. `services/imports.py` reads it back."""

import hashlib
import uuid
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any, BinaryIO

from django.db.models import QuerySet

from sessions_app.models import Caller
from sessions_app.models.sql import now, rfc3339
from sessions_app.queries.export_kinds import KINDS, USER, Kind, kind_named
from sessions_app.queries.export_rows import as_line, line_of
from sessions_app.queries.sessions import SessionRow, get_session
from sessions_app.queries.snapshot import one_moment

FORMAT, VERSION = "stillhere-export", 1
# Of each statement's rows in memory at once; a row can have a megabyte.
CHUNK = 50


def export_account(*, caller: Caller, to: BinaryIO) -> None:
    """All that is the caller's, the trash included. A key that is limited to one project gets that project."""
    with one_moment():
        kinds = [kind for kind in KINDS if kind.name != "app_state" or caller.project_id is None]
        counts = {kind.name: _all_rows(caller, kind).count() for kind in kinds}
        _write(to, "account", counts, _lines(caller, [kind for kind in kinds if kind.under == USER], caller.user_id))


def export_session(*, caller: Caller, session_id: uuid.UUID, to: BinaryIO) -> None:
    """One session with all that belongs to it, and its project's own row. Unknown → 404; in the trash → 410."""
    with one_moment():
        row = get_session(caller=caller, session_id=session_id)
        session = kind_named("session")
        counts = {"project": 1, "session": 1, **_counts_below(session, row.id)}
        _write(to, "session", counts, chain(_head_of_session(row), _below(session, row.id)))


def _write(to: BinaryIO, of: str, counts: dict[str, int], lines: Iterator[tuple[str, bytes]]) -> None:
    digest, written = hashlib.sha256(), Counter[str]()
    first = as_line({"format": FORMAT, "version": VERSION, "of": of, "made_at": rfc3339(now()), "counts": counts})
    digest.update(first)
    to.write(first)
    for name, line in lines:
        digest.update(line)
        to.write(line)
        written[name] += 1
    to.write(as_line({"end": True, "counts": {name: written[name] for name in counts}, "sha256": digest.hexdigest()}))


def _lines(caller: Caller, kinds: list[Kind], user_id: int) -> Iterator[tuple[str, bytes]]:
    for kind in kinds:
        rows = kind.model._default_manager.filter(**{kind.link: user_id})
        yield from _with_children(kind, _only_project(caller, kind, rows))


def _with_children(kind: Kind, rows: "QuerySet[Any]") -> Iterator[tuple[str, bytes]]:
    found = rows.order_by(*kind.order).values_list("pk", *kind.fields)
    for pk, *values in found.iterator(chunk_size=CHUNK):
        yield kind.name, line_of(kind, tuple(values))
        yield from _below(kind, pk)


def _below(kind: Kind, pk: Any) -> Iterator[tuple[str, bytes]]:
    for child in kind.children:
        yield from _with_children(child, child.model._default_manager.filter(**{child.link: pk}))


def _head_of_session(row: SessionRow) -> Iterator[tuple[str, bytes]]:
    """The rows of the project and of the session; the project names this session as current, or none."""
    for name, pk in (("project", row.project_id), ("session", row.id)):
        kind = kind_named(name)
        values = kind.model._default_manager.filter(pk=pk).values(*kind.fields).get()
        if name == "project" and values["current_session_id"] != row.id:
            values["current_session_id"] = None
        yield name, line_of(kind, tuple(values[field] for field in kind.fields))


def _all_rows(caller: Caller, kind: Kind) -> "QuerySet[Any]":
    """Every row of a kind in the account."""
    path, above = kind.link, kind
    while above.under != USER:
        above = kind_named(above.under)
        path = f"{path}__{above.link}"
    rows = kind.model._default_manager.filter(**{path: caller.user_id})
    if caller.project_id is None or kind.under == USER:
        return _only_project(caller, kind, rows)
    return rows.filter(**{path.removesuffix("__owner"): caller.project_id})


def _only_project(caller: Caller, kind: Kind, rows: "QuerySet[Any]") -> "QuerySet[Any]":
    return rows.filter(pk=caller.project_id) if kind.name == "project" and caller.project_id is not None else rows


def _counts_below(kind: Kind, pk: Any, path: str = "") -> dict[str, int]:
    counts: dict[str, int] = {}
    for child in kind.children:
        upward = f"{child.link}__{path}" if path else child.link
        counts[child.name] = child.model._default_manager.filter(**{upward: pk}).count()
        counts |= _counts_below(child, pk, upward)
    return counts
