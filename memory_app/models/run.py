import uuid

from django.db import models

from sessions_app.core.public_names import now

AGENT_LENGTH = 64


class Run(models.Model):
    """One agent process at work on a project."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("sessions_app.Project", on_delete=models.CASCADE, related_name="runs")
    agent = models.CharField(max_length=AGENT_LENGTH, blank=True)
    number = models.PositiveIntegerField(help_text="The project's n-th run.")
    # The fence under which it last held the lease; null: it never did.
    fence = models.PositiveBigIntegerField(null=True, blank=True)
    started_at = models.DateTimeField(default=now, editable=False)
    last_seen_at = models.DateTimeField(default=now, editable=False)
    ended_at = models.DateTimeField(null=True, blank=True)
    end_sha256 = models.CharField(max_length=64, blank=True, help_text="Of the request that ended it, so that a retry is known.")

    class Meta:
        ordering = ("-started_at", "id")
        indexes = [models.Index("project", models.F("started_at").desc(), name="run_browse")]

    def __str__(self) -> str:
        return f"run {self.number} {self.agent}".rstrip()
