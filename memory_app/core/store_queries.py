"""Reads the lease holder and the size of a project's memory."""

import uuid

from memory_app.models import MemoryStore


def get_store(*, project_id: uuid.UUID) -> MemoryStore:
    """The project's store with its holder; an empty one if nothing was written. The caller must have checked access."""
    found = MemoryStore.objects.select_related("holder").filter(project_id=project_id).first()
    return found or MemoryStore(project_id=project_id)
