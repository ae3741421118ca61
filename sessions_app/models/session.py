import uuid

from django.db import models

from sessions_app.models.credentials import Caller
from sessions_app.models.times import now

SCHEMA_VERSION = 1
TITLE_LENGTH = 200
OPENING_STEP_LENGTH = 64
EXTERNAL_ID_LENGTH = 128


class SessionState(models.TextChoices):
    """The state shown to users. `archived_at` does not suffice: a session is also archived when another one becomes current."""

    CURRENT = "current"
    EARLIER = "earlier"
    ARCHIVED = "archived"
    TRASH = "trash"


class ChatSessionQuerySet(models.QuerySet["ChatSession"]):
    def visible_to(self, caller: Caller) -> "ChatSessionQuerySet":
        own = self.filter(project__owner_id=caller.user_id)
        return own if caller.project_id is None else own.filter(project_id=caller.project_id)

    def alive(self) -> "ChatSessionQuerySet":
        return self.filter(deleted_at=None, project__deleted_at=None)

    def in_state(self, state: SessionState) -> "ChatSessionQuerySet":
        if state == SessionState.TRASH:
            return self.exclude(deleted_at=None)
        rows, is_current = self.filter(deleted_at=None), models.Q(project__current_session_id=models.F("id"))
        if state == SessionState.CURRENT:
            return rows.filter(is_current)
        if state == SessionState.ARCHIVED:
            return rows.exclude(archive_requested_at=None)
        return rows.filter(archive_requested_at=None).exclude(is_current)


class ChatSession(models.Model):
    """One conversation. Its counters describe the live messages of the current epoch; clearing begins a new epoch."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # Other indexes begin with it.
    project = models.ForeignKey("sessions_app.Project", on_delete=models.CASCADE, related_name="sessions", db_index=False)
    external_id = models.CharField(max_length=EXTERNAL_ID_LENGTH, null=True, blank=True)
    title = models.CharField(max_length=TITLE_LENGTH, blank=True)
    opening_step = models.CharField(max_length=OPENING_STEP_LENGTH, blank=True)
    schema_version = models.PositiveSmallIntegerField(default=SCHEMA_VERSION, editable=False)
    # Its live messages are stored under this epoch. After an undo of a clear, which reuses the cleared epoch, the epoch that
    # clients know is higher by `epochs_ahead`. Then messages up to the position `revived_to` count as written at
    # `revived_rev`, without a writer, if their own rev is lower. NULL (0), so that SQLite adds the columns in place.
    epoch = models.PositiveBigIntegerField(default=1, editable=False)
    epochs_ahead = models.PositiveBigIntegerField(null=True, editable=False)
    revived_rev = models.PositiveBigIntegerField(null=True, editable=False)
    revived_to = models.PositiveBigIntegerField(null=True, editable=False)
    rev = models.PositiveBigIntegerField(default=0, editable=False)
    # Position of the session's newest message; grows through all epochs, so that an undo needs no renumbering.
    last_position = models.PositiveBigIntegerField(default=0, editable=False)
    message_count = models.PositiveIntegerField(default=0, editable=False)
    size_bytes = models.PositiveBigIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(default=now, editable=False)
    updated_at = models.DateTimeField(default=now, editable=False)
    archived_at = models.DateTimeField(null=True, blank=True)
    # When a user archived it; None if it only lost its place as the current session. Nullable also
    # because SQLite then adds the column in place: a rebuilt table would lose the triggers that keep the index of titles.
    archive_requested_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    # The import that created it.
    import_id = models.UUIDField(null=True, blank=True, editable=False)

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
        indexes = [
            models.Index("project", models.F("updated_at").desc(), "id", name="session_browse"),
            models.Index("import_id", name="session_imported", condition=models.Q(import_id__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.title or str(self.id)
