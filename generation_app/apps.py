from django.apps import AppConfig


class GenerationConfig(AppConfig):
    name = "generation_app"
    verbose_name = "Streams and generations"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from generation_app.streams.queries import stream_bytes
        from generation_app.streams.retention import due_rows
        from sessions_app.core.extension import Extension, register

        register(Extension(name="generations", account_bytes=stream_bytes, due_rows=due_rows))
