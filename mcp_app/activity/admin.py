"""The operator's view, read-only."""

from django.contrib import admin

from mcp_app.models import AgentClient, ToolCall
from sessions_app.core.web.read_only_admin import ReadOnlyAdmin


@admin.register(AgentClient)
class AgentClientAdmin(ReadOnlyAdmin):
    list_display = ("name", "version", "user", "project", "key", "last_seen_at")
    list_select_related = ("user", "project", "key")


@admin.register(ToolCall)
class ToolCallAdmin(ReadOnlyAdmin):
    list_display = ("at", "project", "client", "tool", "code", "duration_ms")
    list_select_related = ("project",)
