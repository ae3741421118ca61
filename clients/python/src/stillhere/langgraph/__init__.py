"""LangGraph's checkpointer and store."""

from stillhere.langgraph.saver import StillhereSaver
from stillhere.langgraph.store import StillhereStore

__all__ = ["StillhereSaver", "StillhereStore"]
