import uuid
from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.accounts import api_keys
from sessions_app.accounts.authentication import caller_named
from sessions_app.accounts.queries import list_keys
from sessions_app.core.errors import AppError
from sessions_app.core.storage.sql import rfc3339
from sessions_app.models import ApiKey


class Command(BaseCommand):
    help = "Lists the valid API keys of an account, newest first, or revokes some of them."
    # Without the checks of URLs, which load the whole API: a start takes half the time.
    requires_system_checks = (Tags.compatibility,)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", required=True)
        parser.add_argument("--revoke", metavar="ID", nargs="+", type=uuid.UUID, help="as the list names them")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            caller = caller_named(options["user"])
            for key_id in options["revoke"] or []:
                api_keys.revoke_key(caller=caller, key_id=key_id)
        except AppError as error:
            raise CommandError(error.message) from None
        for key in list_keys(caller=caller):
            self.stdout.write(_line(key).rstrip())


def _line(key: ApiKey) -> str:
    used = "never used" if key.last_used_at is None else f"used {rfc3339(key.last_used_at)}"
    project = "every project" if key.project is None else key.project.path
    return "  ".join([str(key.id), f"{key.prefix}…", key.scopes, project, f"made {rfc3339(key.created_at)}", used, key.name])
