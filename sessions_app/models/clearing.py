from django.db import models

from sessions_app.models.session import OPENING_STEP_LENGTH
from sessions_app.models.sql import now


class Clearing(models.Model):
    """A session was started over: its epoch ended here. What belonged to it stays until it is pruned."""

    session = models.ForeignKey("sessions_app.ChatSession", on_delete=models.CASCADE, related_name="clearings")
    epoch = models.PositiveBigIntegerField()
    opening_step = models.CharField(max_length=OPENING_STEP_LENGTH, blank=True)
    message_count = models.PositiveIntegerField(default=0)
    size_bytes = models.PositiveBigIntegerField(default=0)
    cleared_at = models.DateTimeField(default=now)
    undone_at = models.DateTimeField(null=True, blank=True)
    purged_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["session", "epoch"], name="cleared_once"),)

    def __str__(self) -> str:
        return f"epoch {self.epoch}"
