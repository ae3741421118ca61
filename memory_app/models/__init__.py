from memory_app.models.entry import DeletedEntry, MemoryEntry, MemoryVersion
from memory_app.models.performance import EndpointTiming
from memory_app.models.run import Run
from memory_app.models.store import MemoryStore

__all__ = ["DeletedEntry", "EndpointTiming", "MemoryEntry", "MemoryStore", "MemoryVersion", "Run"]
