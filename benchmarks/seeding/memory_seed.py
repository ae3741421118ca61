"""Fills projects with memory in bulk, past the API: `python -m benchmarks.seeding.memory_seed USER PROJECTS`, with the product's
settings. Each gets close to 10 MB of entries, 500 errors, 500 endpoints in three runs, noise rules, a handoff and AI states.

`python -m benchmarks.seeding.memory_seed --prune` makes expired memory instead and prints the milliseconds of each step of
pruning it, as JSON.
"""

import json
import os
import sys
import time
import uuid
from datetime import timedelta
from typing import Any

import django

from benchmarks.seeding.chat_texts import texts

TEXTS = texts()
ERRORS, ENDPOINTS, RUNS, BASELINES, RULES = 500, 500, 3, 353, 100
# Slightly more than a megabyte is left free for the measurements.
LARGE_BYTES, BASELINE_BYTES, FREE_BYTES = 990_000, 20_000, 1_010_000
DUE_ROWS = 1_000


def main(user: str, projects: int) -> None:
    from django.contrib.auth import get_user_model
    from django.db import transaction

    owner = get_user_model().objects.get(username=user)
    made = []
    for number in range(projects):
        with transaction.atomic():
            made.append(_project(owner, number))
    sys.stdout.write(json.dumps(made) + "\n")


def _project(owner: Any, number: int) -> str:
    from memory_app.models import ErrorReport, MemoryEntry, MemoryStore, MemoryVersion
    from sessions_app.models import AiState, ChatSession, Handoff, Project

    project = Project.objects.create(owner=owner, path=f"/bench/memory/{number}", session_count=RUNS)
    entries = [MemoryEntry(project=project, rev=rev, **entry) for rev, entry in enumerate(_entries(), 1)]
    MemoryEntry.objects.bulk_create(entries, batch_size=50)
    kept = MemoryEntry.objects.filter(project=project)
    versions = (MemoryVersion(entry=row, value=row.value, rev=row.rev, size_bytes=row.size_bytes) for row in kept)
    MemoryVersion.objects.bulk_create(versions, batch_size=50)
    size_bytes = sum(entry.size_bytes for entry in entries)
    if not 0 < 10_000_000 - FREE_BYTES - size_bytes < 100_000:
        raise RuntimeError(f"{size_bytes} bytes are not nearly 10 MB")
    MemoryStore.objects.create(project=project, rev=len(entries), size_bytes=size_bytes)
    reports = [
        ErrorReport(
            project=project,
            fingerprint=f"{at:032x}",
            message=TEXTS[at % len(TEXTS)][:300],
            kind="TypeError",
            stack="null",
            count=at + 1,
        )
        for at in range(ERRORS)
    ]
    ErrorReport.objects.bulk_create(reports)
    _timings(project)
    session = ChatSession.objects.create(project=project, title="Seeded")
    Project.objects.filter(id=project.id).update(current_session=session)
    notes = json.dumps({"working_notes": TEXTS[0], "context_summary": TEXTS[1], "todos": []})
    AiState.objects.bulk_create(AiState(session=session, ai_id=f"ai-{at}", content=notes, rev=1) for at in range(3))
    decisions = [{"id": f"d{at}", "text": TEXTS[at]} for at in range(20)]
    Handoff.objects.create(project=project, content=json.dumps({"decisions": decisions, "summary": TEXTS[2]}), rev=1)
    return str(project.id)


def _entries() -> list[dict[str, Any]]:
    endpoints = [{"path": f"/api/{at}", "method": "GET", "says": TEXTS[at % len(TEXTS)]} for at in range(LARGE_BYTES // 1_100)]
    rules = [
        {"id": f"r{at}", "pattern": f"noise number {at}", "kind": "substring", "source": "auto", "enabled": True}
        for at in range(RULES)
    ]
    values = [("api_schema", "schema", {"endpoints": endpoints}), ("noise", "config", {"rules": rules})]
    page = {"page": (TEXTS * 20)[: BASELINE_BYTES // 1_000]}
    values += [("baselines", f"page-{at:03}", page) for at in range(BASELINES)]
    values += [("notes", f"note-{at:04}", {"text": TEXTS[at % len(TEXTS)]}) for at in range(650)]
    shapes = [(namespace, key, json.dumps(value, ensure_ascii=False)) for namespace, key, value in values]
    return [
        {"namespace": namespace, "key": key, "value": text, "size_bytes": len(text.encode())} for namespace, key, text in shapes
    ]


def _timings(project: Any) -> None:
    from memory_app.models import EndpointTiming
    from memory_app.performance.histogram import Histogram
    from memory_app.performance.services import set_figures

    rows = []
    for at in range(ENDPOINTS):
        for run in range(1, RUNS + 1):
            histogram = Histogram()
            for sample in range(30):
                histogram.add(5.0 + at % 40 + sample * run * run)
            before = None if run == 1 else 30.0
            row = EndpointTiming(project=project, endpoint=f"GET /api/{at}", run=run, earlier_p95_ms=before, newest=run == RUNS)
            set_figures(row, histogram)
            rows.append(row)
    EndpointTiming.objects.bulk_create(rows)


def prune_steps() -> None:
    from memory_app.models import DeletedEntry, ErrorReport, MemoryVersion, Run
    from sessions_app.chats.lifecycle.pruning import prune_in_batches
    from sessions_app.core.public_names import now
    from sessions_app.models import Project

    due, project = now() - timedelta(days=31), Project.objects.all()[0]
    Run.objects.bulk_create(Run(project=project, number=at, last_seen_at=due) for at in range(DUE_ROWS))
    ErrorReport.objects.bulk_create(
        ErrorReport(project=project, fingerprint=uuid.uuid4().hex, stack="null", count=1, last_seen=due) for _ in range(DUE_ROWS)
    )
    deleted = DeletedEntry.objects.bulk_create(
        DeletedEntry(project=project, namespace="n", key=str(at), deleted_at=due) for at in range(DUE_ROWS)
    )
    text = json.dumps((TEXTS * 20)[: BASELINE_BYTES // 1_000], ensure_ascii=False)
    MemoryVersion.objects.bulk_create(
        (MemoryVersion(deleted=row, value=text, rev=1, size_bytes=len(text.encode())) for row in deleted), batch_size=50
    )
    took, batches, erased = list[float](), prune_in_batches(), True
    while erased:
        began = time.perf_counter()
        erased = next(batches, None) is not None
        took.append((time.perf_counter() - began) * 1000)
    sys.stdout.write(json.dumps(took) + "\n")


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    if sys.argv[1:] == ["--prune"]:
        prune_steps()
    else:
        main(sys.argv[1], int(sys.argv[2]))
