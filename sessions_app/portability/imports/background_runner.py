"""The worker thread for queued imports: one import at a time, one short step per call."""

import logging
import time
from collections.abc import Iterator

from django.contrib.auth import get_user_model

from sessions_app.core.errors import AppError
from sessions_app.core.storage.paced_writes import BREATH_SECONDS, PIECE_SECONDS
from sessions_app.models import Caller, ImportJob
from sessions_app.portability.imports.jobs import due_jobs, open_file, remove_left_files, steps, take_over
from sessions_app.portability.imports.staged_rows import Stopped

SWEPT_EVERY = 3600.0
logger = logging.getLogger(__name__)


class ImportRunner:
    """`work` is called repeatedly; it returns whether there is more to do at once."""

    def __init__(self) -> None:
        self._steps: Iterator[bool] | None = None
        self._swept_at = -SWEPT_EVERY

    def work(self) -> int:
        if self._steps is None:
            self._steps = self._next()
        if self._steps is None:
            if time.monotonic() >= self._swept_at + SWEPT_EVERY:
                remove_left_files()
                self._swept_at = time.monotonic()
            return 0
        try:
            return self._some(self._steps)
        except BaseException:
            self._steps = None
            raise

    def _some(self, running: Iterator[bool]) -> int:
        until = time.monotonic() + PIECE_SECONDS
        try:
            while not next(running) and time.monotonic() < until:
                time.sleep(BREATH_SECONDS)
            return 1
        except StopIteration:
            pass
        except (Stopped, AppError) as error:  # The job stores the reason.
            logger.info("an import ended: %s", type(error).__name__)
        self._steps = None
        return 1

    def _next(self) -> Iterator[bool] | None:
        for job in due_jobs():
            if take_over(job):
                return self._run(job)
        return None

    def _run(self, job: ImportJob) -> Iterator[bool]:
        username = get_user_model().objects.values_list("username", flat=True).get(pk=job.user_id)
        caller = Caller(job.user_id, username, project_id=job.only_project)
        file = open_file(job)
        try:
            yield from steps(caller, job, file)
        finally:
            if file is not None:
                file.close()
