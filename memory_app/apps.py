from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory_app"
    verbose_name = "Project memory"
    default_auto_field = "django.db.models.BigAutoField"
