"""Reading who may write a project's memory, and how full it is."""

import uuid

from memory_app.models import MemoryStore


def get_store(*, project_id: uuid.UUID) -> MemoryStore:
    """The project's store with its holder; where nothing was ever written, an empty one. The caller has the project."""
    found = MemoryStore.objects.select_related("holder").filter(project_id=project_id).first()
    return found or MemoryStore(project_id=project_id)
