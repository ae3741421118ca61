"""Imports a file while the client waits: content of the export that the account lacks is added; existing content stays.

So an import is idempotent, and an old file never overwrites newer content. Nothing of a file is visible
until all of it is stored, and nothing is left of one that fails.
"""

import hashlib
import time
from dataclasses import dataclass
from typing import BinaryIO

from django.db import IntegrityError

from sessions_app.core.errors import Conflict
from sessions_app.core.storage.paced_writes import run_paced
from sessions_app.core.storage.transactions import write
from sessions_app.models import Caller, ImportJob
from sessions_app.models.import_job import ACTIVE, ImportState
from sessions_app.models.times import now
from sessions_app.portability.imports.file_reader import SKIPPED_AT_ONCE
from sessions_app.portability.imports.jobs import STALE_AFTER, ImportRunning, steps, take_over
from sessions_app.portability.imports.staged_rows import Stopped

LOOK_EVERY_SECONDS = 0.5


class ImportStopped(Conflict):
    code = "import_stopped"
    message = "This import was stopped, or another process continues it: the page /import/ and `GET /imports` say which."


@dataclass(frozen=True, slots=True)
class Imported:
    """Rows by kind: added now, and existing before. `redacted`: secrets in messages that the file had not marked, by kind."""

    added: dict[str, int]
    present: dict[str, int]
    redacted: dict[str, int]


def import_file(*, caller: Caller, file: BinaryIO, sent_bytes: int = 0, patient: bool = False) -> Imported:
    """Add the file's content. Raises BadFile, IdTaken, OtherProject, ExternalIdTaken, QuotaExceeded, ImportRunning,
    ImportStopped; then nothing was added.

    An interrupted import of the same file is continued; leftovers of another one are removed first. `sent_bytes`: of a
    file that a request sent, which the quota has counted. `patient`: wait for another import of the same user.
    """
    digest = _sha256(file)
    job = _left_by_another(caller, digest, patient=patient) or _begin(caller, digest, sent_bytes)
    try:
        run_paced(steps(caller, job, file))
    except Stopped:
        raise ImportStopped from None
    job.refresh_from_db()
    return imported(job)


def imported(job: ImportJob) -> Imported:
    return Imported(*(job.counts.get(name, {}) for name in ("added", "present", "redacted")))


def _sha256(file: BinaryIO) -> str:
    file.seek(0)
    digest = hashlib.sha256()
    while piece := file.read(SKIPPED_AT_ONCE):
        digest.update(piece)
    return digest.hexdigest()


def _begin(caller: Caller, digest: str, sent_bytes: int) -> ImportJob:
    job = ImportJob(
        user_id=caller.user_id,
        only_project=caller.project_id,
        state=ImportState.RUNNING,
        size_bytes=sent_bytes,
        sha256=digest,
        heartbeat_at=now(),
    )
    try:
        write(lambda: job.save(force_insert=True))
    except IntegrityError:
        raise ImportRunning from None
    return job


def _left_by_another(caller: Caller, digest: str, *, patient: bool) -> ImportJob | None:
    """The interrupted job to continue, or None if no other job blocks."""
    while (job := ImportJob.objects.filter(user_id=caller.user_id, state__in=ACTIVE).first()) is not None:
        left = job.heartbeat_at is None or job.heartbeat_at < now() - STALE_AFTER
        if job.has_file or not left or not take_over(job):
            if not patient:
                raise ImportRunning
            time.sleep(LOOK_EVERY_SECONDS)
        elif (job.sha256, job.only_project, job.state) == (digest, caller.project_id, ImportState.RUNNING):
            return job
        else:
            _finish(caller, job)
    return None


def _finish(caller: Caller, job: ImportJob) -> None:
    """Completes a committed import; removes what any other has staged."""
    if job.state == ImportState.RUNNING:
        taken_back = {"state": ImportState.REMOVING, "then": ImportState.STOPPED}
        write(lambda: ImportJob.objects.filter(pk=job.pk).update(**taken_back))
        job.refresh_from_db()
    run_paced(steps(caller, job, None))
