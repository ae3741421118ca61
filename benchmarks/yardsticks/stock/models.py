from typing import ClassVar

from django.db import models


class Message(models.Model):
    session = models.CharField(max_length=64)
    message_id = models.CharField(max_length=64)
    role = models.CharField(max_length=9)
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[models.Manager["Message"]] = models.Manager()

    class Meta:
        indexes = [models.Index(fields=["session", "id"], name="session_messages")]

    def __str__(self) -> str:
        return self.message_id
