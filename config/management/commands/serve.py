from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config import server


class Command(BaseCommand):
    help = "Serves API, pages and sockets in production, with the settings of the environment. SIGTERM ends it gracefully."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-migrate", action="store_true", help="leave the database's tables as they are")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            server.prepare(migrate=not options["no_migrate"])
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from None
        server.serve()
