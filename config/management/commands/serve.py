from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import connection

from config.server import startup


class Command(BaseCommand):
    help = "Serves API, pages and sockets in production, with the settings of the environment. SIGTERM ends it gracefully."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-migrate", action="store_true", help="leave the database's tables as they are")

    def handle(self, *args: Any, **options: Any) -> None:
        made = "static files" if options["no_migrate"] else f"{connection.vendor} tables and static files"
        self._say(f"Stillhere brings {made} up to date; the first time takes a while.")
        with startup.prepared(migrate=not options["no_migrate"]):
            if settings.SECURE and not settings.TRUSTED_PROXIES:
                self._say("Behind a TLS proxy set STILLHERE_TRUSTED_PROXIES=1, else every page redirects to itself.")
            self._say(f"Stillhere serves at {settings.PUBLIC_URL}, listening on {settings.HOST}:{settings.PORT}.")
            startup.serve()

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
