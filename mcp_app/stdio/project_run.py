"""The run of a process that serves one agent: begun with the process, alive as long as it is, ended with it."""

import logging
import threading
import uuid
from types import TracebackType
from typing import Any, Self

from django.db import DatabaseError, connections

from memory_app.core.lease import LEASE
from memory_app.runs.services import Held, end_run, heartbeat, start_run
from sessions_app.core.errors import AppError
from sessions_app.core.public_names import Caller
from sessions_app.projects.services import create_project

HEARTBEATS_A_LEASE = 3
logger = logging.getLogger(__name__)


class ProjectRun:
    """`with ProjectRun(caller, path) as run:` makes the project if there is none. A process that is killed sends no heartbeat, so
    its lease ends by itself."""

    def __init__(self, caller: Caller, path: str, agent: str = "") -> None:
        self._caller = caller
        self._project_id = create_project(caller=caller, path=path)[0].id
        self._state = start_run(caller=caller, project_id=self._project_id, agent=agent).as_json()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    @property
    def id(self) -> uuid.UUID:
        return uuid.UUID(self._state["run_id"])

    @property
    def writer(self) -> dict[str, Any] | None:
        """The run that holds the lease instead of this one, as it was at the start; None: this one is the writer."""
        holder: dict[str, Any] | None = self._state["holder"]
        return holder if self._state["mode"] == "reader" else None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ending.set()
        self._thread.join()
        try:
            end_run(caller=self._caller, project_id=self._project_id, run_id=self.id, held=Held())
        except (AppError, DatabaseError) as failure:
            logger.warning("the run could not be ended, its lease ends by itself: %s", type(failure).__name__)

    def _beat(self) -> None:
        try:
            while not self._ending.wait(LEASE.total_seconds() / HEARTBEATS_A_LEASE):
                try:
                    heartbeat(caller=self._caller, project_id=self._project_id, run_id=self.id)
                except (AppError, DatabaseError) as failure:
                    logger.warning("a heartbeat failed: %s", type(failure).__name__)
        finally:
            connections.close_all()
