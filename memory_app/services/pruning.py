"""What of memory is kept only for a while; `sessions_app/services/pruning.py` erases it, batch by batch."""

from datetime import timedelta

from django.db.models import Exists, OuterRef

from memory_app.models import DeletedEntry, ErrorReport, MemoryEntry, MemoryStore, MemoryVersion, Run
from sessions_app.queries.shared import now
from sessions_app.services.pruning import Due

KEPT_FOR = timedelta(days=30)


def due_rows() -> dict[str, Due]:
    """A deleted entry, and an entry in a project whose time in the trash is over, goes after its versions, which are its
    bytes. A run is never forgotten while it is the writer."""
    kept_since = now() - KEPT_FOR
    of_deleted_project = MemoryVersion.objects.filter(entry__project__deleted_at__lt=kept_since)
    is_writer = MemoryStore.objects.filter(holder=OuterRef("pk"), lease_expires_at__gt=now())
    return {
        "deleted versions": Due(MemoryVersion.objects.filter(deleted__deleted_at__lt=kept_since), size="size_bytes"),
        "deleted entries": Due(DeletedEntry.objects.filter(deleted_at__lt=kept_since, versions=None)),
        "projects' versions": Due(of_deleted_project, size="size_bytes"),
        "projects' entries": Due(
            MemoryEntry.objects.filter(project__deleted_at__lt=kept_since, versions=None), size="size_bytes"
        ),
        "errors": Due(ErrorReport.objects.expired_at(now())),
        "projects' errors": Due(ErrorReport.objects.filter(project__deleted_at__lt=kept_since)),
        "runs": Due(Run.objects.filter(~Exists(is_writer), last_seen_at__lt=kept_since)),
    }
