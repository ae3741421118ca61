"""Extension of projects and accounts by a project's memory."""

from memory_app.core import pruning
from memory_app.core.usage import memory_bytes
from memory_app.errors.queries import count_open_errors
from memory_app.portability import account_export
from memory_app.runs.pages import settings_part
from sessions_app.core.extension import Extension

EXTENSION = Extension(
    name="memory",
    project_counts={"open_errors": count_open_errors},
    account_bytes=memory_bytes,
    export_kinds=account_export.KINDS,
    settle_import=account_export.settle,
    due_rows=pruning.due_rows,
    settings_part=settings_part,
)
