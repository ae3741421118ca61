from typing import Any

from django.contrib.auth import get_user_model
from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.accounts import api_keys
from sessions_app.core.callers import caller_of_user
from sessions_app.core.errors import AppError


class Command(BaseCommand):
    help = "Makes an API key and prints it alone on standard output. It is shown only once."
    # Without the checks of URLs, which load the whole API: a start takes half the time.
    requires_system_checks = (Tags.compatibility,)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", required=True)
        parser.add_argument("--name", default="", help="what the key is for")
        parser.add_argument("--scopes", default="read,write", help="read, write or both, with a comma")
        parser.add_argument("--project", help="the path of the only project it may reach; created if it does not exist")
        parser.add_argument("--days", type=int, help="days until it expires")

    def handle(self, *args: Any, **options: Any) -> None:
        user = get_user_model().objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(f"There is no user {options['user']!r}. Make one with `manage.py create_user`.")
        try:
            made = api_keys.create_key(
                caller=caller_of_user(user),
                name=options["name"],
                scopes=tuple(scope.strip() for scope in options["scopes"].split(",")),
                project_path=options["project"],
                days=options["days"],
            )
        except AppError as error:
            raise CommandError(error.message) from None
        if made.made_project:
            # Not on standard output, which has only the key.
            self.stderr.write(f"{user} had no project {options['project']!r} yet: it was made.")
        self.stdout.write(made.secret)
