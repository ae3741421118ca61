from memory_app.models.entry import MemoryEntry, MemoryVersion
from memory_app.models.run import Run
from memory_app.models.store import MemoryStore

__all__ = ["MemoryEntry", "MemoryStore", "MemoryVersion", "Run"]
