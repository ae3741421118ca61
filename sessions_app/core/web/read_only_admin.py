"""Base class of the admin pages: read-only."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import AdminPasswordChangeForm
from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.http import HttpRequest

if TYPE_CHECKING:
    AnyModelAdmin = admin.ModelAdmin[Any]
    AnyUserAdmin = UserAdmin[User]
    AnyPasswordForm = AdminPasswordChangeForm[User]
else:
    AnyModelAdmin = admin.ModelAdmin
    AnyUserAdmin = UserAdmin
    AnyPasswordForm = AdminPasswordChangeForm
BODIES = ("text", "parts", "metadata", "raw")


class ReadOnlyAdmin(AnyModelAdmin):
    """`deferred`: columns that no list reads, because they may be large.

    A list filters by what has few values, which are known without a look at all rows: no users, and nothing that a client names.
    """

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
        return rows.defer(*self._large_columns()) if match and str(match.url_name).endswith("_changelist") else rows

    def _large_columns(self) -> Iterator[str]:
        """Those of the list's rows, and of the rows that are read with them."""
        yield from self.deferred
        for name in self.list_select_related if isinstance(self.list_select_related, tuple) else ():
            beside = self.admin_site._registry.get(self.model._meta.get_field(name).related_model)
            yield from (f"{name}__{column}" for column in getattr(beside, "deferred", ()))
