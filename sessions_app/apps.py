from django.apps import AppConfig


class SessionsConfig(AppConfig):
    name = "sessions_app"
    verbose_name = "Stillhere"
    default_auto_field = "django.db.models.BigAutoField"
