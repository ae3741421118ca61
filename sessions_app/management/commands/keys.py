import uuid
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.auth import caller_named
from sessions_app.errors import AppError
from sessions_app.models import ApiKey
from sessions_app.models.sql import rfc3339
from sessions_app.queries.keys import list_keys
from sessions_app.services import keys


class Command(BaseCommand):
    help = "Lists the API keys of an account that are in force, the newest first, or revokes some of them at once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", required=True)
        parser.add_argument("--revoke", metavar="ID", nargs="+", type=uuid.UUID, help="as the list names them")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            caller = caller_named(options["user"])
            for key_id in options["revoke"] or []:
                keys.revoke_key(caller=caller, key_id=key_id)
        except AppError as error:
            raise CommandError(error.message) from None
        for key in list_keys(caller=caller):
            self.stdout.write(_line(key).rstrip())


def _line(key: ApiKey) -> str:
    used = "never used" if key.last_used_at is None else f"used {rfc3339(key.last_used_at)}"
    project = "every project" if key.project is None else key.project.path
    return "  ".join([str(key.id), f"{key.prefix}…", key.scopes, project, f"made {rfc3339(key.created_at)}", used, key.name])
