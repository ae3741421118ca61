import re
import uuid

from django.db import models

from sessions_app.core.public_names import now

NAME_LENGTH = 128
# A namespace or a key; never a name with a special meaning in a path.
ENTRY_NAME = re.compile(rf"(?!\.)[A-Za-z0-9._-]{{1,{NAME_LENGTH}}}")
ENTRY_BYTES = 1_000_000
VERSIONS = 10


class MemoryEntry(models.Model):
    """One JSON value under a namespace and a key."""

    project = models.ForeignKey("sessions_app.Project", on_delete=models.CASCADE, related_name="memory_entries")
    namespace = models.CharField(max_length=NAME_LENGTH)
    key = models.CharField(max_length=NAME_LENGTH)
    value = models.TextField(help_text="The value as JSON.")
    rev = models.PositiveBigIntegerField()
    size_bytes = models.PositiveIntegerField()
    updated_at = models.DateTimeField(default=now)

    class Meta:
        verbose_name_plural = "memory entries"
        constraints = [models.UniqueConstraint(fields=["project", "namespace", "key"], name="memory_key_once")]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.key}"


class DeletedEntry(models.Model):
    """A deleted entry that can still be restored with its versions."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("sessions_app.Project", on_delete=models.CASCADE, related_name="deleted_memory_entries")
    namespace = models.CharField(max_length=NAME_LENGTH)
    key = models.CharField(max_length=NAME_LENGTH)
    deleted_at = models.DateTimeField(default=now, db_index=True, editable=False)
    by = models.CharField(max_length=150, blank=True)

    class Meta:
        verbose_name_plural = "deleted entries"
        ordering = ("-deleted_at", "id")

    def __str__(self) -> str:
        return f"{self.namespace}/{self.key}"


class MemoryVersion(models.Model):
    """The last ten values of an entry, with the current one. Erased with the entry, but kept while it is `deleted`."""

    entry = models.ForeignKey(MemoryEntry, null=True, blank=True, on_delete=models.CASCADE, related_name="versions")
    deleted = models.ForeignKey(DeletedEntry, null=True, blank=True, on_delete=models.CASCADE, related_name="versions")
    value = models.TextField()
    rev = models.PositiveBigIntegerField()
    size_bytes = models.PositiveIntegerField()
    saved_at = models.DateTimeField(default=now)
    by = models.CharField(max_length=150, blank=True)

    class Meta:
        ordering = ("-rev",)
        constraints = [models.UniqueConstraint(fields=["entry", "rev"], name="memory_version_once")]

    def __str__(self) -> str:
        return f"{self.entry_id} rev {self.rev}"
