import os
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.server.signals import ended_by_signals
from sessions_app.accounts.authentication import caller_named
from sessions_app.core.errors import AppError
from sessions_app.models import Caller
from sessions_app.portability.exports.export_file import export_account, export_session
from sessions_app.portability.exports.session_markdown import export_markdown


class Command(BaseCommand):
    help = "Exports a user's data, or one session, to a file that `import` reads; a session also as Markdown."
    # Without the checks of URLs, which load the whole API: a start takes half the time.
    requires_system_checks = (Tags.compatibility,)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", required=True)
        parser.add_argument("--session", type=uuid.UUID, metavar="ID", help="only this session")
        parser.add_argument("--markdown", action="store_true", help="the session as Markdown, for reading")
        parser.add_argument("--to", type=Path, metavar="FILE", help="where to (default: standard output)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            write = _writer(caller_named(options["user"]), options["session"], markdown=options["markdown"])
            if options["to"] is None:
                write(sys.stdout.buffer)
            else:
                with ended_by_signals():
                    _write_file(options["to"], write)
        except AppError as error:
            raise CommandError(error.message) from None
        except OSError as error:
            raise CommandError(f"Cannot write {options['to'] or 'to standard output'}: {error.strerror}.") from None


def _writer(caller: Caller, session: uuid.UUID | None, *, markdown: bool) -> Callable[[BinaryIO], None]:
    if session is None:
        if markdown:
            raise CommandError("Markdown needs one session: give it with --session.")
        return lambda to: export_account(caller=caller, to=to)
    if markdown:
        return lambda to: export_markdown(caller=caller, session_id=session, to=to)
    return lambda to: export_session(caller=caller, session_id=session, to=to)


def _write_file(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Renamed into place only when complete; readable only by its owner."""
    if path.exists() and not path.is_file():
        # Root would put a file in the place of a device such as /dev/null, for all programs of the machine.
        raise CommandError(f"{path} is no plain file. Name another, or leave out --to: the export goes to standard output.")
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            write(file)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
