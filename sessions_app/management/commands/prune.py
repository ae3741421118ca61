from typing import Any

from django.core.management.base import BaseCommand

from sessions_app.chats.lifecycle.pruning import counted, prune


class Command(BaseCommand):
    help = "Erases expired content; the server does the same by itself every hour."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(", ".join(counted(prune())) or "nothing was due")
