"""Agent states, AI states and handoffs in the admin."""

from django.contrib import admin

from sessions_app.core.web.read_only_admin import ReadOnlyAdmin
from sessions_app.models import AgentState, AgentStateVersion, AiState, AiStateVersion, Handoff, HandoffSnapshot, PendingAction


@admin.register(AgentState)
class AgentStateAdmin(ReadOnlyAdmin):
    list_display = ("session", "rev", "saved_at")
    list_select_related = ("session",)
    search_fields = ("session__id", "session__title")
    deferred = ("content",)


@admin.register(AgentStateVersion)
class AgentStateVersionAdmin(ReadOnlyAdmin):
    list_display = ("state", "rev", "saved_at")
    list_select_related = ("state",)
    search_fields = ("state__session__id",)
    deferred = ("content",)


@admin.register(PendingAction)
class PendingActionAdmin(ReadOnlyAdmin):
    list_display = ("action_id", "session", "created_at", "expires_at")
    list_filter = (("resolution", admin.EmptyFieldListFilter), "created_at")
    list_select_related = ("session",)
    search_fields = ("action_id", "session__id", "session__title")
    deferred = ("content", "resolution")


@admin.register(AiState)
class AiStateAdmin(ReadOnlyAdmin):
    list_display = ("ai_id", "session", "rev", "updated_at")
    list_filter = ("updated_at",)
    list_select_related = ("session",)
    search_fields = ("ai_id", "session__id", "session__title")
    deferred = ("content",)


@admin.register(AiStateVersion)
class AiStateVersionAdmin(ReadOnlyAdmin):
    list_display = ("state", "rev", "updated_at")
    list_select_related = ("state",)
    search_fields = ("state__ai_id", "state__session__id")
    deferred = ("content",)


@admin.register(Handoff)
class HandoffAdmin(ReadOnlyAdmin):
    list_display = ("project", "rev", "last_number", "frozen_at", "updated_at")
    list_select_related = ("project",)
    search_fields = ("project__path",)
    deferred = ("content",)


@admin.register(HandoffSnapshot)
class HandoffSnapshotAdmin(ReadOnlyAdmin):
    list_display = ("project", "number", "sha256", "author", "created_at")
    list_filter = ("created_at",)
    list_select_related = ("project",)
    search_fields = ("project__path", "sha256", "author")
    deferred = ("payload",)
