"""The life cycle of an import, step by step: check the whole file, stage it hidden, then publish it.

An unfinished job with an old heartbeat was left by a process that ended: the process that takes it over continues after
its last committed batch, or removes what was staged.
"""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any, BinaryIO, Protocol

from django.contrib.auth import get_user_model
from django.db import IntegrityError
from django.db.models import Exists, OuterRef, Q

from sessions_app.chats.files.content import Incoming
from sessions_app.chats.files.services import store_file
from sessions_app.core.errors import AppError, Conflict, NotFound
from sessions_app.core.id_parsing import parse_id
from sessions_app.core.limits import quotas
from sessions_app.core.storage.durable_files import sync_to_disk
from sessions_app.core.storage.transactions import write
from sessions_app.models import Caller, ImportJob, StoredFile
from sessions_app.models.import_job import ACTIVE, UNDOABLE_FOR, ImportState, file_of
from sessions_app.models.times import now
from sessions_app.portability.file_pieces import FILE, FilesInFile, Piece
from sessions_app.portability.imports.file_reader import Reader, check_file
from sessions_app.portability.imports.publishing import decide, join, settle
from sessions_app.portability.imports.removal import end_removal, erase_staged, hide_untouched
from sessions_app.portability.imports.staged_rows import Stopped
from sessions_app.portability.imports.staging import Staging

# Without a heartbeat for this long, its process has ended.
STALE_AFTER = timedelta(seconds=10)
BEAT_EVERY = timedelta(seconds=2)
# Only the client that has the file can continue it: the server waits this long for it, unless another import waits.
RESUMABLE_FOR = timedelta(hours=1)
State = ImportState
# Each keeps its file until its turn.
MOST_UNFINISHED = 3
UNFINISHED = (State.QUEUED, *ACTIVE)
# A file without a job is left alone for so long: it may be one that is just being stored.
LEFT_AFTER = timedelta(days=1)


class ImportRunning(Conflict):
    code, message = "import_running", "Another import of yours is running. Wait until it is done, or stop it."


class TooManyImports(ImportRunning):
    message = f"You have {MOST_UNFINISHED} imports that are not finished. Wait until one is done, or stop one."


class ImportNotFound(NotFound):
    kind = "import"
    message = "You have no import with this id."


class NothingToStop(Conflict):
    code, message = "import_finished", "This import is finished or almost finished. Undo it instead."


class NothingToUndo(Conflict):
    code = "nothing_to_undo"
    message = f"Only an import that is done can be undone, for {UNDOABLE_FOR.days} days, and not while another one runs."


class Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


def start_import(*, caller: Caller, file: Readable, dry_run: bool = False) -> ImportJob:
    """Store the file and queue the job, which runs in the background. `dry_run`: only report what would happen.

    Raises TooManyImports.
    """
    _check_number(caller)
    job = ImportJob(user_id=caller.user_id, only_project=caller.project_id, dry_run=dry_run, has_file=True)
    path = file_of(job.pk)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        with path.open("wb") as kept:
            path.chmod(0o600)
            shutil.copyfileobj(file, kept, 1_000_000)
            job.size_bytes = kept.tell()
            kept.flush()
            os.fsync(kept.fileno())
        sync_to_disk(path.parent)
        write(lambda: _queue(caller, job))
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return job


def _check_number(caller: Caller) -> None:
    if ImportJob.objects.filter(user_id=caller.user_id, state__in=UNFINISHED).count() >= MOST_UNFINISHED:
        raise TooManyImports


def _queue(caller: Caller, job: ImportJob) -> None:
    # Locked, so that of several at once each sees those before it.
    get_user_model().objects.select_for_update(no_key=True).filter(pk=caller.user_id).first()
    _check_number(caller)
    ImportJob.objects.bulk_create([job])


