"""The way back in: what an export holds and the account lacks is added; what is already there stays as it is.

So importing twice is importing once, and an old file never undoes what was written since. Everything of a file is
added in one transaction, or nothing.
"""

import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

from django.db import IntegrityError
from django.db.models import F, ForeignKey, Model
from django.db.models.functions import Greatest

from sessions_app import events
from sessions_app.errors import Conflict
from sessions_app.models import Caller, ChatSession, Project
from sessions_app.models.event import EventType
from sessions_app.models.project import DEFAULT_REDACTION, REDACTION_MODES
from sessions_app.queries.export_kinds import SETTLERS, USER, Kind
from sessions_app.services.guarding import guard_stored
from sessions_app.services.import_file import Row, check_file, read_rows
from sessions_app.services.projects import OtherProject
from sessions_app.services.sessions import ExternalIdTaken
from sessions_app.services.writing import write

BATCH_ROWS, BATCH_BYTES = 500, 4_000_000


class IdTaken(Conflict):
    def __init__(self, kind: Kind, taken: str) -> None:
        message = f"Another account of this server has the {kind.name} {taken}. Nothing was imported."
        super().__init__(message, code="id_taken", details={"kind": kind.name, "id": taken})


class CannotStandBeside(Conflict):
    code, message = "import_conflict", "A row of the file cannot stand beside what is there. Nothing was imported."


@dataclass(frozen=True, slots=True)
class Imported:
    """Rows by kind: added now, and there before. `redacted`: secrets in messages that the file did not know of, by kind."""

    added: dict[str, int]
    present: dict[str, int]
    redacted: dict[str, int]


@dataclass(slots=True)
class _Place:
    """Where the rows below go. `made`: this import made it, so all that belongs to it is new too."""

    pk: Any
    made: bool


@dataclass(slots=True)
class _Import:
    caller: Caller
    places: dict[str, _Place] = field(default_factory=dict)
    added: Counter[str] = field(default_factory=Counter)
    present: Counter[str] = field(default_factory=Counter)
    waiting: list[Model] = field(default_factory=list)
    waiting_kind: Kind | None = None
    waiting_bytes: int = 0
    later: list[tuple[Kind, _Place, dict[str, Any]]] = field(default_factory=list)
    # Sessions added to a project that was there, with followers who want to know.
    joined: list[ChatSession] = field(default_factory=list)
    made_projects: list[uuid.UUID] = field(default_factory=list)
    # What the project at hand does about secrets in messages.
    redaction: str = DEFAULT_REDACTION
    redacted: Counter[str] = field(default_factory=Counter)
    # By how many bytes messages became smaller, by session and epoch: only those of its present epoch count.
    shrunk: Counter[tuple[uuid.UUID, int]] = field(default_factory=Counter)


def import_file(*, caller: Caller, file: BinaryIO) -> Imported:
    """Add what the file holds. Raises BadFile, IdTaken, OtherProject, ExternalIdTaken; then nothing was added."""
    check_file(file)
    try:
        return write(lambda: _import(caller, file))
    except IntegrityError:
        raise CannotStandBeside from None


def _import(caller: Caller, file: BinaryIO) -> Imported:
    work = _Import(caller, {USER: _Place(caller.user_id, made=False)})
    for row in read_rows(file):
        _take(work, row)
    _insert_waiting(work)
    for kind, place, values in work.later:
        _point(work, kind, place, values)
    for (session_id, epoch), size in work.shrunk.items():
        ChatSession.objects.filter(pk=session_id, epoch=epoch).update(size_bytes=Greatest(F("size_bytes") - size, 0))
    for project_id in work.made_projects:
        for settle in SETTLERS:
            settle(project_id)
    for session in work.joined:
        _tell(caller, session)
    return Imported(dict(work.added), dict(work.present), dict(work.redacted))


def _take(work: _Import, row: Row) -> None:
    kind, above = row.kind, work.places[row.kind.under]
    place = None
    if kind.known_by:
        place = _find(work, kind, row.values)
    elif not above.made:
        place = _Place(None, made=False)
    if place is not None:
        work.places[kind.name] = place
        work.present[kind.name] += 1
        if kind.name == "project":
            work.redaction = _rule(Project.objects.values_list("settings", flat=True).get(pk=place.pk))
        return
    work.added[kind.name] += 1
    _guard(work, kind, row.values)
    values = {name: value for name, value in row.values.items() if name not in kind.later}
    made = kind.model(**values, **{kind.link_column: above.pk})
    if kind.children or kind.known_by:
        _insert_waiting(work)
        made.save(force_insert=True)
        work.places[kind.name] = _Place(made.pk, made=True)
        if kind.name == "project":
            work.made_projects.append(made.pk)
        if kind.name == "session" and not above.made:
            work.joined.append(made)  # type: ignore[arg-type]
    else:
        _wait(work, kind, made, row)
    if kind.later:
        work.later.append((kind, work.places[kind.name], row.values))


