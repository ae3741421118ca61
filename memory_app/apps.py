from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from sessions_app.core.extension import Tab


class MemoryConfig(AppConfig):
    name = "memory_app"
    verbose_name = "Project memory"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Extend projects and accounts by a project's memory, and the memory by what is generated."""
        import memory_app.core.admin  # noqa: F401 - importing registers its pages
        from memory_app.checkpoints.threads.queries import bytes_of_threads
        from memory_app.core import pruning
        from memory_app.core.search_sources import search_entries, search_errors
        from memory_app.core.usage import memory_bytes
        from memory_app.core.word_indexes import ENTRY_WORDS, ERROR_WORDS
        from memory_app.errors.queries import count_fixed, count_open_errors, count_opened, error_history, errors_recorded_at
        from memory_app.key_value.entries.generated import GENERATED, Source
        from memory_app.performance.queries import performance_of, performance_recorded_at
        from memory_app.portability import account_export
        from memory_app.runs.pages import settings_part
        from sessions_app.core.extension import Extension, register

        register(
            Extension(
                name="memory",
                project_counts={"open_errors": count_open_errors, "thread_bytes": bytes_of_threads},
                overview_counts={"open_errors": count_open_errors, "errors_opened": count_opened, "errors_fixed": count_fixed},
                account_bytes=memory_bytes,
                export_kinds=account_export.KINDS,
                settle_import=account_export.settle,
                written_since=account_export.written_since,
                due_rows=pruning.due_rows,
                rows_of_projects=pruning.rows_of_projects,
                search_sources={"memory": search_entries, "errors": search_errors},
                word_indexes=[ENTRY_WORDS, ERROR_WORDS],
                settings_part=settings_part,
                urls="memory_app.urls",
                tabs=_tabs(),
            )
        )
        GENERATED["errors", "history"] = Source(errors_recorded_at, error_history)
        GENERATED["performance", "endpoints"] = Source(performance_recorded_at, performance_of)


def _tabs() -> "tuple[Tab, ...]":
    from memory_app.checkpoints.threads.queries import has_threads
    from sessions_app.core.extension import Tab

    threads = Tab("threads", "Threads", has_threads)
    return Tab("memory", "Memory"), threads, Tab("errors", "Errors"), Tab("performance", "Performance")
