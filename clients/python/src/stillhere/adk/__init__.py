"""The session service and the memory service of Google's Agent Development Kit."""

from stillhere.adk.memory import StillhereMemoryService
from stillhere.adk.sessions import StillhereSessionService

__all__ = ["StillhereMemoryService", "StillhereSessionService"]
