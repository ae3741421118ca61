import uuid

from django.conf import settings
from django.db import models

from sessions_app.models.key import Caller
from sessions_app.models.sql import now

PATH_LENGTH = 512
NAME_LENGTH = 200
# What `settings.redaction` may be: secrets in messages are left alone, pointed out, or taken out.
REDACTION_MODES = OFF, FLAG, REDACT = ("off", "flag", "redact")
DEFAULT_REDACTION = FLAG


class ProjectQuerySet(models.QuerySet["Project"]):
    def visible_to(self, caller: Caller) -> "ProjectQuerySet":
        own = self.filter(owner_id=caller.user_id)
        return own if caller.project_id is None else own.filter(id=caller.project_id)

    def alive(self) -> "ProjectQuerySet":
        return self.filter(deleted_at=None)


class Project(models.Model):
    """A body of work, known to its owner by `path`: any string of 1 to 512 characters."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="projects")
    path = models.CharField(max_length=PATH_LENGTH)
    name = models.CharField(max_length=NAME_LENGTH, blank=True)
    settings = models.JSONField(default=dict, blank=True)
    current_session = models.ForeignKey(
        "sessions_app.ChatSession", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    # Runs of agents, counted by whoever keeps runs; 0 = never.
    session_count = models.PositiveIntegerField(default=0, editable=False)
    last_session_at = models.DateTimeField(null=True, blank=True, editable=False)
    # The number of the project's newest event. Taken under the row's lock, so that numbers follow commits without a gap.
    event_seq = models.PositiveBigIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(default=now, editable=False)
    updated_at = models.DateTimeField(default=now, editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ("-updated_at", "id")
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "path"], condition=models.Q(deleted_at=None), name="project_path_unique_per_owner"
            ),
        ]
        indexes = [models.Index("owner", models.F("updated_at").desc(), "id", name="project_browse")]

    def __str__(self) -> str:
        return self.name or self.path

    @property
    def label(self) -> str:
        """Short: the name, or the last part of the path."""
        return self.name or self.path.rstrip("/").rsplit("/", 1)[-1] or self.path
