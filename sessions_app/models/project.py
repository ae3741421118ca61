import uuid

from django.conf import settings
from django.db import models

from sessions_app.models.credentials import Caller
from sessions_app.models.times import now

PATH_LENGTH = 512
NAME_LENGTH = 200
# Of `settings.instructions`.
INSTRUCTIONS_LENGTH = 10_000
# Values of `settings.redaction`: secrets in messages are ignored, reported, or removed.
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
    # None: staged by an import (`import_id`) or by an unpublished fork, so it has no owner and no read finds it.
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="projects")
    path = models.CharField(max_length=PATH_LENGTH)
    name = models.CharField(max_length=NAME_LENGTH, blank=True)
    settings = models.JSONField(default=dict, blank=True)
    current_session = models.ForeignKey(
        "sessions_app.ChatSession", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    # Number of agent runs, counted by the app that stores runs; 0 = none.
    session_count = models.PositiveIntegerField(default=0, editable=False)
    last_session_at = models.DateTimeField(null=True, blank=True, editable=False)
    # The number of the project's newest event. Taken under the row's lock, so that numbers follow commits without a gap.
    event_seq = models.PositiveBigIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(default=now, editable=False)
    updated_at = models.DateTimeField(default=now, editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True)
    # The import that created it.
    import_id = models.UUIDField(null=True, blank=True, editable=False)
    # For a staged project: the existing project that its sessions are for, if any; and which one is current.
    import_into = models.UUIDField(null=True, blank=True, editable=False)
    import_current = models.UUIDField(null=True, blank=True, editable=False)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ("-updated_at", "id")
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "path"], condition=models.Q(deleted_at=None), name="project_path_unique_per_owner"
            ),
        ]
        indexes = [
            models.Index("owner", models.F("updated_at").desc(), "id", name="project_browse"),
            models.Index("import_id", name="project_imported", condition=models.Q(import_id__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.name or self.path

    @property
    def label(self) -> str:
        """Short: the name, or the last part of the path."""
        return self.name or self.path.rstrip("/").rsplit("/", 1)[-1] or self.path
