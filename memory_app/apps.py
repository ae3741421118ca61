from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory_app"
    verbose_name = "Project memory"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import memory_app.core.admin  # noqa: F401 - importing registers its pages
        from memory_app.entries.generated import GENERATED, Source
        from memory_app.errors.queries import error_history, errors_recorded_at
        from memory_app.extension import EXTENSION
        from memory_app.performance.queries import performance_of, performance_recorded_at
        from sessions_app.core.extension import register

        register(EXTENSION)
        GENERATED["errors", "history"] = Source(errors_recorded_at, error_history)
        GENERATED["performance", "endpoints"] = Source(performance_recorded_at, performance_of)