def remove_left_files() -> None:
    """Removes old files that no unfinished job has: of a deleted account, or of a process that ended between two steps."""
    kept = {file_of(pk) for pk in ImportJob.objects.filter(state__in=UNFINISHED).values_list("pk", flat=True)}
    for path in file_of(uuid.UUID(int=0)).parent.glob("*.ndjson"):
        with suppress(FileNotFoundError):
            if path not in kept and path.stat().st_mtime < (now() - LEFT_AFTER).timestamp():
                path.unlink()


def import_status(*, caller: Caller, job_id: str) -> ImportJob:
    """One of the caller's imports. Raises ImportNotFound."""
    job: ImportJob | None = _visible(caller).filter(pk=parse_id(job_id, ImportNotFound)).first()
    if job is None:
        raise ImportNotFound
    return job


def list_imports(*, caller: Caller, limit: int = 50) -> list[ImportJob]:
    """The caller's imports, newest first."""
    return list(_visible(caller)[:limit])


def stop_import(*, caller: Caller, job_id: str) -> ImportJob:
    """Cancels the import; nothing is added. Raises NothingToStop if it is already being published."""
    job = import_status(caller=caller, job_id=job_id)

    def work() -> None:
        rows = ImportJob.objects.filter(pk=job.pk)
        taken_back = {"state": State.REMOVING, "then": State.STOPPED, "heartbeat_at": None}
        if not rows.filter(state__in=(State.QUEUED, State.RUNNING)).update(**taken_back):
            raise NothingToStop

    try:
        write(work)
    except IntegrityError:  # It waits behind another one: nothing is staged yet.
        write(lambda: ImportJob.objects.filter(pk=job.pk).update(state=State.STOPPED, finished_at=now()))
        file_of(job.pk).unlink(missing_ok=True)
    return import_status(caller=caller, job_id=job_id)


def undo_import(*, caller: Caller, job_id: str) -> ImportJob:
    """Remove what the import added, except content changed since then. Raises NothingToUndo."""
    job = import_status(caller=caller, job_id=job_id)

    due = ImportJob.objects.filter(pk=job.pk, state=State.DONE, dry_run=False, published_at__gte=now() - UNDOABLE_FOR)
    try:
        undone = write(lambda: due.update(state=State.REMOVING, then=State.UNDONE, heartbeat_at=None))
    except IntegrityError:
        raise NothingToUndo from None
    if not undone:
        raise NothingToUndo
    return import_status(caller=caller, job_id=job_id)


def take_over(job: ImportJob) -> bool:
    """Make this process the job's worker. False: another process has it, or another import of the same user runs."""
    at = now()
    state = State.RUNNING if job.state == State.QUEUED else job.state
    due = ImportJob.objects.filter(pk=job.pk, state=job.state, heartbeat_at=job.heartbeat_at)
    try:
        taken = write(lambda: due.update(state=state, heartbeat_at=at))
    except IntegrityError:
        return False
    job.state, job.heartbeat_at = state, at
    return bool(taken)


def due_jobs() -> list[ImportJob]:
    """Jobs that wait for a worker, oldest first."""
    at = now()
    left = Q(state__in=ACTIVE) & (Q(heartbeat_at=None) | Q(heartbeat_at__lt=at - STALE_AFTER))
    waiting = ImportJob.objects.filter(user_id=OuterRef("user_id"), state=State.QUEUED)
    resumable = Q(state=State.RUNNING, has_file=False, heartbeat_at__gte=at - RESUMABLE_FOR) & ~Exists(waiting)
    return list(ImportJob.objects.filter(left & ~resumable | Q(state=State.QUEUED)).order_by("created_at"))


