from memory_app.models.entry import DeletedEntry, MemoryEntry, MemoryVersion
from memory_app.models.error import ErrorReport
from memory_app.models.error_day import ErrorDay
from memory_app.models.graph_thread import ChannelValue, Checkpoint, GraphThread, PendingWrite
from memory_app.models.namespace_settings import NamespaceSettings
from memory_app.models.noise import FilteredCount
from memory_app.models.performance import EndpointTiming
from memory_app.models.run import Run
from memory_app.models.store import MemoryStore

__all__ = [
    "ChannelValue",
    "Checkpoint",
    "DeletedEntry",
    "EndpointTiming",
    "ErrorDay",
    "ErrorReport",
    "FilteredCount",
    "GraphThread",
    "MemoryEntry",
    "MemoryStore",
    "MemoryVersion",
    "NamespaceSettings",
    "PendingWrite",
    "Run",
]
