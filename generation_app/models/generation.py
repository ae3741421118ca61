"""A question that the server itself asks a model, and whose answer it saves."""

import uuid

from django.conf import settings
from django.db import models

from generation_app.models.stream import Stream
from sessions_app.core.public_names import MESSAGE_ID_LENGTH, now

MODEL_LENGTH = 128
WORKER_LENGTH = 32


class GenerationState(models.TextChoices):
    """`queued` and `running` are active; a session has at most one active generation."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETE = "complete"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


ACTIVE = (GenerationState.QUEUED.value, GenerationState.RUNNING.value)


class Generation(models.Model):
    """`message_id`: the answer. `last_message_id`: the last message that the model is given. `worker` runs it until
    `leased_until`, which it renews while it lives. `continues`: the answer has text already, and the model continues it.

    `key_*`: the API key that asked, if any: what is saved is saved in its name.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    session = models.ForeignKey("sessions_app.ChatSession", on_delete=models.CASCADE, related_name="generations", db_index=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    key_id = models.UUIDField(null=True, blank=True)
    key_name = models.CharField(max_length=100, blank=True)
    stream = models.ForeignKey(Stream, on_delete=models.SET_NULL, null=True, related_name="+")
    epoch = models.PositiveBigIntegerField()
    message_id = models.CharField(max_length=MESSAGE_ID_LENGTH)
    last_message_id = models.CharField(max_length=MESSAGE_ID_LENGTH)
    model = models.CharField(max_length=MODEL_LENGTH, blank=True)
    instructions = models.TextField(blank=True)
    continues = models.BooleanField(default=False)
    state = models.CharField(max_length=11, choices=GenerationState, default=GenerationState.QUEUED)
    error = models.CharField(max_length=200, blank=True, help_text="Why it failed or was interrupted.")
    stop_requested = models.BooleanField(default=False)
    worker = models.CharField(max_length=WORKER_LENGTH, blank=True)
    leased_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=now, editable=False)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session"], condition=models.Q(ended_at=None), name="generation_active_once"),
        ]
        indexes = [
            models.Index(fields=["session", "created_at"], name="generation_of_session"),
            models.Index(fields=["created_at"], name="generation_active", condition=models.Q(ended_at=None)),
            models.Index(fields=["owner"], name="generation_of_owner"),
            models.Index(fields=["ended_at"], name="generation_ended", condition=models.Q(ended_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.message_id} ({self.state})"
