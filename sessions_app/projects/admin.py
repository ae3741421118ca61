"""Projects in the admin."""

from django.contrib import admin

from sessions_app.core.web.read_only_admin import ReadOnlyAdmin
from sessions_app.models import Project


@admin.register(Project)
class ProjectAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "path", "owner", "current_session", "session_count", "updated_at", "deleted_at")
    list_filter = (("deleted_at", admin.EmptyFieldListFilter), "updated_at")
    list_select_related = ("owner", "current_session")
    search_fields = ("path", "name", "owner__username")
    date_hierarchy = "updated_at"
