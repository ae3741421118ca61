"""The operator's view of every table. It looks, it does not write: the rows belong to the save's rules, and a change past
them would never reach a listener. What may be done here (revoking a key) goes through the services.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat

from sessions_app.auth import caller_of_user
from sessions_app.models import (
    AgentState,
    AgentStateVersion,
    AiState,
    AiStateVersion,
    ApiKey,
    AppState,
    ChatSession,
    Clearing,
    ConflictCopy,
    Event,
    FlushToken,
    Handoff,
    HandoffSnapshot,
    Message,
    PendingAction,
    Project,
    Purge,
    SaveReceipt,
    SignInLink,
    SocketTicket,
    Store,
)
from sessions_app.services import deletion, keys

if TYPE_CHECKING:
    AnyModelAdmin = admin.ModelAdmin[Any]
    AnyUserAdmin = UserAdmin[User]
else:
    AnyModelAdmin = admin.ModelAdmin
    AnyUserAdmin = UserAdmin

admin.site.site_header = "Stillhere: every table"
admin.site.site_title = "Stillhere"

BODIES = ("text", "parts", "metadata", "raw")


class ReadOnlyAdmin(AnyModelAdmin):
    """`deferred`: columns that a list does not read, because they may be large."""

    deferred: tuple[str, ...] = ()
    list_per_page = 50
    # Counting a table of millions takes longer than showing a page of it.
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        match = request.resolver_match
        return rows.defer(*self.deferred) if match and str(match.url_name).endswith("_changelist") else rows


admin.site.unregister(get_user_model())


@admin.register(get_user_model())
class AccountAdmin(AnyUserAdmin):
    """Django's own, but a user goes with all that is theirs, as when they delete their account themselves: what was frozen
    goes only so, and rows by the hundred thousand are neither read nor listed."""

    def get_deleted_objects(
        self, objs: "Sequence[User] | QuerySet[User]", request: HttpRequest
    ) -> tuple[list[Any], dict[Any, int], set[str], list[str]]:
        users = [user.pk for user in objs]
        counts = {
            "Users": len(users),
            "Projects": Project.objects.filter(owner__in=users).count(),
            "Sessions": ChatSession.objects.filter(project__owner__in=users).count(),
            "Frozen handoffs": HandoffSnapshot.objects.filter(project__owner__in=users).count(),
        }
        missing = set() if self.has_delete_permission(request) else {"user"}
        return [f"User: {user}, with every project, session, memory and key" for user in objs], counts, missing, []

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        deletion.delete_account(user_id=obj.pk)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for user_id in list(queryset.values_list("pk", flat=True)):
            deletion.delete_account(user_id=user_id)


@admin.register(Project)
class ProjectAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "path", "owner", "current_session", "session_count", "updated_at", "deleted_at")
    list_filter = ("owner", ("deleted_at", admin.EmptyFieldListFilter), "updated_at")
    list_select_related = ("owner", "current_session")
    search_fields = ("path", "name", "owner__username")
    date_hierarchy = "updated_at"


@admin.register(ChatSession)
class ChatSessionAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "project", "opening_step", "message_count", "size", "epoch", "rev", "updated_at", "deleted_at")
    list_filter = (
        ("archived_at", admin.EmptyFieldListFilter),
        ("deleted_at", admin.EmptyFieldListFilter),
        "opening_step",
        "updated_at",
    )
    list_select_related = ("project",)
    search_fields = ("title", "external_id", "id", "project__path")
    date_hierarchy = "updated_at"

    @admin.display(ordering="size_bytes")
    def size(self, row: ChatSession) -> str:
        return filesizeformat(row.size_bytes)


@admin.register(Message)
class MessageAdmin(ReadOnlyAdmin):
    list_display = ("message_id", "session", "role", "status", "epoch", "position", "ver", "size_bytes", "removed", "updated_at")
    list_filter = ("role", "status", "removed", "updated_at")
    list_select_related = ("session",)
    search_fields = ("message_id", "session__id", "session__title")
    deferred = BODIES


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
    list_filter = ("status", "created_at")
    list_select_related = ("session",)
    search_fields = ("writer_id", "session__id")
    deferred = ("answer",)


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ("project", "event_seq", "type", "session_id", "at")
    list_filter = ("type", "at")
    list_select_related = ("project",)
    search_fields = ("project__path", "session_id")
    ordering = ("-at",)
    deferred = ("frame",)


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    list_display = ("name", "prefix", "user", "scopes", "project", "created_at", "last_used_at", "expires_at", "revoked_at")
    list_filter = ("user", "scopes", ("revoked_at", admin.EmptyFieldListFilter), "last_used_at")
    list_select_related = ("user", "project")
    search_fields = ("name", "prefix", "user__username")
    exclude = ("key_sha256",)
    actions = ("revoke",)

    @admin.action(description="Revoke the chosen keys")
    def revoke(self, request: HttpRequest, chosen: QuerySet[ApiKey]) -> None:
        usable = list(chosen.filter(revoked_at=None).select_related("user"))
        for key in usable:
            keys.revoke_key(caller=caller_of_user(key.user), key_id=key.id)
        self.message_user(request, f"{len(usable)} revoked. Their next request is refused.", messages.SUCCESS)


@admin.register(SignInLink)
class SignInLinkAdmin(ReadOnlyAdmin):
    list_display = ("user", "created_at", "expires_at", "used_at")
    list_filter = ("created_at", ("used_at", admin.EmptyFieldListFilter))
    list_select_related = ("user",)
    search_fields = ("user__username",)
    exclude = ("token_sha256",)


@admin.register(SocketTicket)
class SocketTicketAdmin(ReadOnlyAdmin):
    list_display = ("user", "key", "expires_at")
    list_select_related = ("user", "key")
    search_fields = ("user__username",)
    exclude = ("token_sha256",)


@admin.register(FlushToken)
class FlushTokenAdmin(ReadOnlyAdmin):
    list_display = ("session", "user", "key", "expires_at")
    list_select_related = ("session", "user", "key")
    search_fields = ("user__username", "session__id")
    exclude = ("token_sha256",)


@admin.register(AppState)
class AppStateAdmin(ReadOnlyAdmin):
    list_display = ("user", "client", "selected_project", "active_phase", "updated_at")
    list_filter = ("client", "active_phase")
    list_select_related = ("user",)
    search_fields = ("user__username", "client", "selected_project")


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
    list_filter = ("ai_id", "updated_at")
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


@admin.register(Purge)
class PurgeAdmin(ReadOnlyAdmin):
    list_display = ("project_id",)


@admin.register(Store)
class StoreAdmin(ReadOnlyAdmin):
    list_display = ("incarnation",)
