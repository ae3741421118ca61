"""How much memory an account has stored."""

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Length

from memory_app.models import DeletedEntry, MemoryEntry, MemoryStore, MemoryVersion

# Of an entry, or a version, besides its names and its value: one with an empty value takes room too.
ROW_BYTES = 100


def memory_bytes(user_id: int) -> int:
    """Bytes of current values and all kept versions, including those of deleted entries, of their names, and of checkpoints."""
    sums = {"total": Sum("size_bytes"), "checkpoints": Sum("checkpoint_bytes")}
    stored = MemoryStore.objects.filter(project__owner_id=user_id).aggregate(**sums)
    theirs = Q(entry__project__owner_id=user_id) | Q(deleted__project__owner_id=user_id)
    versions = MemoryVersion.objects.filter(theirs).aggregate(total=Sum("size_bytes"), count=Count("id"))
    kept = int(versions["total"] or 0) + ROW_BYTES * int(versions["count"])
    named = _names(MemoryEntry.objects.filter(project__owner_id=user_id))
    named += _names(DeletedEntry.objects.filter(project__owner_id=user_id).order_by())
    return int(stored["total"] or 0) + int(stored["checkpoints"] or 0) + kept + named


def _names(entries: "QuerySet[MemoryEntry] | QuerySet[DeletedEntry]") -> int:
    """What namespaces and keys take, which an index has once more."""
    found = entries.aggregate(total=Sum(Length("namespace") + Length("key")), count=Count("pk"))
    return int(found["total"] or 0) + ROW_BYTES * int(found["count"])
