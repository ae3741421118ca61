"""Plays a recorded chat through the public API, as a streaming frontend would, and checks that all of it is stored."""

import argparse
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError
from tqdm import tqdm

from sessions_app.accounts import api_keys
from sessions_app.models import Caller
from sessions_app.portability.replay.conversation import Conversation
from sessions_app.portability.replay.format_detection import KNOWN, UnknownTranscript, read_transcript
from sessions_app.portability.replay.http_client import NO_ADDRESS, Api, ReplayError
from sessions_app.portability.replay.player import Manner, Played, Player, count_saves

KEY_VARIABLE = "STILLHERE_KEY"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
TITLE_SHOWN = 32
PROBLEMS_SHOWN = 20


class Command(BaseCommand):
    help = (
        f"Plays a recorded chat ({KNOWN}) into a server, each conversation "
        "into a session of its own, and compares what comes back with what was sent. Exits 1 on any difference."
    )

    # It talks to a server, maybe a remote one, only over HTTP: this installation need not be working.
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="the recorded chat")
        parser.add_argument("--url", default=settings.PUBLIC_URL, help="the server (default: %(default)s)")
        parser.add_argument(
            "--key", help=f"an API key (default: {KEY_VARIABLE}; else one made for the only user, revoked at the end)"
        )
        parser.add_argument("--user", help="the user to replay as, if this store has several users and no key is given")
        parser.add_argument("--project", help="the project's path (default: replay/ and the file's name)")
        parser.add_argument("--cut", action="store_true", help="drop the connection in the middle of each answer, and resume")
        parser.add_argument(
            "--steps", type=_at_least_one, default=8, help="number of steps in which an answer grows (default: %(default)s)"
        )
        parser.add_argument("--pause", type=float, default=0.0, metavar="SECONDS", help="after each step (default: none)")

    def handle(self, *, file: Path, url: str, key: str | None, project: str | None, **options: Any) -> None:
        conversations = _read(file)
        manner = Manner(options["steps"], max(0.0, options["pause"]), options["cut"])
        quiet = options["verbosity"] == 0
        with (
            _usable_key(key, url, options["user"]) as secret,
            _opened(url, secret) as api,
            _progress(file.name, conversations, manner, quiet=quiet) as bar,
        ):
            player = Player(api, project or f"replay/{file.name}", manner, bar.update)
            results = [player.play(conversation) for conversation in conversations]
        self._report(conversations, results)

    def _report(self, conversations: list[Conversation], results: list[Played]) -> None:
        self.stdout.write(f"{'conversation':<{TITLE_SHOWN}}  {'turns':>5}  {'skipped':>7}  {'saves':>5}  {'cuts':>4}  result")
        for conversation, played in zip(conversations, results, strict=True):
            figures = f"{played.turns:>5}  {played.skipped:>7}  {played.saves:>5}  {played.cuts:>4}"
            self.stdout.write(f"{_short(played.title):<{TITLE_SHOWN}}  {figures}  {_result(played)}")
            for name, counts in (("skipped", conversation.skipped), ("notes", conversation.notes)):
                if counts:
                    self.stdout.write(f"  {name}: {', '.join(f'{reason} {number}' for reason, number in sorted(counts.items()))}")
            for problem in played.problems[:PROBLEMS_SHOWN]:
                self.stdout.write(f"  {problem}")
        failed = sum(1 for played in results if played.problems)
        if failed:
            raise CommandError(f"{failed} of {len(results)} conversations did not come back as they were sent.")


def _read(file: Path) -> list[Conversation]:
    try:
        conversations = read_transcript(file.read_bytes(), name=file.name)
    except OSError as error:
        raise CommandError(f"Cannot read {file}: {error.strerror}.") from None
    except UnknownTranscript as error:
        raise CommandError(f"{file}: {error}") from None
    if not any(conversation.turns for conversation in conversations):
        # "No differences" would suggest that something was played.
        raise CommandError(f"{file}: nothing to play: it has no text of a user or an assistant.")
    return conversations


@contextmanager
def _opened(url: str, key: str) -> Iterator[Api]:
    """An unreachable server or a refused key is an error, not a difference between sent and stored messages."""
    try:
        with closing(Api(url=url, key=key)) as api:
            api.get("/app-state").expect(200)
            yield api
    except ReplayError as error:
        raise CommandError(f"Nothing was played. {error}") from None


def _progress(name: str, conversations: list[Conversation], manner: Manner, *, quiet: bool) -> "tqdm[Any]":
    total = sum(count_saves(conversation, manner) for conversation in conversations)
    return tqdm(total=total, desc=name, unit="save", disable=quiet)


@contextmanager
def _usable_key(given: str | None, url: str, user: str | None) -> Iterator[str]:
    """The given key, or a temporary one from the local store for the time of the replay."""
    if known := (given or os.environ.get(KEY_VARIABLE, "")).strip():
        yield known
        return
    # A key of this store does not work on another server and must not be sent there.
    if url.rstrip("/") != settings.PUBLIC_URL and not _is_here(url):
        raise CommandError(f"Give a key of that server with --key or {KEY_VARIABLE}.")
    caller = _whose(user)
    made = api_keys.create_key(caller=caller, name="replay", days=1)
    try:
        yield made.secret
    finally:
        api_keys.revoke_key(caller=caller, key_id=made.row.id)


def _is_here(url: str) -> bool:
    try:
        return urlsplit(url).hostname in LOOPBACK
    except ValueError:
        raise CommandError(f"Nothing was played. {NO_ADDRESS.format(url)}") from None


def _whose(name: str | None) -> Caller:
    """The user with this name; without a name, the only user."""
    named = {} if name is None else {"username": name}
    try:
        users = list(get_user_model().objects.filter(is_active=True, **named)[:2])
    except DatabaseError:
        raise CommandError(f"The local store cannot be read. Give a key with --key or {KEY_VARIABLE}.") from None
    if len(users) != 1:
        raise CommandError(f"Which user? Give one of this store with --user, or a key with --key or {KEY_VARIABLE}.")
    return Caller(user_id=users[0].pk, username=users[0].get_username())


def _at_least_one(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _short(title: str) -> str:
    printable = "".join(character if character.isprintable() else " " for character in title)
    return printable if len(printable) <= TITLE_SHOWN else f"{printable[: TITLE_SHOWN - 1]}…"


def _result(played: Played) -> str:
    if played.problems:
        return f"{len(played.problems)} differences"
    return "same" if played.turns else "nothing to play"
