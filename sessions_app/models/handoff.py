"""A project's handoff: decisions, files, risks, a summary; one live, and frozen snapshots."""

import uuid

from django.db import models

from sessions_app.models.times import now


class Handoff(models.Model):
    """The live handoff; a project has at most one."""

    project = models.OneToOneField("sessions_app.Project", on_delete=models.CASCADE, related_name="handoff")
    content = models.TextField(default="{}", help_text="A JSON object: decisions, files, risks, summary.")
    rev = models.PositiveBigIntegerField(default=0, editable=False)
    # Number of snapshots ever frozen: a number is never reused.
    last_number = models.PositiveIntegerField(default=0, editable=False)
    frozen_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(default=now, editable=False)

    def __str__(self) -> str:
        return f"handoff of {self.project_id}"


class HandoffSnapshot(models.Model):
    """A frozen handoff: the database itself refuses to change it, or to delete it outside a purge."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("sessions_app.Project", on_delete=models.CASCADE, related_name="snapshots")
    number = models.PositiveIntegerField()
    payload = models.TextField(help_text="Sorted compact JSON, whose bytes `sha256` is of.")
    sha256 = models.CharField(max_length=64)
    # No foreign keys: a snapshot must not change when rows that it names are deleted.
    session_id = models.UUIDField(null=True, blank=True)
    session_rev = models.PositiveBigIntegerField(null=True, blank=True)
    author = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=now, editable=False)

    class Meta:
        ordering = ("-number",)
        constraints = [models.UniqueConstraint(fields=["project", "number"], name="snapshot_once")]

    def __str__(self) -> str:
        return f"snapshot {self.number}"


class Purge(models.Model):
    """Holds a row only inside the transaction that erases a project: while it does, its snapshots may be deleted."""

    project_id = models.UUIDField(primary_key=True)

    def __str__(self) -> str:
        return str(self.project_id)
