from pathlib import Path
from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError, CommandParser

from memory_app.management import project_arguments
from memory_app.portability.folder.folder_export import export_memory
from memory_app.portability.folder.folder_format import FOLDER
from sessions_app.core.errors import AppError
from sessions_app.projects.queries import find_project


class Command(BaseCommand):
    help = "Exports a project's memory to a folder of JSON files, one per key, and keeps that folder out of git."
    # Without the checks of URLs, which load the whole API: a start takes half the time.
    requires_system_checks = (Tags.compatibility,)

    def add_arguments(self, parser: CommandParser) -> None:
        project_arguments.add_arguments(parser)
        parser.add_argument("--to", type=Path, metavar="DIR", help=f"the folder (default: {FOLDER} in the project's own)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            caller = project_arguments.caller_of(options)
            found = [find_project(caller=caller, path=path) for path in project_arguments.names_of(options["project"])]
            project = next((project for project in found if project is not None), None)
            if project is None:
                raise CommandError(f"There is no project {options['project']!r}.")
            to = options["to"] or project_arguments.project_folder(project.path, option="--to") / FOLDER
            done = export_memory(caller=caller, project_id=project.id, path=to)
        except AppError as error:
            raise CommandError(error.message) from None
        except OSError as error:
            raise CommandError(f"Cannot write {options['to'] or FOLDER}: {error.strerror or error}.") from None
        self.stdout.write(f"{done.written} keys written to {to}")
        if done.removed:
            self.stdout.write(f"{done.removed} files of deleted keys removed")
        if done.ignored_in is not None:
            self.stdout.write(f"added to {done.ignored_in}")
        for line in project_arguments.skipped_lines(done.skipped):
            self.stderr.write(line)
