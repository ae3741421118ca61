"""A conversation store of Pydantic AI."""

from stillhere.pydantic_ai.store import StillhereConversationStore

__all__ = ["StillhereConversationStore"]
