from importlib import import_module

from django.apps import AppConfig


class SessionsConfig(AppConfig):
    name = "sessions_app"
    verbose_name = "Stillhere"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Registers the domains' pages of the admin, and what search finds in domains above it."""
        from sessions_app.agents.handoff.handoff_search import HANDOFF_WORDS, search_handoffs
        from sessions_app.core.extension import Extension, register

        register(Extension(name="handoff", search_sources={"handoff": search_handoffs}, word_indexes=[HANDOFF_WORDS]))
        for domain in ("accounts", "agents", "chats", "events", "frontends", "portability", "projects"):
            import_module(f"{self.name}.{domain}.admin")
        import_module(f"{self.name}.pages.store_admin")
