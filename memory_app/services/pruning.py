"""What of memory is kept only for a while; `sessions_app/services/pruning.py` erases it, batch by batch."""

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from memory_app.models import DeletedEntry, ErrorReport, MemoryEntry, MemoryStore, MemoryVersion, Run
from sessions_app.queries.shared import now
from sessions_app.services.pruning import Due, expired_projects

KEPT_FOR = timedelta(days=30)


def due_rows() -> dict[str, Due]:
    """A deleted entry goes after its versions, which are its bytes. A run is never forgotten while it is the writer."""
    kept_since = now() - KEPT_FOR
    is_writer = MemoryStore.objects.filter(holder=OuterRef("pk"), lease_expires_at__gt=now())
    return {
        "deleted versions": Due(MemoryVersion.objects.filter(deleted__deleted_at__lt=kept_since), size="size_bytes"),
        "deleted entries": Due(DeletedEntry.objects.filter(deleted_at__lt=kept_since, versions=None)),
        "errors": Due(ErrorReport.objects.expired_at(now())),
        "runs": Due(Run.objects.filter(~Exists(is_writer), last_seen_at__lt=kept_since)),
        **_of_projects(kept_since),
    }


def _of_projects(kept_since: datetime) -> dict[str, Due]:
    """What is in projects whose time in the trash is over. They are looked for first: their rows are found by index then, and
    mostly there are none."""
    gone = {"project__in": expired_projects(), "project__deleted_at__lt": kept_since}

    def within(parent: str) -> Q:
        return Q(**{f"{parent}__{name}": value for name, value in gone.items()})

    return {
        "projects' versions": Due(MemoryVersion.objects.filter(within("entry")), size="size_bytes"),
        "projects' deleted versions": Due(MemoryVersion.objects.filter(within("deleted")), size="size_bytes"),
        "projects' entries": Due(MemoryEntry.objects.filter(**gone, versions=None), size="size_bytes"),
        "projects' errors": Due(ErrorReport.objects.filter(**gone)),
    }
