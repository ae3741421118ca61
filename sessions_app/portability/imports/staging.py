"""Staging: an import's rows are stored without an owner, so that they are hidden until all of them are stored.

A new project is staged directly. Sessions for an existing project wait in an inbox: a staged
project that names it (`import_into`).
"""

import uuid
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import IntegrityError
from django.db.models import F, Model, Q
from django.db.models.functions import Greatest

from sessions_app.chats.saving.message_redaction import redact_stored_message
from sessions_app.chats.sessions.services import ExternalIdTaken
from sessions_app.core.limits import quotas
from sessions_app.core.storage.paced_writes import Pace
from sessions_app.core.storage.sql import write_later
from sessions_app.core.storage.transactions import write
from sessions_app.models import AppState, ChatSession, ImportJob, Project
from sessions_app.models.import_job import ImportState
from sessions_app.models.project import DEFAULT_REDACTION, REDACTION_MODES
from sessions_app.models.times import now
from sessions_app.portability.content_kinds import USER, Kind, export_kinds
from sessions_app.portability.imports.file_reader import Reader, Row
from sessions_app.portability.imports.file_summary import ProjectsInFile
from sessions_app.portability.imports.staged_rows import (
    CannotStandBeside,
    IdTaken,
    Place,
    Stopped,
    in_trash,
    insertion,
    live_again,
    read_places,
    staged_rows,
    stored_bytes,
)
from sessions_app.projects.services import OtherProject

PIECE_BYTES = 500_000
AUTHOR_LENGTH, IMPORTED = 150, " (imported)"


@dataclass(slots=True)
class _Waiting:
    """Rows of the next batch, by kind."""

    rows: dict[str, list[tuple[Model, Place]]] = field(default_factory=dict)
    count: int = 0
    size: int = 0
    # By how many bytes redaction made messages smaller, by session and epoch: only the current epoch counts.
    shrunk: Counter[tuple[uuid.UUID, int]] = field(default_factory=Counter)


