from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.backups import BackupError
from config.backups.store import restore


class Command(BaseCommand):
    help = "Puts a backup in the store's place, with the server stopped. What stands there is kept under another name."
    # The store may be what is broken.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="what `backup` wrote")
        parser.add_argument("--discard", action="store_true", help="do not keep what stands there")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            restored = restore(options["file"], discard=options["discard"])
        except BackupError as error:
            raise CommandError(f"{error} Nothing was changed.") from None
        self.stdout.write(f"Restored, as incarnation {restored.incarnation}. Start the server again; everybody signs in anew.")
        if restored.former:
            self.stdout.write(f"What stood there is kept as {restored.former}.")
