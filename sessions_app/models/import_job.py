"""One import of a file, from the upload until it is done, stopped or undone.

An import stages its rows first: projects and app states without an owner, which no read finds, because every read
filters by owner. Publishing sets the owner and makes them visible.
"""

import uuid
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import models

from sessions_app.models.times import now

# As long as the event log records later changes.
UNDOABLE_FOR = timedelta(days=6)


class ImportState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    PUBLISHING = "publishing"
    DONE = "done"
    REMOVING = "removing"
    FAILED = "failed"
    STOPPED = "stopped"
    UNDONE = "undone"


# States in which a process works on it, or should.
ACTIVE = (ImportState.RUNNING, ImportState.PUBLISHING, ImportState.REMOVING)


def file_of(job_id: uuid.UUID) -> Path:
    """The path of the file of a queued import, kept until it is done."""
    return Path(settings.DATA_DIR) / "imports" / f"{job_id.hex}.ndjson"


class ImportJob(models.Model):
    """`place`: how far the file was staged, committed together with the rows. `then`: the state after REMOVING."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="imports")
    # A key that is limited to one project imports only into that project.
    only_project = models.UUIDField(null=True, blank=True)
    state = models.CharField(max_length=10, choices=ImportState, default=ImportState.QUEUED)
    then = models.CharField(max_length=10, choices=ImportState, blank=True)
    dry_run = models.BooleanField(default=False)
    # The file is in the data folder, so the server can continue the import.
    has_file = models.BooleanField(default=False)
    size_bytes = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    place = models.JSONField(default=dict, blank=True)
    counts = models.JSONField(default=dict, blank=True)
    left_out = models.JSONField(default=list, blank=True)
    error = models.JSONField(null=True, blank=True)
    # Renewed by the process that works on it; when it is old, another process may continue.
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=now, editable=False)
    published_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "id")
        indexes = [models.Index("user", models.F("created_at").desc(), name="import_browse")]
        constraints = [
            # Two at once would block each other on ids.
            models.UniqueConstraint(fields=["user"], condition=models.Q(state__in=ACTIVE), name="one_import_at_once"),
        ]

    def __str__(self) -> str:
        return f"{self.id} ({self.state})"
