from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandParser

from sessions_app.services import keys


class Command(BaseCommand):
    help = "Makes an account (or finds it) and prints a link that signs its owner in once, within a day."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--superuser", action="store_true", help="may also use /admin/")

    def handle(self, *args: Any, **options: Any) -> None:
        found = get_user_model().objects.filter(username=options["name"]).first()
        user = found or keys.create_user(username=options["name"], superuser=options["superuser"])
        token = keys.create_sign_in_link(user_id=user.pk)
        self.stdout.write(f"{settings.PUBLIC_URL}/welcome/{token}/")
