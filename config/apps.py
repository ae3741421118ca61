from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """For the commands (run, serve, backup, restore) and the checks of the settings."""

    name = "config"

    def ready(self) -> None:
        from config import checks  # noqa: F401 - importing registers them
