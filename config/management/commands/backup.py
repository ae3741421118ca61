from pathlib import Path
from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.backups import BackupError
from config.backups.save_and_restore import save
from config.server.signals import ended_by_signals


class Command(BaseCommand):
    help = "Writes the whole store into one file, as of this moment, while the server runs. Prints the file's name."
    # Without the checks of URLs, which load the whole API: a start takes half the time.
    requires_system_checks = (Tags.compatibility,)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--to", type=Path, help="the file (default: by the time, in the data folder's `backups`)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["to"] is not None and options["to"].exists():
                raise CommandError(f"{options['to']} exists. Name another file, or take it away first.")
            with ended_by_signals():
                made = save(options["to"])
        except BackupError as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"Cannot write {options['to'] or 'a backup'}: {error.strerror}.") from None
        self.stdout.write(str(made))
