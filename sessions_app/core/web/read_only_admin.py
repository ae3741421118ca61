"""Base class of the admin pages: read-only."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.http import HttpRequest

if TYPE_CHECKING:
    AnyModelAdmin = admin.ModelAdmin[Any]
    AnyUserAdmin = UserAdmin[User]
else:
    AnyModelAdmin = admin.ModelAdmin
    AnyUserAdmin = UserAdmin
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
