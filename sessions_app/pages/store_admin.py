"""The operator's read-only view of every table. Rows are written only by services: a direct change would bypass their
rules and never reach a listener. The few actions here (such as revoking a key) call the services.
"""

from django.contrib import admin

from sessions_app.core.web.read_only_admin import ReadOnlyAdmin
from sessions_app.models import (
    Purge,
    Store,
)

admin.site.site_header = "Stillhere: every table"
admin.site.site_title = "Stillhere"


@admin.register(Purge)
class PurgeAdmin(ReadOnlyAdmin):
    list_display = ("project_id",)


@admin.register(Store)
class StoreAdmin(ReadOnlyAdmin):
    list_display = ("incarnation",)
