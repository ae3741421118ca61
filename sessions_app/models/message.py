"""Messages, what was refused but kept (conflict copies), and the answers given to saves (receipts)."""

import uuid

from django.db import models

from sessions_app.models.sql import now

MESSAGE_ID_LENGTH = 64
WRITER_ID_LENGTH = 64
FORMAT_LENGTH = 32
TEXT_LENGTH = 100_000
EXTRA_BYTES = 1_000_000
# A streaming message that nobody has written for so long reads as interrupted.
STREAMING_SECONDS = 60


class Role(models.TextChoices):
    USER = "user"
    ASSISTANT = "assistant"


class Status(models.TextChoices):
    STREAMING = "streaming"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"


class Removal(models.TextChoices):
    """Why a message is out of the live window of its epoch."""

    NONE = "", "live"
    DELETED = "deleted"
    TRUNCATED = "truncated"
    REPLACED = "replaced"
    DROPPED = "dropped"


class Content(models.Model):
    """What a client gave. The JSON fields are text exactly as it is sent back; None = was absent."""

    message_id = models.CharField(max_length=MESSAGE_ID_LENGTH)
    role = models.CharField(max_length=9, choices=Role)
    text = models.TextField(blank=True)
    parts = models.TextField(null=True, blank=True)
    metadata = models.TextField(null=True, blank=True)
    format = models.CharField(max_length=FORMAT_LENGTH, null=True, blank=True)
    raw = models.TextField(null=True, blank=True)
    parent_id = models.CharField(max_length=MESSAGE_ID_LENGTH, null=True, blank=True)
    status = models.CharField(max_length=11, choices=Status, default=Status.COMPLETE)
    writer_id = models.CharField(max_length=WRITER_ID_LENGTH, null=True, blank=True)
    flagged = models.TextField(null=True, blank=True, help_text="How many secrets of which kind were found in it, as JSON.")

    class Meta:
        abstract = True


class Message(Content):
    """A message of one epoch of a session, live or taken out (`removed`)."""

    session = models.ForeignKey("sessions_app.ChatSession", on_delete=models.CASCADE, related_name="messages")
    epoch = models.PositiveBigIntegerField()
    position = models.PositiveBigIntegerField()
    ver = models.PositiveBigIntegerField(default=1)
    rev = models.PositiveBigIntegerField()
    writer_seq = models.PositiveBigIntegerField(default=0)
    size_bytes = models.PositiveBigIntegerField(default=0)
    removed = models.CharField(max_length=9, choices=Removal, default=Removal.NONE, blank=True)
    created_at = models.DateTimeField(default=now)
    updated_at = models.DateTimeField(default=now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "epoch", "message_id"], name="message_id_unique_in_epoch"),
        ]
        indexes = [
            models.Index(fields=["session", "epoch", "position"], name="message_window", condition=models.Q(removed="")),
            models.Index(fields=["session", "rev"], name="message_changes"),
            # For pruning, which must not read every message to find the few that were taken out.
            models.Index(fields=["updated_at"], name="message_taken_out", condition=~models.Q(removed="")),
        ]

    def __str__(self) -> str:
        return self.message_id


class ConflictCopy(Content):
    """A text that could not go where it was sent, kept until somebody settles it."""

    class Reason(models.TextChoices):
        CONFLICT = "conflict"
        STALE_EPOCH = "stale_epoch"
        REMOVED = "removed"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey("sessions_app.ChatSession", on_delete=models.CASCADE, related_name="conflict_copies")
    epoch = models.PositiveBigIntegerField()
    reason = models.CharField(max_length=11, choices=Reason)
    created_at = models.DateTimeField(default=now)
    settled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "conflict copies"
        indexes = [
            models.Index(fields=["session", "message_id"], name="copy_of_message"),
            models.Index(fields=["session", "created_at", "id"], name="copy_to_settle", condition=models.Q(settled_at=None)),
        ]

    def __str__(self) -> str:
        return f"{self.message_id} ({self.reason})"


class SaveReceipt(models.Model):
    """The answer to one request of one writer, given again word for word when that request comes again."""

    session = models.ForeignKey("sessions_app.ChatSession", on_delete=models.CASCADE, related_name="receipts")
    writer_id = models.CharField(max_length=WRITER_ID_LENGTH)
    seq = models.PositiveBigIntegerField()
    body_sha256 = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField()
    answer = models.TextField()
    created_at = models.DateTimeField(default=now, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "writer_id", "seq"], name="receipt_once")]

    def __str__(self) -> str:
        return f"{self.writer_id} {self.seq}"
