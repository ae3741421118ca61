import uuid
from datetime import datetime

from django.db import models
from django.db.models import Q

from sessions_app.core.public_names import now

# Characters of a namespace's label, labels of a namespace, characters of a key.
LABEL_LENGTH, MOST_LABELS, KEY_LENGTH = 128, 10, 512
# UTF-8 bytes of a stored namespace and its key together: they share an index, and PostgreSQL's take no more.
PLACE_BYTES = 2_500
ENTRY_BYTES = 1_000_000
VERSIONS = 10


class EntryQuerySet(models.QuerySet["MemoryEntry"]):
    def live_at(self, moment: datetime) -> "EntryQuerySet":
        """Without expired entries, which are absent before they are erased."""
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=moment))

    def expired_at(self, moment: datetime) -> "EntryQuerySet":
        return self.filter(expires_at__lte=moment)


class MemoryEntry(models.Model):
    """One JSON value under a namespace (`core/namespaces.py` has its form) and a key."""

    project = models.ForeignKey("sessions_app.Project", on_delete=models.CASCADE, related_name="memory_entries")
    namespace = models.CharField(max_length=PLACE_BYTES)
    key = models.CharField(max_length=KEY_LENGTH)
    value = models.TextField(help_text="The value as JSON.")
    rev = models.PositiveBigIntegerField()
    size_bytes = models.PositiveIntegerField()
    created_at = models.DateTimeField(default=now)
    updated_at = models.DateTimeField(default=now)
    # Null: never. Each read may move it, if its namespace's settings say so.
    expires_at = models.DateTimeField(null=True, blank=True)
    ttl_minutes = models.FloatField(null=True, blank=True)
    exact = models.BooleanField(default=False, help_text="Stored as it was sent, without redaction.")

    objects = EntryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "memory entries"
        constraints = [models.UniqueConstraint(fields=["project", "namespace", "key"], name="memory_key_once")]
        indexes = [models.Index("expires_at", condition=Q(expires_at__isnull=False), name="memory_expiry")]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.key}"

    def is_live_at(self, moment: datetime) -> bool:
        return self.expires_at is None or self.expires_at > moment


class DeletedEntry(models.Model):
    """A deleted entry that can still be restored with its versions."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("sessions_app.Project", on_delete=models.CASCADE, related_name="deleted_memory_entries")
    namespace = models.CharField(max_length=PLACE_BYTES)
    key = models.CharField(max_length=KEY_LENGTH)
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
    exact = models.BooleanField(default=False)

    class Meta:
        ordering = ("-rev",)
        constraints = [models.UniqueConstraint(fields=["entry", "rev"], name="memory_version_once")]

    def __str__(self) -> str:
        return f"{self.entry_id} rev {self.rev}"
