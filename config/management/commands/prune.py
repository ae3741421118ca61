from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand

from sessions_app.chats.lifecycle.pruning import counted, prune


class Command(BaseCommand):
    help = "Erases expired content; the server does the same by itself every hour."
    # Without the checks of URLs, which load the whole API: a start takes half the time.
    requires_system_checks = (Tags.compatibility,)

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(", ".join(counted(prune())) or "nothing was due")
