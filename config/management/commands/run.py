from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from config.server import startup
from sessions_app.accounts import api_keys
from sessions_app.accounts.users import create_sign_in_link, create_user, make_superuser
from sessions_app.core.callers import caller_of_user
from sessions_app.models import ApiKey

OWNER = "owner"


class Command(BaseCommand):
    help = "Sets up and serves for one person: tables, an owner, a sign-in link, a first API key."

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.WORKERS > 1:
            raise CommandError("`run` is for one person and one process. Use `serve` for STILLHERE_WORKERS above 1.")
        with startup.prepared():
            self._greet(_owner())
            startup.serve()

    def _greet(self, owner: User) -> None:
        link = f"{settings.PUBLIC_URL}/welcome/{create_sign_in_link(user_id=owner.pk)}/"
        lines = [
            f"Stillhere serves at {settings.PUBLIC_URL}",
            f"  Your account:                  {owner.get_username()}",
            f"  Sign in (once, within a day):  {link}",
        ]
        if not ApiKey.objects.filter(user=owner).exists():
            made = api_keys.create_key(caller=caller_of_user(owner), name="first key")
            lines.append(f"  API key (shown this once):     {made.secret}")
        else:
            lines.append(f"  API keys:                      {settings.PUBLIC_URL}/keys/")
        lines.append("  Ctrl-C ends it. What was saved stays.")
        self.stdout.write("\n".join(lines))
        self.stdout.flush()


def _owner() -> User:
    users = get_user_model().objects
    if (found := users.filter(is_superuser=True, is_active=True).order_by("pk").first()) is not None:
        return found
    # Made without these rights: for a move from another database, or by `serve`.
    named = users.filter(username=OWNER).first()
    if named is None:
        return create_user(username=OWNER, superuser=True)
    if not named.is_active:
        raise CommandError(
            f"The account {OWNER!r} is disabled. Make another with `manage.py create_user NAME --superuser`, then start again."
        )
    make_superuser(user_id=named.pk)
    return named
