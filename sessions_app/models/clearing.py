from django.db import models

from sessions_app.models.session import OPENING_STEP_LENGTH
from sessions_app.models.times import now


class Clearing(models.Model):
    """A clear of a session, which ended an epoch. The epoch's messages stay until they are pruned."""

    session = models.ForeignKey("sessions_app.ChatSession", on_delete=models.CASCADE, related_name="clearings")
    epoch = models.PositiveBigIntegerField()
    # Epoch under which its messages are stored (see `ChatSession.epoch`); None: the epoch itself.
    filed_under = models.PositiveBigIntegerField(null=True, editable=False)
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

    @property
    def messages_epoch(self) -> int:
        """The epoch stored in its messages."""
        return self.epoch if self.filed_under is None else self.filed_under
