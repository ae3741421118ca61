"""Events in the admin."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from sessions_app.core.web.read_only_admin import ReadOnlyAdmin
from sessions_app.models import Event
from sessions_app.models.event import EventType


class EventTypeFilter(admin.SimpleListFilter):
    """Offers the built-in types: listing those that occur would read the whole log."""

    title, parameter_name = "type", "type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(type.value, type.value) for type in EventType]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> QuerySet[Event]:
        return queryset if self.value() is None else queryset.filter(type=self.value())


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ("project", "event_seq", "type", "session_id", "at")
    list_filter = (EventTypeFilter, "at")
    list_select_related = ("project",)
    search_fields = ("project__path", "session_id")
    ordering = ("-at",)
    deferred = ("frame",)
