"""Rows about clients and their calls, without contents."""

from mcp_app.models.activity import AgentClient, ToolCall

__all__ = ["AgentClient", "ToolCall"]
