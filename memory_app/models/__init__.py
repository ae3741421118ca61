from memory_app.models.entry import DeletedEntry, MemoryEntry, MemoryVersion
from memory_app.models.run import Run
from memory_app.models.store import MemoryStore

__all__ = ["DeletedEntry", "MemoryEntry", "MemoryStore", "MemoryVersion", "Run"]