class Staging:
    """Stages one import's rows. `take` decides about a row, `flush` stores the batch."""

    def __init__(self, job: ImportJob) -> None:
        self.job = job
        self.pace = Pace()
        self.places = read_places(job.place.get("places", {}))
        self.counts = {name: Counter[str](job.counts.get(name, {})) for name in ("added", "present", "redacted")}
        self._projects = ProjectsInFile(job.counts.get("projects", []))
        # The current project's rule for secrets in messages.
        self._redaction: str = job.place.get("redaction", DEFAULT_REDACTION)
        # Of the rows that were added: no usage has them while they are hidden.
        self._added_bytes: int = job.place.get("added_bytes", 0)
        self._waiting = _Waiting()
        # Rows of the next batch by their `known_by` fields: they are not in the database yet.
        self._new: dict[tuple[str, Any], Any] = {}

    @property
    def full(self) -> bool:
        return self._waiting.count >= self.pace.rows or self._waiting.size > PIECE_BYTES

    def take(self, row: Row) -> None:
        """Raises IdTaken, OtherProject, ExternalIdTaken."""
        self._projects.take(row)
        kind, above = row.kind, self.places[row.kind.under]
        place = self._find(kind, row.values) if kind.known_by else None if above.made else Place(made=False)
        if place is not None:
            self.places[kind.name] = place
            self.counts["present"][kind.name] += 1
            return
        self.counts["added"][kind.name] += 1
        _not_ahead(row.values)
        self._guard(kind, row.values)
        self._name_author(kind, row.values)
        self._added_bytes += stored_bytes(kind, row.values)
        self._add(kind, above, row.values)

    def check_quota(self, file_bytes: int = 0) -> None:
        """Whether what was taken so far fits, and a file of a chat beside it. Raises QuotaExceeded.

        A file that the server was sent was counted when it came, and goes when the import ends: its rows count in its place.
        """
        if not self.job.dry_run:
            quotas.check_bytes(self.job.user_id, file_bytes, beside=self._added_bytes - self.job.size_bytes)

    def flush(self, reader: Reader) -> None:
        """Store the batch and the progress in one transaction. Raises CannotStandBeside, IdTaken, QuotaExceeded, Stopped."""
        self.check_quota()
        waiting, self._waiting = self._waiting, _Waiting()
        self._new.clear()
        # By far the most rows; prepared before the lock is taken.
        statement, parameters = insertion([(made, above.key) for made, above in waiting.rows.pop("message", [])])

        def work() -> datetime:
            self.pace.begin()
            for kind in export_kinds():
                self._insert(kind, waiting.rows.get(kind.name, []))
            if parameters:
                write_later(statement, parameters)
            for (session_id, epoch), size in waiting.shrunk.items():
                ChatSession.objects.filter(pk=session_id, epoch=epoch).update(size_bytes=Greatest(F("size_bytes") - size, 0))
            self.pace.end()
            return self._note(reader)

        try:
            self.job.heartbeat_at = write(work)
        except IntegrityError:
            raise CannotStandBeside from None

    def _insert(self, kind: Kind, rows: list[tuple[Model, Place]]) -> None:
        """Inserts the rows of one kind. It may be retried, so keys from the database are reset first."""
        if not rows:
            return
        own_ids = kind.model._meta.pk.attname in kind.fields
        if own_ids and not kind.known_by:
            self._refuse_taken(kind, [made.pk for made, _ in rows])
        for made, above in rows:
            made._state.adding = True
            if not own_ids:
                made.pk = None
            if kind.under != USER:
                setattr(made, kind.link_column, above.key)
        kind.model._default_manager.bulk_create([made for made, _ in rows])

    def _refuse_taken(self, kind: Kind, ids: list[Any]) -> None:
        there = kind.model._default_manager.filter(pk__in=ids)
        taken = there.values_list("pk", flat=True).first()
        if taken is None:
            return
        if staged_rows(kind, self.job).filter(pk=taken).exists():  # Duplicate in the file.
            raise CannotStandBeside
        raise IdTaken(kind, str(taken))

    def _note(self, reader: Reader) -> datetime:
        places = {name: place.as_json() for name, place in self.places.items() if name != USER}
        place = {
            "offset": reader.offset,
            "line": reader.line,
            "read": dict(reader.counts),
            "places": places,
            "redaction": self._redaction,
            "added_bytes": self._added_bytes,
        }
        self.job.counts |= {name: dict(count) for name, count in self.counts.items()} | {"projects": self._projects.told}
        job = ImportJob.objects.filter(pk=self.job.pk, state=ImportState.RUNNING, heartbeat_at=self.job.heartbeat_at)
        at = now()
        if not job.update(place=place, counts=self.job.counts, heartbeat_at=at):
            raise Stopped
        return at

    def _find(self, kind: Kind, values: dict[str, Any]) -> Place | None:
        """The existing row for this one, if any."""
        if kind.name == "project":
            return self._find_project(kind, values)
        if kind.name == "session":
            return self._find_session(kind, values)
        staged = Q(user=None, import_id=self.job.id)
        found = AppState.objects.filter(staged | Q(user_id=self.job.user_id), client=values["client"])
        if ("app_state", values["client"]) in self._new or found.exists():
            return Place(made=False)
        if self.job.only_project is not None:
            raise OtherProject
        return None

    def _find_project(self, kind: Kind, values: dict[str, Any]) -> Place | None:
        """The existing project with this id, else with this path, which is unique within an account."""
        mine = Q(owner_id=self.job.user_id)
        staged = Q(owner=None, import_id=self.job.id, import_into=None)
        found: Any = values["id"] if ("project", values["id"]) in self._new else None
        if found is None and Project.objects.filter(id=values["id"]).exists():
            found = values["id"]
            if not Project.objects.filter(mine | staged, id=found).exists():
                raise IdTaken(kind, str(found))
        path, is_live = values.get("path", ""), values.get("deleted_at") is None
        if is_live and (found is None or in_trash(found)):
            there = Project.objects.filter(mine | staged, path=path, deleted_at=None)
            found = self._new.get(("path", path)) or there.values_list("id", flat=True).first() or found
        if self.job.only_project not in {None, found}:
            raise OtherProject
        if found is None:
            return None
        stored = Project.objects.filter(id=found).values_list("settings", "owner_id").first()
        settings, owner_id = stored or (self._new["project", found], None)
        self._redaction = _rule(settings)
        inbox, gone = None if owner_id else found, is_live and in_trash(found)
        return Place(False, found, None, values.get("current_session_id"), inbox, gone)

    def _find_session(self, kind: Kind, values: dict[str, Any]) -> Place | None:
        if ("session", values["id"]) in self._new:
            return Place(made=False, pk=values["id"])
        columns = ("project__owner_id", "project_id", "import_id")
        there = ChatSession.objects.filter(id=values["id"]).values_list(*columns).first()
        if there is None:
            _refuse_external_id(self.places["project"], values.get("external_id"))
            return None
        owner_id, project_id, import_id = there
        staged = owner_id is None and import_id == self.job.id
        if not staged and (owner_id != self.job.user_id or self.job.only_project not in {None, project_id}):
            raise IdTaken(kind, str(values["id"]))
        return Place(made=False, pk=values["id"])

    def _add(self, kind: Kind, above: Place, values: dict[str, Any]) -> None:
        made = kind.model(**{name: value for name, value in values.items() if name not in kind.later})
        if isinstance(made, Project):
            made.import_id, made.import_current = self.job.id, values.get("current_session_id")
            self._new["project", made.id] = made.settings
            if made.deleted_at is None:  # In the trash its path is free.
                self._new["path", made.path] = made.id
        elif isinstance(made, ChatSession):
            made.import_id, self._new["session", made.id] = self.job.id, None
            above = above if above.made else Place(made=False, pk=self._inbox(above))
        elif isinstance(made, AppState):
            made.import_id, self._new["app_state", made.client] = self.job.id, None
        if kind.known_by or kind.children:
            self.places[kind.name] = Place(made=True, row=made)
        size = sum(len(value) for value in values.values() if isinstance(value, str | bytes))
        self._wait(kind.name, made, above, size)

    def _wait(self, kind: str, made: Model, above: Place, size: int = 0) -> None:
        if not self.job.dry_run:
            self._waiting.rows.setdefault(kind, []).append((made, above))
            self._waiting.count += 1
            self._waiting.size += size

    def _inbox(self, project: Place) -> uuid.UUID:
        """The inbox where sessions for an existing project wait."""
        if project.inbox is None:
            inboxes = Project.objects.filter(import_id=self.job.id, import_into=project.pk)
            project.inbox = inboxes.values_list("id", flat=True).first()
        if project.inbox is None:
            made = self._live_again(project) if project.gone else Project(import_into=project.pk)
            made.import_id, made.import_current = self.job.id, project.current
            self._wait("project", made, Place(made=False))
            project.inbox = made.id
        return project.inbox

    def _live_again(self, project: Place) -> Project:
        """In the trash nobody would see what comes in, and it would be erased soon."""
        if self.job.only_project is not None:
            raise OtherProject
        self.counts["present"] -= Counter(project=1)
        self.counts["added"]["project"] += 1
        return live_again(project.pk)

    def _name_author(self, kind: Kind, values: dict[str, Any]) -> None:
        """Prevents forged authors: another author named in the file is marked as the file's claim."""
        author = values.get("author")
        if kind.name == "handoff_snapshot" and author is not None and author != self.job.user.get_username():
            values["author"] = author.removesuffix(IMPORTED)[: AUTHOR_LENGTH - len(IMPORTED)] + IMPORTED

    def _guard(self, kind: Kind, values: dict[str, Any]) -> None:
        """Applies the project's rule for secrets to imported rows. Content saved under the same rule stays byte for byte."""
        if kind.name == "project":
            self._redaction = _rule(values.get("settings"))
        if kind.name not in {"message", "conflict_copy"}:
            return
        size = values.get("size_bytes")
        self.counts["redacted"] += redact_stored_message(values, self._redaction)
        if size is not None and values["size_bytes"] != size and not values.get("removed"):
            session = self.places["session"].key, values.get("epoch", 0)
            self._waiting.shrunk[session] += size - values["size_bytes"]


def _not_ahead(values: dict[str, Any]) -> None:
    """Times ahead of this server's clock would look like changes after the import, which an undo keeps."""
    at = now()
    for name in ("created_at", "updated_at"):
        if isinstance(told := values.get(name), datetime) and told > at:
            values[name] = at


def _rule(settings: Any) -> str:
    mode = settings.get("redaction") if isinstance(settings, dict) else None
    return mode if isinstance(mode, str) and mode in REDACTION_MODES else DEFAULT_REDACTION


def _refuse_external_id(project: Place, external_id: str | None) -> None:
    if project.made or project.gone or external_id is None:
        return
    same = ChatSession.objects.filter(project_id=project.pk, external_id=external_id)
    if (taken := same.values_list("id", flat=True).first()) is not None:
        raise ExternalIdTaken(details={"session": str(taken)})
