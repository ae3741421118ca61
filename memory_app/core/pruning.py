"""Memory rows with limited retention; `sessions_app/chats/lifecycle/pruning.py` erases them in batches."""

import uuid
from datetime import timedelta

from django.db.models import Exists, F, OuterRef, Q, Sum

from memory_app.models import (
    ChannelValue,
    Checkpoint,
    DeletedEntry,
    ErrorDay,
    ErrorReport,
    MemoryEntry,
    MemoryStore,
    MemoryVersion,
    PendingWrite,
    Run,
)
from memory_app.models.entry import EntryQuerySet
from sessions_app.chats.lifecycle.pruning import Due
from sessions_app.core.public_names import now

KEPT_FOR = timedelta(days=30)


def due_rows() -> dict[str, Due]:
    """A deleted entry is erased after its versions, which hold its bytes. A run is never erased while it is the writer."""
    kept_since = now() - KEPT_FOR
    is_writer = MemoryStore.objects.filter(holder=OuterRef("pk"), lease_expires_at__gt=now())
    return {
        "deleted versions": Due(MemoryVersion.objects.filter(deleted__deleted_at__lt=kept_since), size="size_bytes"),
        "deleted entries": Due(DeletedEntry.objects.filter(deleted_at__lt=kept_since, versions=None)),
        "expired versions": Due(MemoryVersion.objects.filter(entry__expires_at__lte=now()), size="size_bytes"),
        "expired entries": Due(ExpiredEntries(MemoryEntry).expired_at(now()).filter(versions=None), size="size_bytes"),
        "days of expired errors": Due(ErrorDay.objects.filter(error__last_seen__lte=kept_since)),
        "days of errors": Due(ErrorDay.objects.filter(day__lt=kept_since.date())),
        "errors": Due(ErrorReport.objects.expired_at(now())),
        "runs": Due(Run.objects.filter(~Exists(is_writer), last_seen_at__lt=kept_since)),
    }


class ExpiredEntries(EntryQuerySet):
    """A caller that deletes these subtracts their bytes from their projects' memories, whose rows are the locks of all writes."""

    def delete(self) -> tuple[int, dict[str, int]]:
        projects = sorted(set(self.values_list("project_id", flat=True)))
        list(MemoryStore.objects.select_for_update().filter(project_id__in=projects).order_by("project_id").values_list("pk"))
        sizes = dict(self.order_by().values_list("project_id").annotate(size=Sum("size_bytes")))
        deleted = super().delete()
        for project_id, size_bytes in sizes.items():
            MemoryStore.objects.filter(project_id=project_id).update(size_bytes=F("size_bytes") - size_bytes)
        return deleted


def rows_of_projects(projects: list[uuid.UUID]) -> dict[str, Due]:
    """Of those whose time in the trash is over: an index finds their rows."""
    gone = {"project__in": projects, "project__deleted_at__lt": now() - KEPT_FOR}

    def within(parent: str) -> Q:
        return Q(**{f"{parent}__{name}": value for name, value in gone.items()})

    return {
        "projects' versions": Due(MemoryVersion.objects.filter(within("entry")), size="size_bytes"),
        "projects' deleted versions": Due(MemoryVersion.objects.filter(within("deleted")), size="size_bytes"),
        "projects' entries": Due(MemoryEntry.objects.filter(**gone, versions=None), size="size_bytes"),
        "projects' days of errors": Due(ErrorDay.objects.filter(within("error"))),
        "projects' errors": Due(ErrorReport.objects.filter(**gone)),
        **{
            f"projects' {name}": Due(rows._default_manager.filter(within("thread")), size="size_bytes")
            for name, rows in (("checkpoints", Checkpoint), ("channel values", ChannelValue), ("pending writes", PendingWrite))
        },
    }
