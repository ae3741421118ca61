from django.apps import AppConfig


class GenerationConfig(AppConfig):
    name = "generation_app"
    verbose_name = "Streams and generations"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from generation_app.generations import retention as generations
        from generation_app.streams import retention as streams
        from generation_app.streams.queries import stream_bytes
        from sessions_app.chats.lifecycle.pruning import Due
        from sessions_app.core.extension import Extension, register

        def due_rows() -> dict[str, Due]:
            return streams.due_rows() | generations.due_rows()

        register(Extension(name="generations", account_bytes=stream_bytes, due_rows=due_rows))
