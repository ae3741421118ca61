"""`/import/`: imports in the background: start, progress, stop and undo.

A script uploads the file to the API, whatever its size; without scripts the form takes a file that fits into one request.
"""

import uuid
from collections import Counter
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from sessions_app.core.errors import AppError, Invalid, NotFound
from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.core.web.toasts import toast_response
from sessions_app.models import Caller, ImportJob
from sessions_app.models.import_job import UNDOABLE_FOR, ImportState
from sessions_app.models.times import now
from sessions_app.portability.imports.file_summary import PROJECTS_TOLD
from sessions_app.portability.imports.jobs import Readable, list_imports, start_import, stop_import, undo_import

SHOWN = 10
STATES = {
    ImportState.QUEUED: "Queued",
    ImportState.PUBLISHING: "Almost done",
    ImportState.REMOVING: "Removing",
    ImportState.FAILED: "Failed: nothing was imported",
    ImportState.STOPPED: "Stopped: nothing was imported",
    ImportState.UNDONE: "Undone",
}
ENDED = {ImportState.DONE, ImportState.FAILED, ImportState.STOPPED, ImportState.UNDONE}


class NoFile(Invalid):
    code, message = "no_file", "Choose a file first: one from “Export everything” or a session's download."


@dataclass(frozen=True, slots=True)
class Line:
    """One kind of content: how many in the file, added, and left out because they existed already."""

    what: str
    found: int
    added: int
    left_out: int


@dataclass(frozen=True, slots=True)
class Shown:
    """One import, for the page."""

    job: ImportJob

    @property
    def state(self) -> str:
        if self.job.state == ImportState.RUNNING:
            return "Checking the file" if not self.found else "Comparing" if self.job.dry_run else "Importing"
        if self.job.state == ImportState.DONE:
            if self.job.dry_run:
                return "Dry run: nothing was imported"
            return "Imported" if any(line.added for line in self.lines) else "Nothing was missing"
        if self.job.state == ImportState.FAILED and self.job.dry_run:
            return "This file cannot be imported"
        return STATES[ImportState(self.job.state)]

    @property
    def lines(self) -> list[Line]:
        read, added, present = (self.job.counts.get(name, {}) for name in ("read", "added", "present"))
        return [Line(_called(kind), number, added.get(kind, 0), present.get(kind, 0)) for kind, number in read.items()]

    @property
    def projects(self) -> list[tuple[str, int, int]]:
        """The first projects: name, sessions and messages in the file."""
        return [(label, sessions, messages) for label, sessions, messages in self.job.counts.get("projects", [])]

    @property
    def more_projects(self) -> int:
        found: int = self.job.counts.get("read", {}).get("project", 0)
        return max(found - PROJECTS_TOLD, 0)

    @property
    def found(self) -> int:
        """Rows in the file; 0 until it was read completely."""
        return sum(line.found for line in self.lines)

    @property
    def stored(self) -> int:
        return (Counter(self.job.counts.get("added", {})) + Counter(self.job.counts.get("present", {}))).total()

    @property
    def redacted(self) -> int:
        """Secrets that were replaced by a project's rule."""
        return sum(self.job.counts.get("redacted", {}).values())

    @property
    def ended(self) -> bool:
        return self.job.state in ENDED

    @property
    def can_stop(self) -> bool:
        return self.job.state in {ImportState.QUEUED, ImportState.RUNNING}

    @property
    def can_undo(self) -> bool:
        published = self.job.published_at
        recent = published is not None and published >= now() - UNDOABLE_FOR
        return self.job.state == ImportState.DONE and recent and any(line.added for line in self.lines)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def import_page(request: HttpRequest) -> HttpResponse:
    """GET: the form and the last imports. POST: starts an import."""
    caller = signed_in_caller(request)
    problem: AppError | None = None
    if request.method == "POST":
        try:
            _start(caller, request.FILES.get("file"), look=request.POST.get("act") == "look")
            return redirect("import")
        except AppError as error:
            problem = error
    shown = [Shown(job) for job in list_imports(caller=caller, limit=SHOWN)]
    context = {
        "imports": shown,
        "active": any(not one.ended for one in shown),
        "most_bytes": settings.MAX_IMPORT_BYTES,
        "most_by_form": settings.MAX_BODY_BYTES,
        "undoable_days": UNDOABLE_FOR.days,
        "problem": problem,
    }
    reply = render(request, "portability/import.html", context, status=problem.status if problem else 200)
    if problem:
        reply["Stillhere-Message"] = quote(problem.message)
    return reply


@login_required
@require_POST
def act(request: HttpRequest, job_id: uuid.UUID, name: str) -> HttpResponse:
    acts = {"stop": (stop_import, "Stopped. Nothing was imported."), "undo": (undo_import, "What it added is being removed.")}
    if name not in acts:
        raise NotFound
    run, said = acts[name]
    run(caller=signed_in_caller(request), job_id=str(job_id))
    return toast_response(request, said, page=reverse("import"))


def _start(caller: Caller, upload: "UploadedFile[Any] | None", *, look: bool) -> None:
    if upload is None:
        raise NoFile
    start_import(caller=caller, file=cast("Readable", upload), dry_run=look)


def _called(kind: str) -> str:
    return kind.replace("_", " ").capitalize().replace("Ai state", "AI state")
