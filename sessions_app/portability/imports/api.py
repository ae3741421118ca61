"""Imports of large files in the background."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app.core.callers import caller_of
from sessions_app.core.storage.sql import rfc3339
from sessions_app.core.web.responses import json_reply, refusals
from sessions_app.core.web.schemas import LIMIT
from sessions_app.models import ImportJob
from sessions_app.portability.imports import jobs as import_jobs
from sessions_app.portability.imports.schemas import ImportJobOut, ImportList

router = Router(tags=["Export"])
LINES = "application/x-ndjson"
UPLOAD = {"required": True, "content": {LINES: {"schema": {"type": "string", "description": "A file as exported."}}}}
DETECTED = "stillhere"
DRY_RUN: bool = Query(False, description="Only report what the file contains and what would be added.")  # type: ignore[type-arg]


@router.get("/imports", response={200: ImportList, **refusals()}, operation_id="list_imports", summary="List imports")
def browse(request: HttpRequest, limit: int = LIMIT) -> HttpResponse:
    """Your imports of the last 30 days, newest first."""
    jobs = import_jobs.list_imports(caller=caller_of(request), limit=limit)
    return json_reply({"items": [_as_json(job) for job in jobs]})


@router.post(
    "/imports",
    response={202: ImportJobOut, **refusals(409, 413)},
    operation_id="start_import",
    summary="Import a file in the background",
    openapi_extra={"requestBody": UPLOAD},
)
def start(request: HttpRequest, dry_run: bool = DRY_RUN) -> HttpResponse:
    """Add the content of an export that this account lacks, in the background. Nothing is visible until all of it is stored.

    Idempotent: existing content is not changed. A damaged file ends as `failed`; its `error` names the line.
    409 while three are not finished.
    """
    job = import_jobs.start_import(caller=caller_of(request), file=request, dry_run=dry_run)
    return json_reply(_as_json(job), status=202)


@router.get(
    "/imports/{import_id}", response={200: ImportJobOut, **refusals(404)}, operation_id="get_import", summary="Read an import"
)
def read(request: HttpRequest, import_id: str) -> HttpResponse:
    """The progress and the result of an import."""
    return json_reply(_as_json(import_jobs.import_status(caller=caller_of(request), job_id=import_id)))


@router.delete(
    "/imports/{import_id}",
    response={200: ImportJobOut, **refusals(404, 409)},
    operation_id="stop_import",
    summary="Stop an import",
)
def stop(request: HttpRequest, import_id: str) -> HttpResponse:
    """Cancel the import; nothing is added. 409 if it is finished: undo it instead."""
    return json_reply(_as_json(import_jobs.stop_import(caller=caller_of(request), job_id=import_id)))


@router.post(
    "/imports/{import_id}/undo",
    response={200: ImportJobOut, **refusals(404, 409)},
    operation_id="undo_import",
    summary="Undo an import",
)
def undo(request: HttpRequest, import_id: str) -> HttpResponse:
    """Remove what the import added, in the background. Content changed since then stays and is listed in `left_out`."""
    return json_reply(_as_json(import_jobs.undo_import(caller=caller_of(request), job_id=import_id)))


def _as_json(job: ImportJob) -> dict[str, Any]:
    counts = job.counts
    stored = Counter(counts.get("added", {})) + Counter(counts.get("present", {}))
    return {
        "id": str(job.pk),
        "state": str(job.state),
        "dry_run": job.dry_run,
        "detected": DETECTED,
        "size_bytes": job.size_bytes,
        "found": _summary(counts.get("read", {})),
        "done": _summary(stored),
        **{name: counts.get(name, {}) for name in ("added", "present", "redacted")},
        "left_out": job.left_out,
        "error": job.error,
        "created_at": rfc3339(job.created_at),
        "finished_at": job.finished_at and rfc3339(job.finished_at),
    }


def _summary(rows: Mapping[str, int]) -> dict[str, int]:
    """Exports have tool calls inside messages."""
    return {"sessions": rows.get("session", 0), "messages": rows.get("message", 0), "tools": 0, "files": rows.get("file", 0)}
