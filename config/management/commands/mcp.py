import asyncio
import os
from pathlib import Path
from typing import Any

import httpx
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.checks import Tags
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.server.background import AGENT_TASKS, BackgroundTasks
from mcp_app.core.calls import Call
from mcp_app.stdio.project_run import HEARTBEATS_A_LEASE, ProjectRun
from mcp_app.stdio.reader_notice import reader_notice
from mcp_app.stdio.remote_run import SECONDS, RemoteRun
from memory_app.models.run import AGENT_LENGTH
from sessions_app.accounts.authentication import caller_named
from sessions_app.accounts.users import create_user
from sessions_app.core.callers import caller_of_user
from sessions_app.core.errors import AppError
from sessions_app.core.web.product_version import version
from sessions_app.models import Caller

OWNER = "owner"
# Of a remote server. Not an argument: other users of the machine see those of a process.
KEY_VARIABLE = "STILLHERE_KEY"


class Command(BaseCommand):
    help = (
        "Serves one agent by the Model Context Protocol at standard input and output, on the store of this installation or of a "
        "remote server."
    )
    # Without the checks of URLs, which load the whole API.
    requires_system_checks = (Tags.compatibility,)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", default=".", metavar="PATH", help="the project (default: this folder)")
        parser.add_argument("--user", help="whose data, if this store has several users")
        parser.add_argument("--agent", default="", help="the agent's name, which pages and other runs show")
        parser.add_argument("--url", help=f"a remote server instead of this store; its API key is read from {KEY_VARIABLE}")

    def handle(self, *, project: str, user: str | None, agent: str, url: str | None, **options: Any) -> None:
        """Standard output is the protocol's alone: everything that is said goes to standard error."""
        path = str(Path(project).expanduser().resolve())
        if url is None:
            self._serve_here(path, user, agent[:AGENT_LENGTH])
        elif user:
            raise CommandError("--user is for this store. A remote server knows whose key it is.")
        else:
            self._serve_remote(path, url, agent[:AGENT_LENGTH])

    def _serve_here(self, path: str, user: str | None, agent: str) -> None:
        from mcp_app.stdio.serving import serve

        call_command("migrate", interactive=False, verbosity=0)
        try:
            caller = caller_named(user) if user else _only_user()
            with ProjectRun(caller, path, agent) as run:
                notice = reader_notice(run.writer)
                self._say(f"Stillhere serves {path} at standard input and output. {reader_notice(run.writer, named=True)}")
                background = BackgroundTasks(AGENT_TASKS)
                background.start()
                try:
                    serve(Call(caller, path, run.id), version(), notice=notice)
                finally:
                    background.stop()  # Writes what is held, for which the run has to be the writer still.
        except AppError as error:
            raise CommandError(error.message) from None

    def _serve_remote(self, path: str, url: str, agent: str) -> None:
        from mcp_app.stdio.bridge import TIMEOUTS, serve

        key, address = os.environ.get(KEY_VARIABLE, ""), url.rstrip("/")
        if not key:
            raise CommandError(f"Which key? Set {KEY_VARIABLE} to an API key of yours at {address}.")
        if not address.startswith(("http://", "https://")):
            raise CommandError(f"--url must start with http:// or https://, not {url!r}.")
        headers = {"authorization": f"Bearer {key}", "user-agent": f"stillhere/{version()}"}
        beat_seconds = settings.LEASE_SECONDS / HEARTBEATS_A_LEASE
        try:
            with (
                httpx.Client(base_url=address, headers=headers, timeout=SECONDS) as http,
                RemoteRun(http, path, agent, beat_seconds=beat_seconds, say=self._say) as run,
            ):
                notice = reader_notice(run.writer, named=True)
                self._say(f"Stillhere at {address} serves {path} at standard input and output. {notice}")
                asyncio.run(serve(httpx.AsyncClient(base_url=address, headers=headers, timeout=TIMEOUTS), run, path, version()))
        except (AppError, httpx.InvalidURL) as error:
            raise CommandError(str(error)) from None

    def _say(self, text: str) -> None:
        self.stderr.write(text.rstrip(), self.style.NOTICE)
        self.stderr.flush()


def _only_user() -> Caller:
    users = list(get_user_model().objects.filter(is_active=True)[:2])
    if len(users) > 1:
        raise CommandError("Which user? This store has several: give one with --user.")
    return caller_of_user(users[0] if users else create_user(username=OWNER, superuser=True))
