import os
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.auth import caller_named
from sessions_app.errors import AppError
from sessions_app.models import Caller
from sessions_app.queries.exports import export_account, export_session
from sessions_app.queries.markdown import export_markdown


class Command(BaseCommand):
    help = "Writes all that is a user's, or one session, as a file that `import` reads back; a session also as Markdown."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", required=True)
        parser.add_argument("--session", type=uuid.UUID, metavar="ID", help="this session alone")
        parser.add_argument("--markdown", action="store_true", help="the session as Markdown, for reading")
        parser.add_argument("--to", type=Path, metavar="FILE", help="where to (default: standard output)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            write = _writer(caller_named(options["user"]), options["session"], markdown=options["markdown"])
            if options["to"] is None:
                write(sys.stdout.buffer)
            else:
                _write_file(options["to"], write)
        except AppError as error:
            raise CommandError(error.message) from None
        except OSError as error:
            raise CommandError(f"Cannot write: {error.strerror}.") from None


def _writer(caller: Caller, session: uuid.UUID | None, *, markdown: bool) -> Callable[[BinaryIO], None]:
    if session is None:
        if markdown:
            raise CommandError("Markdown is for one session: name it by --session.")
        return lambda to: export_account(caller=caller, to=to)
    if markdown:
        return lambda to: export_markdown(caller=caller, session_id=session, to=to)
    return lambda to: export_session(caller=caller, session_id=session, to=to)


def _write_file(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Under its name only when it is whole; for its owner's eyes only."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            write(file)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
