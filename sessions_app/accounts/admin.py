"""Accounts, keys and logins in the admin."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest

from sessions_app.accounts import api_keys, logins
from sessions_app.chats.lifecycle import deletion
from sessions_app.core.callers import caller_of_user
from sessions_app.core.web.read_only_admin import AnyPasswordForm, AnyUserAdmin, ReadOnlyAdmin
from sessions_app.models import ApiKey, ChatSession, FlushToken, HandoffSnapshot, Login, Project, SignInLink, SocketTicket

admin.site.unregister(get_user_model())


class NewPasswordForm(AnyPasswordForm):
    """Signs the user out everywhere, as when they change it themselves."""

    def save(self, commit: bool = True) -> User:
        user: User = super().save(commit)
        logins.end_logins(user_id=user.pk)
        return user


@admin.register(get_user_model())
class AccountAdmin(AnyUserAdmin):
    """Django's own, but deleting a user deletes all their data, as when they delete their account themselves: only so can frozen
    handoffs be deleted, and hundreds of thousands of rows need not be read and listed."""

    change_password_form = NewPasswordForm

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


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    list_display = ("name", "prefix", "user", "scopes", "project", "created_at", "last_used_at", "expires_at", "revoked_at")
    list_filter = (("revoked_at", admin.EmptyFieldListFilter), "last_used_at")
    list_select_related = ("user", "project")
    search_fields = ("name", "prefix", "user__username", "scopes")
    exclude = ("key_sha256",)
    actions = ("revoke",)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Who may only look at keys revokes none. Not `has_change_permission`, which nobody has: no form changes a key."""
        return request.user.has_perm("sessions_app.change_apikey")

    @admin.action(description="Revoke the chosen keys", permissions=["revoke"])
    def revoke(self, request: HttpRequest, chosen: QuerySet[ApiKey]) -> None:
        usable = list(chosen.filter(revoked_at=None).select_related("user"))
        for key in usable:
            api_keys.revoke_key(caller=caller_of_user(key.user), key_id=key.id)
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


@admin.register(Login)
class LoginAdmin(ReadOnlyAdmin):
    list_display = ("user", "expire_date")
    list_select_related = ("user",)
    search_fields = ("user__username",)
    exclude = ("session_key", "session_data")


@admin.register(FlushToken)
class FlushTokenAdmin(ReadOnlyAdmin):
    list_display = ("session", "user", "key", "expires_at")
    list_select_related = ("session", "user", "key")
    search_fields = ("user__username", "session__id")
    exclude = ("token_sha256",)
