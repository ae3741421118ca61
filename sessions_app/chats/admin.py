"""Sessions and messages in the admin."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat

from sessions_app.core.web.read_only_admin import BODIES, ReadOnlyAdmin
from sessions_app.models import (
    ChatSession,
    Clearing,
    ConflictCopy,
    FileReference,
    Message,
    SaveReceipt,
    SessionFile,
    SessionTag,
    StoredFile,
)
from sessions_app.models.message import ROLES


@admin.register(ChatSession)
class ChatSessionAdmin(ReadOnlyAdmin):
    list_display = (
        "__str__",
        "project",
        "opening_step",
        "message_count",
        "size",
        "pinned",
        "tags",
        "epoch",
        "rev",
        "updated_at",
        "deleted_at",
    )
    list_filter = (
        ("archive_requested_at", admin.EmptyFieldListFilter),
        ("deleted_at", admin.EmptyFieldListFilter),
        ("pinned", admin.EmptyFieldListFilter),
        ("opening_step", admin.EmptyFieldListFilter),
        "updated_at",
    )
    list_select_related = ("project",)
    search_fields = ("title", "external_id", "id", "project__path", "opening_step")
    date_hierarchy = "updated_at"
    deferred = ("metadata",)

    @admin.display(ordering="size_bytes")
    def size(self, row: ChatSession) -> str:
        return filesizeformat(row.size_bytes)


@admin.register(SessionTag)
class SessionTagAdmin(ReadOnlyAdmin):
    list_display = ("tag", "session", "project")
    list_select_related = ("session", "project")
    search_fields = ("tag", "session__title", "project__path")


class RoleFilter(admin.SimpleListFilter):
    """Django would read the roles of all messages to list them."""

    title, parameter_name = "role", "role"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(role, role) for role in sorted(ROLES)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Message]) -> QuerySet[Message]:
        return queryset.filter(role=self.value()) if self.value() else queryset


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    list_display = ("message_id", "session", "role", "status", "epoch", "position", "ver", "size_bytes", "removed", "updated_at")
    list_filter = (RoleFilter, "status", "removed", "updated_at")
    list_select_related = ("session",)
    search_fields = ("message_id", "session__id", "session__title")
    deferred = BODIES


@admin.register(StoredFile)
class StoredFileAdmin(ReadOnlyAdmin):
    list_display = ("name", "owner", "media_type", "size", "sha256", "created_at", "uploaded_at")
    list_filter = ("created_at",)
    list_select_related = ("owner",)
    search_fields = ("name", "sha256", "owner__username")

    @admin.display(ordering="size_bytes")
    def size(self, row: StoredFile) -> str:
        return filesizeformat(row.size_bytes)


@admin.register(SessionFile)
class SessionFileAdmin(ReadOnlyAdmin):
    list_display = ("name", "session", "sha256", "created_at")
    list_select_related = ("session",)
    search_fields = ("name", "sha256", "session__id")


@admin.register(FileReference)
class FileReferenceAdmin(ReadOnlyAdmin):
    list_display = ("sha256", "session", "message", "copy")
    list_select_related = ("session", "message", "copy")
    search_fields = ("sha256", "session__id")


@admin.register(ConflictCopy)
class ConflictCopyAdmin(ReadOnlyAdmin):
    list_display = ("message_id", "session", "role", "reason", "epoch", "created_at", "settled_at")
    list_filter = ("reason", ("settled_at", admin.EmptyFieldListFilter), "created_at")
    list_select_related = ("session",)
    search_fields = ("message_id", "session__id", "session__title")
    deferred = BODIES


@admin.register(Clearing)
class ClearingAdmin(ReadOnlyAdmin):
    list_display = ("session", "epoch", "message_count", "size_bytes", "cleared_at", "undone_at", "purged_at")
    list_filter = ("cleared_at", ("undone_at", admin.EmptyFieldListFilter))
    list_select_related = ("session",)
    search_fields = ("session__id", "session__title")


@admin.register(SaveReceipt)
class SaveReceiptAdmin(ReadOnlyAdmin):
    list_display = ("session", "writer_id", "seq", "status", "created_at")
    list_filter = ("created_at",)
    list_select_related = ("session",)
    search_fields = ("writer_id", "session__id")
    deferred = ("answer",)
