"""The operator's view of memory. It is read-only, and its lists do not read values."""

from django.contrib import admin

from memory_app.models import (
    ChannelValue,
    Checkpoint,
    DeletedEntry,
    EndpointTiming,
    ErrorDay,
    ErrorReport,
    FilteredCount,
    GraphThread,
    MemoryEntry,
    MemoryStore,
    MemoryVersion,
    NamespaceSettings,
    PendingWrite,
    Run,
)
from sessions_app.core.web.read_only_admin import ReadOnlyAdmin


@admin.register(MemoryStore)
class MemoryStoreAdmin(ReadOnlyAdmin):
    list_display = ("project", "size_bytes", "checkpoint_bytes", "rev", "fence", "holder", "lease_expires_at")
    list_select_related = ("project", "holder")
    search_fields = ("project__path",)


@admin.register(MemoryEntry)
class MemoryEntryAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "project", "size_bytes", "rev", "updated_at")
    list_select_related = ("project",)
    list_filter = ("updated_at",)
    search_fields = ("namespace", "key", "project__path")
    deferred = ("value",)


@admin.register(DeletedEntry)
class DeletedEntryAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "project", "deleted_at", "by")
    list_select_related = ("project",)
    list_filter = ("deleted_at",)
    search_fields = ("key", "project__path")


@admin.register(MemoryVersion)
class MemoryVersionAdmin(ReadOnlyAdmin):
    list_display = ("entry", "rev", "size_bytes", "saved_at", "by")
    list_select_related = ("entry",)
    search_fields = ("entry__key",)
    deferred = ("value",)


@admin.register(NamespaceSettings)
class NamespaceSettingsAdmin(ReadOnlyAdmin):
    list_display = ("namespace", "project", "exact", "leased", "versions", "ttl_minutes", "quota_bytes", "entry_bytes")
    list_select_related = ("project",)
    search_fields = ("namespace", "project__path")


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "project", "fence", "started_at", "last_seen_at", "ended_at")
    list_select_related = ("project",)
    list_filter = (("ended_at", admin.EmptyFieldListFilter), "started_at")
    search_fields = ("agent", "project__path")


@admin.register(EndpointTiming)
class EndpointTimingAdmin(ReadOnlyAdmin):
    list_display = ("endpoint", "project", "run", "count", "p50_ms", "p95_ms", "earlier_p95_ms", "degraded", "last_at")
    list_select_related = ("project",)
    list_filter = ("degraded", "newest", "last_at")
    search_fields = ("endpoint", "project__path")
    deferred = ("histogram",)


@admin.register(ErrorReport)
class ErrorReportAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "project", "count", "first_seen", "last_seen", "resolved_at")
    list_select_related = ("project",)
    list_filter = (("resolved_at", admin.EmptyFieldListFilter), "last_seen")
    search_fields = ("kind", "message", "fingerprint", "project__path")
    deferred = ("stack", "known_fix")


@admin.register(ErrorDay)
class ErrorDayAdmin(ReadOnlyAdmin):
    list_display = ("error", "day", "run", "count", "last_at")
    list_select_related = ("error",)
    list_filter = ("day",)
    search_fields = ("error__fingerprint", "session_id")


@admin.register(FilteredCount)
class FilteredCountAdmin(ReadOnlyAdmin):
    list_display = ("rule_id", "project", "count")
    list_select_related = ("project",)
    search_fields = ("rule_id", "project__path")


@admin.register(GraphThread)
class GraphThreadAdmin(ReadOnlyAdmin):
    list_display = ("name", "project", "size_bytes", "created_at", "updated_at")
    list_select_related = ("project",)
    list_filter = ("updated_at",)
    search_fields = ("name", "project__path")


@admin.register(Checkpoint)
class CheckpointAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "thread", "parent_id", "run_id", "state_bytes", "created_at")
    list_select_related = ("thread",)
    list_filter = ("created_at",)
    search_fields = ("checkpoint_id", "run_id", "thread__name")
    exclude = ("data",)
    deferred = ("metadata", "versions", "data")


@admin.register(ChannelValue)
class ChannelValueAdmin(ReadOnlyAdmin):
    list_display = ("channel", "version", "thread", "type", "size_bytes")
    list_select_related = ("thread",)
    search_fields = ("channel", "thread__name")
    exclude = ("data",)
    deferred = ("data",)


@admin.register(PendingWrite)
class PendingWriteAdmin(ReadOnlyAdmin):
    list_display = ("task_id", "idx", "channel", "thread", "checkpoint_id", "size_bytes")
    list_select_related = ("thread",)
    search_fields = ("task_id", "checkpoint_id", "thread__name")
    exclude = ("data",)
    deferred = ("data",)
