"""Streams in the admin."""

from django.contrib import admin

from generation_app.models import Stream, StreamPiece
from sessions_app.core.web.read_only_admin import ReadOnlyAdmin


@admin.register(Stream)
class StreamAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "session", "owner", "chunk_count", "size_bytes", "created_at", "written_at", "ended_at")
    list_filter = ("state", "created_at")
    list_select_related = ("session", "owner")
    search_fields = ("message_id", "session__id", "owner__username")


@admin.register(StreamPiece)
class StreamPieceAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "stream", "count")
    list_select_related = ("stream",)
    search_fields = ("stream__id", "stream__message_id")
    deferred = ("chunks",)
