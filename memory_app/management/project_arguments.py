"""Arguments of both commands: the project, its owner and the folder."""

import os
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError, CommandParser

from memory_app.portability.folder.folder_format import Skipped
from sessions_app.accounts.authentication import caller_named
from sessions_app.core.callers import caller_of_user
from sessions_app.core.public_names import Caller

SHOWN = 100


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--project", required=True, metavar="PATH", help="the project, by its path")
    parser.add_argument("--user", metavar="NAME", help="whose project it is (default: the only user's)")


def caller_of(options: dict[str, Any]) -> Caller:
    if options["user"]:
        return caller_named(options["user"])
    users = list(get_user_model().objects.filter(is_active=True)[:2])
    if len(users) != 1:
        raise CommandError("Whose project? There is not exactly one user here: give the owner with --user.")
    return caller_of_user(users[0])


def names_of(path: str) -> list[str]:
    """Candidate project paths: any text names a project; `.` means the current folder."""
    return [path, os.path.abspath(path)]


def project_folder(path: str, *, option: str) -> Path:
    """Of a project whose path is one on this machine. `option`: the command's, which names another one."""
    folder = Path(os.path.abspath(path))
    if not folder.is_dir():
        raise CommandError(f"{path!r} is not a folder on this machine. Name one with {option} DIR.")
    return folder


def skipped_lines(skipped: Skipped) -> list[str]:
    lines = [f"left out {name}: {why}" for name, why in skipped.items[:SHOWN]]
    more = len(skipped.items) - SHOWN
    return [*lines, f"left out {more} more"] if more > 0 else lines
