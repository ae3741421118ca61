from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory_app"
    verbose_name = "Project memory"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from memory_app.services.pruning import due_rows
        from memory_app.views.runs import settings_part
        from sessions_app.services.pruning import register
        from sessions_app.views.frame import SETTINGS_PARTS

        SETTINGS_PARTS.append(settings_part)
        register(due_rows)
