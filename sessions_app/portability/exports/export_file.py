"""An account, or one session, as a file: one line of JSON per row and per piece of a file, between a header line and a last
line with counts and checksum. `portability/imports/services.py` reads it."""

import hashlib
import uuid
from collections import Counter
from collections.abc import Iterator
from itertools import batched, chain
from typing import Any, BinaryIO

from django.db.models import QuerySet

from sessions_app.chats.files.queries import files_to_export
from sessions_app.chats.reading.sessions import SessionRow, get_session
from sessions_app.core.storage.snapshot_reads import one_moment
from sessions_app.core.storage.sql import rfc3339
from sessions_app.models import Caller, StoredFile
from sessions_app.models.times import now
from sessions_app.portability.content_kinds import USER, Kind, export_kinds, kind_named
from sessions_app.portability.exports.statements import CHUNK, counts_below, statement_of
from sessions_app.portability.file_pieces import FILE, piece_count, pieces_of
from sessions_app.portability.row_format import as_line, line_of, lines_of

FORMAT, VERSION = "stillhere-export", 1
# A kind, how many of its rows, and their lines.
type Lines = tuple[str, int, bytes]


def export_account(*, caller: Caller, to: BinaryIO) -> None:
    """The caller's whole account, including the trash. A key that is limited to one project exports that project."""
    with one_moment():
        kinds = [kind for kind in export_kinds() if kind.name != "app_state" or caller.project_id is None]
        files = files_to_export(caller=caller)
        counts = _file_counts(files) | {kind.name: _all_rows(caller, kind).count() for kind in kinds}
        rows = _lines(caller, [kind for kind in kinds if kind.under == USER], caller.user_id)
        _write(to, "account", counts, chain(_file_lines(files), rows))


def export_session(*, caller: Caller, session_id: uuid.UUID, to: BinaryIO) -> None:
    """One session with all that belongs to it, and its project's own row. Unknown → 404; in the trash → 410."""
    with one_moment():
        row = get_session(caller=caller, session_id=session_id)
        session = kind_named("session")
        files = files_to_export(caller=caller, session_id=row.id)
        counts = {**_file_counts(files), "project": 1, "session": 1, **_counts_below(session, row.id)}
        _write(to, "session", counts, chain(_file_lines(files), _head_of_session(row), _below(session, row.id)))


def _write(to: BinaryIO, of: str, counts: dict[str, int], lines: Iterator[Lines]) -> None:
    digest, written = hashlib.sha256(), Counter[str]()
    first = as_line({"format": FORMAT, "version": VERSION, "of": of, "made_at": rfc3339(now()), "counts": counts})
    digest.update(first)
    to.write(first)
    for name, count, some in lines:
        digest.update(some)
        to.write(some)
        written[name] += count
    to.write(as_line({"end": True, "counts": {name: written[name] for name in counts}, "sha256": digest.hexdigest()}))


def _file_counts(files: "QuerySet[StoredFile]") -> dict[str, int]:
    """Not named if there are none, so that an earlier version can read the export."""
    count = piece_count(files)
    return {FILE: count} if count else {}


def _file_lines(files: "QuerySet[StoredFile]") -> Iterator[Lines]:
    return ((FILE, 1, as_line(piece)) for piece in pieces_of(files))


def _lines(caller: Caller, kinds: list[Kind], user_id: int) -> Iterator[Lines]:
    for kind in kinds:
        rows = kind.model._default_manager.filter(**{kind.link: user_id})
        yield from _with_children(kind, _only_project(caller, kind, rows))


def _with_children(kind: Kind, rows: "QuerySet[Any]") -> Iterator[Lines]:
    """For the few rows directly below the account: projects and app states."""
    found = rows.order_by(*kind.order).values_list("pk", *kind.fields)
    for some in batched(found.iterator(chunk_size=CHUNK), CHUNK):
        yield from _each_with_children(kind, list(some))


def _below(kind: Kind, pk: Any) -> Iterator[Lines]:
    for child in kind.children:
        if count := counts_below(child, [pk])[pk]:
            yield from _rows_below(child, pk, count)


def _rows_below(kind: Kind, pk: Any, count: int) -> Iterator[Lines]:
    for rows in statement_of(kind.name).below(pk, count):
        yield from _each_with_children(kind, rows)


def _each_with_children(kind: Kind, rows: list[tuple[Any, ...]]) -> Iterator[Lines]:
    """Skips queries for kinds without rows: most sessions have messages and nothing else."""
    if not kind.children:
        for count, lines in lines_of(kind, rows):
            yield kind.name, count, lines
        return
    counts = {child.name: counts_below(child, [row[0] for row in rows]) for child in kind.children}
    for row in rows:
        yield kind.name, 1, line_of(kind, row[1:])
        for child in kind.children:
            if count := counts[child.name][row[0]]:
                yield from _rows_below(child, row[0], count)


def _head_of_session(row: SessionRow) -> Iterator[Lines]:
    """The rows of the project and of the session; the project names this session as current, or none."""
    for name, pk in (("project", row.project_id), ("session", row.id)):
        kind = kind_named(name)
        values = kind.model._default_manager.filter(pk=pk).values(*kind.fields).get()
        if name == "project" and values["current_session_id"] != row.id:
            values["current_session_id"] = None
        yield name, 1, line_of(kind, tuple(values[field] for field in kind.fields))


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
