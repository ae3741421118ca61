from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.accounts.users import create_sign_in_link, create_user, make_superuser
from sessions_app.core.errors import AppError


class Command(BaseCommand):
    help = "Makes an account (or finds it) and prints a link that signs its owner in once, within a day."
    # Without the checks of URLs, which load the whole API: a start takes half the time.
    requires_system_checks = (Tags.compatibility,)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--superuser", action="store_true", help="may also use /admin/")

    def handle(self, *args: Any, **options: Any) -> None:
        name = get_user_model().normalize_username(options["name"])
        found = get_user_model().objects.filter(username=name).first()
        try:
            user = found or create_user(username=name, superuser=options["superuser"])
        except AppError as error:
            raise CommandError(error.message) from None
        if options["superuser"] and not user.is_superuser:
            make_superuser(user_id=user.pk)
            # Not on standard output, which has only the link.
            self.stderr.write(f"{user} was there already, and may use /admin/ from now on.")
        token = create_sign_in_link(user_id=user.pk)
        self.stdout.write(f"{settings.PUBLIC_URL}/welcome/{token}/")
