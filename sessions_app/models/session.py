import uuid

from django.db import models

from sessions_app.models.key import Caller
from sessions_app.models.sql import now

SCHEMA_VERSION = 1
TITLE_LENGTH = 200
OPENING_STEP_LENGTH = 64
EXTERNAL_ID_LENGTH = 128


class ChatSessionQuerySet(models.QuerySet["ChatSession"]):
    def visible_to(self, caller: Caller) -> "ChatSessionQuerySet":
        own = self.filter(project__owner_id=caller.user_id)
        return own if caller.project_id is None else own.filter(project_id=caller.project_id)

    def alive(self) -> "ChatSessionQuerySet":
        return self.filter(deleted_at=None, project__deleted_at=None)


class ChatSession(models.Model):
    """One conversation. Its counters describe the live messages of the present epoch; clearing begins a new epoch."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("sessions_app.Project", on_delete=models.CASCADE, related_name="sessions")
    external_id = models.CharField(max_length=EXTERNAL_ID_LENGTH, null=True, blank=True)
    title = models.CharField(max_length=TITLE_LENGTH, blank=True)
    opening_step = models.CharField(max_length=OPENING_STEP_LENGTH, blank=True)
    schema_version = models.PositiveSmallIntegerField(default=SCHEMA_VERSION, editable=False)
    epoch = models.PositiveBigIntegerField(default=1, editable=False)
    rev = models.PositiveBigIntegerField(default=0, editable=False)
    # The position that the session's newest message got; grows through all epochs, so that an undo needs no renumbering.
    last_position = models.PositiveBigIntegerField(default=0, editable=False)
    message_count = models.PositiveIntegerField(default=0, editable=False)
    size_bytes = models.PositiveBigIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(default=now, editable=False)
    updated_at = models.DateTimeField(default=now, editable=False)
    archived_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects = ChatSessionQuerySet.as_manager()

    class Meta:
        verbose_name = "session"
        ordering = ("-updated_at", "id")
        constraints = [
            models.UniqueConstraint(
                fields=["project", "external_id"],
                condition=models.Q(external_id__isnull=False),
                name="session_external_id_unique_in_project",
            ),
        ]
        indexes = [models.Index("project", models.F("updated_at").desc(), "id", name="session_browse")]

    def __str__(self) -> str:
        return self.title or str(self.id)
