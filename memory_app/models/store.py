from datetime import datetime
from functools import cached_property

from django.db import models

from memory_app.models.namespace_settings import Rules
from memory_app.models.run import Run
from sessions_app.core.public_names import now


class MemoryStore(models.Model):
    """A project's memory: its counters, and who may write. Every write of memory locks this row first."""

    project = models.OneToOneField(
        "sessions_app.Project", primary_key=True, on_delete=models.CASCADE, related_name="memory_store"
    )
    # Counts the writes; an entry's rev is the number of the write that made it, so none is used twice.
    rev = models.PositiveBigIntegerField(default=0)
    size_bytes = models.PositiveBigIntegerField(default=0)
    # Of the project's threads of checkpoints, which have a quota of their own.
    checkpoint_bytes = models.PositiveBigIntegerField(default=0, editable=False)
    # Whether any namespace has settings: most projects have none, and then a write need not look for them.
    has_settings = models.BooleanField(default=False, editable=False)
    errors_changed_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Raised whenever the lease gets another holder. A run with a lower fence can no longer write.
    fence = models.PositiveBigIntegerField(default=0)
    holder = models.ForeignKey(Run, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=now, editable=False)

    def __str__(self) -> str:
        return f"memory of {self.project_id}"

    def holder_at(self, moment: datetime) -> Run | None:
        """The lease's holder, if the lease has not expired."""
        if self.lease_expires_at is None or self.lease_expires_at <= moment:
            return None
        return self.holder

    @cached_property
    def rules(self) -> Rules:
        """The settings of the namespaces, read once."""
        return Rules.of(self.project_id) if self.has_settings else Rules()
