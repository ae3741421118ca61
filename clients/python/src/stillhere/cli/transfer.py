"""`import`."""

import json
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from typing import Any, BinaryIO

from stillhere.client import Client
from stillhere.connection import Operation, Request

PIECE = 262_144
NOTHING = "Nothing was imported"
PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 2.0


def import_file(given: Namespace) -> int:
    """Waits until it is done. The exit code is 1 if the file is damaged."""
    query = {"dry_run": "1"} if given.dry_run else {}
    with Client(given.url, None, given.project) as client:
        if given.file == "-":
            job = client.connection.upload("/imports", _pieces(sys.stdin.buffer), query)
        else:
            with open(given.file, "rb") as file:
                job = client.connection.upload("/imports", _pieces(file), query)
        pause = PAUSE_SECONDS
        while job["finished_at"] is None:
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
            job = client.connection.run(_job(job["id"]))
    print(json.dumps(job) if given.json else _told(job))
    return 1 if job["error"] else 0


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """Not the file itself: httpx would take the size that the system gives for a length, and that of a pipe is 0."""
    return iter(lambda: file.read(PIECE), b"")


def _job(job: str) -> Operation[dict[str, Any]]:
    found: dict[str, Any] = yield Request("GET", f"/imports/{job}", in_project=False)
    return found


def _told(job: dict[str, Any]) -> str:
    if job["error"]:
        message: str = job["error"]["message"]
        return message if NOTHING in message else f"{NOTHING}. {message}"
    counts = ", ".join(f"{count} {name}" for name, count in sorted(job["added"].items()) if count) or "nothing"
    return f"{'Would add' if job['dry_run'] else 'Added'}: {counts}. Left out: {len(job['left_out'])}."
