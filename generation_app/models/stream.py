"""An answer while it is made: its chunks in order, kept until a day after its end."""

import uuid

from django.conf import settings
from django.db import models

from sessions_app.core.public_names import MESSAGE_ID_LENGTH, now


class StreamState(models.TextChoices):
    OPEN = "open"
    COMPLETE = "complete"
    INTERRUPTED = "interrupted"


class Stream(models.Model):
    """The stream of one message. Its chunks are numbered from 0; `chunk_count` is the number of the next one."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey("sessions_app.ChatSession", on_delete=models.CASCADE, related_name="streams", db_index=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    message_id = models.CharField(max_length=MESSAGE_ID_LENGTH)
    state = models.CharField(max_length=11, choices=StreamState, default=StreamState.OPEN)
    chunk_count = models.PositiveBigIntegerField(default=0)
    size_bytes = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(default=now, editable=False)
    written_at = models.DateTimeField(default=now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["session", "message_id"], condition=models.Q(ended_at=None), name="stream_open_once_a_message"
            ),
        ]
        indexes = [
            models.Index(fields=["session", "created_at"], name="stream_of_session"),
            models.Index(fields=["owner", "size_bytes"], name="stream_of_owner"),
            models.Index(fields=["owner"], name="stream_open_of_owner", condition=models.Q(ended_at=None)),
            models.Index(fields=["written_at"], name="stream_silent", condition=models.Q(ended_at=None)),
            models.Index(fields=["ended_at"], name="stream_ended", condition=models.Q(ended_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.message_id} ({self.state})"


class StreamPiece(models.Model):
    """Chunks of one request, as many as a row has: JSON texts, one a line. `first`: the number of the first one."""

    stream = models.ForeignKey(Stream, on_delete=models.CASCADE, related_name="pieces", db_index=False)
    first = models.PositiveBigIntegerField()
    count = models.PositiveIntegerField()
    chunks = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["stream", "first"], name="stream_piece_once")]

    def __str__(self) -> str:
        return f"{self.first} to {self.first + self.count - 1}"
