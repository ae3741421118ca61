import os
import uuid
from pathlib import Path
from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError, CommandParser

from memory_app.management import project_arguments
from memory_app.portability.folder.folder_format import ALSO_READ, FOLDER
from memory_app.portability.folder.folder_import import import_memory
from memory_app.portability.folder.safe_files import open_folder
from sessions_app.core.errors import AppError
from sessions_app.core.public_names import Caller
from sessions_app.projects.queries import find_project
from sessions_app.projects.services import create_project


class Command(BaseCommand):
    help = (
        "Reads a folder that memory_export (or Gasoline) wrote into a project's memory; unreadable files are skipped and "
        "listed. Replaced values stay as versions."
    )
    # Without the checks of URLs, which load the whole API: a start takes half the time.
    requires_system_checks = (Tags.compatibility,)

    def add_arguments(self, parser: CommandParser) -> None:
        project_arguments.add_arguments(parser)
        default = f"{FOLDER} in the project's own, else {ALSO_READ}"
        parser.add_argument("--from", type=Path, dest="folder", metavar="DIR", help=f"the folder (default: {default})")
        parser.add_argument("--create", action="store_true", help="make the project if there is none; without --from it is made")

    def handle(self, *args: Any, **options: Any) -> None:
        folder = options["folder"] or _folder_of(options["project"])
        try:
            caller = project_arguments.caller_of(options)
            with open_folder(folder):
                pass  # Else a project would be made for nothing.
            # A folder that was found below the project's path: the path is no slip.
            may_create = options["create"] or options["folder"] is None
            project_id = _project_of(caller, options["project"], may_create=may_create)
            done = import_memory(caller=caller, project_id=project_id, path=folder)
        except AppError as error:
            raise CommandError(error.message) from None
        except OSError as error:
            raise CommandError(f"Cannot read {folder}: {error.strerror or error}.") from None
        self.stdout.write(f"{done.entries} keys stored, {done.same} there already")
        self.stdout.write(f"{done.errors} errors and {done.timings} durations added")
        for kind, count in sorted(done.redacted.items()):
            self.stdout.write(f"taken out: {count} {kind}")
        for line in project_arguments.skipped_lines(done.skipped):
            self.stderr.write(line)


def _project_of(caller: Caller, path: str, *, may_create: bool) -> uuid.UUID:
    given, absolute = project_arguments.names_of(path)
    found = find_project(caller=caller, path=given) or find_project(caller=caller, path=absolute)
    if found is None and not may_create:
        raise CommandError(f"There is no project {path!r}. Correct the path, or give --create to make it.")
    project = found or create_project(caller=caller, path=absolute if os.path.isdir(absolute) else given)[0]
    return project.id


def _folder_of(path: str) -> Path:
    folder = project_arguments.project_folder(path, option="--from")
    names = [name for name in (FOLDER, ALSO_READ) if os.path.lexists(folder / name)]
    if not names:
        raise CommandError(f"There is no {FOLDER} and no {ALSO_READ} in {folder}. Give the folder with --from.")
    return folder / names[0]
