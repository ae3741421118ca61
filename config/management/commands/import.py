from pathlib import Path
from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.server.signals import ended_by_signals
from sessions_app.accounts.authentication import caller_named
from sessions_app.core.errors import AppError
from sessions_app.core.storage.durable_files import FULL
from sessions_app.portability.imports.services import import_file

INTERRUPTED = (
    "Interrupted. Nothing of the file is visible before all of it is stored. Repeat the command within an hour, and it goes on "
    "where it was; or stop the import on the page /import/, which removes what was stored."
)


class Command(BaseCommand):
    help = "Adds the content of an export that a user does not have, all or nothing. Existing content is not changed."
    # Without the checks of URLs, which load the whole API: a start takes half the time.
    requires_system_checks = (Tags.compatibility,)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--user", required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with ended_by_signals(), options["file"].open("rb") as file:
                done = import_file(caller=caller_named(options["user"]), file=file, patient=True)
        except SystemExit:  # Of a signal.
            self.stderr.write(INTERRUPTED)
            raise
        except AppError as error:
            raise CommandError(error.message) from None
        except OSError as error:
            if error.errno in FULL:  # What is written, here or beside the store; reading takes no space.
                raise CommandError("The disk is full. Free space, then repeat the command: it goes on.") from None
            # A pipe's error has a text alone: it cannot be read twice.
            raise CommandError(f"Cannot read {options['file']}: {error.strerror or error}") from None
        if not done.added and not done.present:
            self.stdout.write("Nothing was added: this export has no content.")
        for name in sorted(done.added.keys() | done.present.keys()):
            self.stdout.write(f"{name}: {done.added.get(name, 0)} added, {done.present.get(name, 0)} there before")
