"""How much memory an account has stored."""

from django.db.models import Q, Sum

from memory_app.models import MemoryStore, MemoryVersion


def memory_bytes(user_id: int) -> int:
    """Bytes of current values and all kept versions, including those of deleted entries, and of checkpoints."""
    sums = {"total": Sum("size_bytes"), "checkpoints": Sum("checkpoint_bytes")}
    stored = MemoryStore.objects.filter(project__owner_id=user_id).aggregate(**sums)
    theirs = Q(entry__project__owner_id=user_id) | Q(deleted__project__owner_id=user_id)
    versions = MemoryVersion.objects.filter(theirs).aggregate(total=Sum("size_bytes"))["total"] or 0
    return int(stored["total"] or 0) + int(stored["checkpoints"] or 0) + int(versions)
