"""A session store of the Claude Agent SDK."""

from stillhere.claude_agent.store import StillhereSessionStore

__all__ = ["StillhereSessionStore"]
