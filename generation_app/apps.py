from django.apps import AppConfig


class GenerationConfig(AppConfig):
    name = "generation_app"
    verbose_name = "Streams and generations"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import generation_app.generations.admin
        import generation_app.streams.admin  # noqa: F401 - importing registers their pages
        from generation_app.generations import retention as generations
        from generation_app.streams import retention as streams
        from generation_app.streams.queries import sessions_streamed_since, stream_bytes
        from sessions_app.chats.lifecycle.pruning import Due
        from sessions_app.core.extension import Extension, register

        def due_rows() -> dict[str, Due]:
            return streams.due_rows() | generations.due_rows()

        register(
            Extension(
                name="generations",
                account_bytes=stream_bytes,
                sessions_written_since=sessions_streamed_since,
                due_rows=due_rows,
                routers=(
                    ("", "generation_app.streams.api.router"),
                    ("/sessions", "generation_app.generations.api.router"),
                    ("", "generation_app.generations.api.model_router"),
                ),
                examples={
                    "start_stream": {"message": "m42"},
                    "append_chunks": {"offset": 0, "chunks": ["The cache", " is stale."]},
                    "end_stream": {"interrupted": False},
                    "start_generation": {
                        "message": {"id": "m43", "text": "Why does the build fail?"},
                        "instructions": "Be brief.",
                    },
                },
                event_phrases={"GENERATION_STARTED": "Answer started", "GENERATION_ENDED": "Answer ended"},
            )
        )
