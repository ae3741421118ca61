from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory_app"
    verbose_name = "Project memory"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from memory_app.queries.errors import count_open_errors
        from memory_app.services import export_kinds, pruning
        from memory_app.views.runs import settings_part
        from sessions_app.queries.export_kinds import register
        from sessions_app.queries.overview import COUNTS
        from sessions_app.services.pruning import register as register_due
        from sessions_app.views.frame import SETTINGS_PARTS

        SETTINGS_PARTS.append(settings_part)
        COUNTS["open_errors"] = count_open_errors
        register(*export_kinds.KINDS, settle=export_kinds.settle)
        register_due(pruning.due_rows)
