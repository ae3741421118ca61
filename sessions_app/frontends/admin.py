"""App states in the admin."""

from django.contrib import admin

from sessions_app.core.web.read_only_admin import ReadOnlyAdmin
from sessions_app.models import AppState


@admin.register(AppState)
class AppStateAdmin(ReadOnlyAdmin):
    list_display = ("user", "client", "selected_project", "active_phase", "updated_at")
    list_select_related = ("user",)
    search_fields = ("user__username", "client", "selected_project", "active_phase")