def steps(caller: Caller, job: ImportJob, file: BinaryIO | None) -> Iterator[bool]:
    """The remaining steps of a job that this process has taken over. An error of the file is raised after everything
    staged is removed; Stopped if another process took the job."""
    if job.state == State.RUNNING:
        try:
            if file is None:
                raise AppError("The import was interrupted, and its file is gone. Nothing was imported. Import it again.")
            yield from _stage(caller, job, file)
        except AppError as error:
            yield from _fail(job, error)
            raise
    if job.state == State.PUBLISHING:
        yield from join(caller, job)
        job.state = State.DONE
    if job.state == State.REMOVING:
        if job.then == State.UNDONE:
            yield from hide_untouched(caller, job)
        yield from erase_staged(job)
        end_removal(job)
    file_of(job.pk).unlink(missing_ok=True)


def _stage(caller: Caller, job: ImportJob, file: BinaryIO) -> Iterator[bool]:
    reader = Reader(file)
    for _ in check_file(reader):
        if _is_due(job):
            _beat(job)
        yield False
    job.sha256, job.counts["read"] = reader.sha256, dict(reader.counts)
    if reader.files.count:
        job.counts["read"][FILE] = reader.files.count
    _beat(job)
    staging = Staging(job)
    reader = Reader(file, FilesInFile(partial(_keep_file, job, staging)))
    if job.place:
        reader.skip(offset=job.place["offset"], line=job.place["line"], counts=job.place["read"])
    for row in reader.rows():
        staging.take(row)
        if staging.full:
            staging.flush(reader)
            yield True
    staging.flush(reader)
    yield True
    if job.dry_run:
        _finish(job)
        return
    for kind, check in (("project", quotas.check_projects), ("session", quotas.check_sessions)):
        check(job.user_id, staging.counts["added"][kind])
    yield from _settled(job)
    decide(caller, job)
    yield True


def _settled(job: ImportJob) -> Iterator[bool]:
    """Counting many sessions takes longer than a silent job may."""
    for step in settle(job):
        if _is_due(job):
            _beat(job)
        yield step


def _keep_file(job: ImportJob, staging: Staging, incoming: Incoming, piece: Piece, at: datetime) -> None:
    """Stores a file at once: it is visible to its account alone, and collected if no message that is imported names it."""
    there = StoredFile.objects.filter(owner_id=job.user_id, sha256=piece.sha256).exists()
    staging.counts["present" if there else "added"][FILE] += 1
    staging.check_quota(0 if there else incoming.size_bytes)
    if not job.dry_run:
        store_file(owner_id=job.user_id, file=incoming, name=piece.name, media_type=piece.media_type, created_at=at)
    if _is_due(job):
        _beat(job)


def _is_due(job: ImportJob) -> bool:
    return job.heartbeat_at is None or now() - job.heartbeat_at > BEAT_EVERY


def _beat(job: ImportJob) -> None:
    at = now()
    mine = ImportJob.objects.filter(pk=job.pk, state=State.RUNNING, heartbeat_at=job.heartbeat_at)
    if not write(lambda: mine.update(heartbeat_at=at, sha256=job.sha256, counts=job.counts)):
        raise Stopped
    job.heartbeat_at = at


def _finish(job: ImportJob) -> None:
    write(lambda: ImportJob.objects.filter(pk=job.pk).update(state=State.DONE, finished_at=now()))
    job.state = State.DONE


def _fail(job: ImportJob, error: AppError) -> Iterator[bool]:
    told: Any = error.as_json()["error"]
    mine = ImportJob.objects.filter(pk=job.pk, state=State.RUNNING)
    if not write(lambda: mine.update(state=State.REMOVING, then=State.FAILED, error=told)):
        raise Stopped
    yield from erase_staged(job)
    job.then = State.FAILED
    end_removal(job)
    file_of(job.pk).unlink(missing_ok=True)


def _visible(caller: Caller) -> Any:
    own = ImportJob.objects.filter(user_id=caller.user_id)
    return own if caller.project_id is None else own.filter(only_project=caller.project_id)


def open_file(job: ImportJob) -> BinaryIO | None:
    try:
        return file_of(job.pk).open("rb")
    except FileNotFoundError:
        return None
