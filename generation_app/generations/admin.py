"""Generations in the admin."""

from django.contrib import admin

from generation_app.models import Generation
from sessions_app.core.web.read_only_admin import ReadOnlyAdmin


@admin.register(Generation)
class GenerationAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "session", "owner", "model", "error", "worker", "created_at", "started_at", "ended_at")
    list_filter = ("state", "created_at")
    list_select_related = ("session", "owner")
    search_fields = ("message_id", "session__id", "owner__username", "error")
    deferred = ("instructions",)
