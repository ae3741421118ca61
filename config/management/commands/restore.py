from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.backups import BackupError
from config.backups.save_and_restore import restore
from config.backups.stored_files import folder_of, folder_of_former
from config.server.signals import ended_by_signals


class Command(BaseCommand):
    help = "Restores a backup, with the server stopped. The present store is kept under another name."
    # The store itself may be damaged.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="what `backup` wrote")
        parser.add_argument("--discard", action="store_true", help="do not keep the present store")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with ended_by_signals():
                restored = restore(options["file"], discard=options["discard"])
        except BackupError as error:
            raise CommandError(f"{error} Nothing was changed.") from None
        self.stdout.write(f"Restored, as incarnation {restored.incarnation}. Start the server; everybody must sign in again.")
        if restored.missing:
            self.stderr.write(
                f"{restored.missing} files of chats are missing or incomplete: they belong into {folder_of(options['file'])}. "
                "Put that folder there and restore again."
            )
        if restored.former:
            files = folder_of_former(restored.former)
            beside = f", its files as {files}" if files.is_dir() else ""
            self.stdout.write(f"The previous store is kept as {restored.former}{beside}.")
