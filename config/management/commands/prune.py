from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError

from sessions_app.chats.lifecycle.pruning import counted, prune
from sessions_app.core.errors import AppError


class Command(BaseCommand):
    help = "Erases expired content; the server does the same by itself ten minutes after its start, then every hour."
    # Without the checks of URLs, which load the whole API: a start takes half the time.
    requires_system_checks = (Tags.compatibility,)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            pruned = prune()
        except AppError as error:  # A bucket that is away.
            raise CommandError(f"{error.message} What was erased by then stays so; the next time goes on.") from None
        self.stdout.write(", ".join(counted(pruned)) or "nothing was due")
