"""Import jobs in the admin."""

from django.contrib import admin

from sessions_app.core.web.read_only_admin import ReadOnlyAdmin
from sessions_app.models import ImportJob


@admin.register(ImportJob)
class ImportJobAdmin(ReadOnlyAdmin):
    list_display = ("id", "user", "state", "dry_run", "size_bytes", "created_at", "finished_at")
    list_filter = ("state", "created_at")
    list_select_related = ("user",)
    search_fields = ("user__username", "sha256")