def _rule(settings: Any) -> str:
    mode = settings.get("redaction") if isinstance(settings, dict) else None
    return mode if isinstance(mode, str) and mode in REDACTION_MODES else DEFAULT_REDACTION


def _guard(work: _Import, kind: Kind, values: dict[str, Any]) -> None:
    """The project's rule holds for what comes in, whoever wrote the file. What was saved under it stays byte for byte."""
    if kind.name == "project":
        work.redaction = _rule(values.get("settings"))
    if kind.name not in {"message", "conflict_copy"}:
        return
    size = values.get("size_bytes")
    work.redacted += guard_stored(values, work.redaction)
    if size is not None and values["size_bytes"] != size and not values.get("removed"):
        work.shrunk[work.places["session"].pk, values.get("epoch", 0)] += size - values["size_bytes"]


def _find(work: _Import, kind: Kind, values: dict[str, Any]) -> _Place | None:
    """What stands for this row already."""
    if kind.name == "project":
        return _find_project(work, kind, values)
    if kind.name == "session":
        return _find_session(work, kind, values)
    above = work.places[kind.under]
    wanted = {name: values[name] for name in kind.known_by} | {kind.link_column: above.pk}
    pk = kind.model._default_manager.filter(**wanted).values_list("pk", flat=True).first()
    if pk is None and work.caller.project_id is not None and kind.under == USER:
        raise OtherProject
    return None if pk is None else _Place(pk, made=False)


def _find_project(work: _Import, kind: Kind, values: dict[str, Any]) -> _Place | None:
    """By its id, else by its path: a path names one project of an account, whatever its id is."""
    owner = Project.objects.filter(id=values["id"]).values_list("owner_id", flat=True).first()
    if owner not in {None, work.caller.user_id}:
        raise IdTaken(kind, str(values["id"]))
    found: uuid.UUID | None = values["id"] if owner is not None else None
    if found is None and values.get("deleted_at") is None:
        own = Project.objects.filter(owner_id=work.caller.user_id, path=values.get("path", ""), deleted_at=None)
        found = own.values_list("id", flat=True).first()
    if work.caller.project_id not in {None, found}:
        raise OtherProject
    if found is None:
        return None
    place = _Place(found, made=False)
    work.later.append((kind, place, values))
    return place


def _find_session(work: _Import, kind: Kind, values: dict[str, Any]) -> _Place | None:
    there = ChatSession.objects.filter(id=values["id"]).values_list("project__owner_id", "project_id").first()
    if there is None:
        _refuse_external_id(work.places["project"], values.get("external_id"))
        return None
    if there[0] != work.caller.user_id or work.caller.project_id not in {None, there[1]}:
        raise IdTaken(kind, str(values["id"]))
    return _Place(values["id"], made=False)


def _refuse_external_id(project: _Place, external_id: str | None) -> None:
    if project.made or external_id is None:
        return
    taken = ChatSession.objects.filter(project_id=project.pk, external_id=external_id).values_list("id", flat=True).first()
    if taken is not None:
        raise ExternalIdTaken(details={"session": str(taken)})


def _wait(work: _Import, kind: Kind, made: Model, row: Row) -> None:
    """Rows go in by the hundred, but never so many that their texts fill the memory."""
    size = sum(len(value) for value in row.values.values() if isinstance(value, str))
    full = len(work.waiting) >= BATCH_ROWS or work.waiting_bytes + size > BATCH_BYTES
    if full or (work.waiting_kind is not None and work.waiting_kind.name != kind.name):
        _insert_waiting(work)
    work.waiting_kind = kind
    work.waiting.append(made)
    work.waiting_bytes += size


def _insert_waiting(work: _Import) -> None:
    kind, rows = work.waiting_kind, work.waiting
    work.waiting, work.waiting_kind, work.waiting_bytes = [], None, 0
    if kind is None:
        return
    if kind.model._meta.pk.attname in kind.fields:
        taken = kind.model._default_manager.filter(pk__in=[row.pk for row in rows]).values_list("pk", flat=True).first()
        if taken is not None:
            raise IdTaken(kind, str(taken))
    kind.model._default_manager.bulk_create(rows)


def _point(work: _Import, kind: Kind, place: _Place, values: dict[str, Any]) -> None:
    """Foreign keys to what came further down. What was there before keeps its own, and takes the file's where it has none."""
    for name in kind.later:
        if not place.made and values.get(name) not in {session.id for session in work.joined}:
            continue
        column = cast("ForeignKey[Any, Any]", kind.fields[name])
        target = column.remote_field.model._default_manager.filter(pk=values.get(name))
        if kind.name == "project":
            target = target.filter(project_id=place.pk)
        if target.exists():
            kind.model._default_manager.filter(pk=place.pk, **{name: None}).update(**{name: values[name]})


def _tell(caller: Caller, session: ChatSession) -> None:
    events.publish(
        project_id=session.project_id,
        type=EventType.SESSION_CREATED,
        caller=caller,
        session_id=session.id,
        epoch=session.epoch,
        rev=session.rev,
    )
