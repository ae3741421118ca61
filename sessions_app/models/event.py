from datetime import timedelta

from django.db import models

from sessions_app.models.times import now

KEPT_FOR = timedelta(days=7)


class EventType(models.TextChoices):
    SESSION_RESTORED = "SESSION_RESTORED"
    SESSION_SAVED = "SESSION_SAVED"
    SESSION_CLEARED = "SESSION_CLEARED"
    SESSION_CREATED = "SESSION_CREATED"
    SESSION_UPDATED = "SESSION_UPDATED"
    SESSION_DELETED = "SESSION_DELETED"
    PLAN_RESTORED = "PLAN_RESTORED"
    MEMORY_CHANGED = "MEMORY_CHANGED"
    ERROR_RECORDED = "ERROR_RECORDED"
    LEASE_CHANGED = "LEASE_CHANGED"
    AGENT_STATE_SAVED = "AGENT_STATE_SAVED"
    PENDING_ACTION_RESOLVED = "PENDING_ACTION_RESOLVED"
    AI_STATE_SAVED = "AI_STATE_SAVED"
    AI_STATE_TRANSFERRED = "AI_STATE_TRANSFERRED"
    HANDOFF_CHANGED = "HANDOFF_CHANGED"
    HANDOFF_FROZEN = "HANDOFF_FROZEN"
    HEARTBEAT = "HEARTBEAT"
    RESYNC = "RESYNC"


class Event(models.Model):
    """One line of a project's log: kind, numbers and ids of a change, never its content."""

    # Other indexes begin with it.
    project = models.ForeignKey("sessions_app.Project", on_delete=models.CASCADE, related_name="events", db_index=False)
    event_seq = models.PositiveBigIntegerField()
    # An EventType, or the type of another app: no choices here, so that a new one needs no migration.
    type = models.CharField(max_length=32)
    # No foreign key: the log outlives the rows that it refers to.
    session_id = models.UUIDField(null=True, blank=True)
    frame = models.TextField(help_text="The event as JSON, as it is pushed.")
    at = models.DateTimeField(default=now, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "event_seq"], name="event_once")]

    def __str__(self) -> str:
        return f"{self.event_seq} {self.type}"
