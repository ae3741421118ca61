from importlib import import_module

from django.apps import AppConfig


class SessionsConfig(AppConfig):
    name = "sessions_app"
    verbose_name = "Stillhere"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Registers the domains' pages of the admin."""
        for domain in ("accounts", "agents", "chats", "events", "frontends", "portability", "projects"):
            import_module(f"{self.name}.{domain}.admin")
        import_module(f"{self.name}.pages.store_admin")
