"""What the log holds: a line a request and a line a happening, as JSON or for people to read. Never what users wrote.

A request is told by its route, not its address (which can hold a link's secret), and an error by its kind and where it happened:
what an exception says may quote a message.
"""

import logging
import sys
import time
import traceback
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from django.conf import settings

# Of the request that this thread works for; empty outside of requests.
request_id: ContextVar[str] = ContextVar("request_id", default="")
FRAMES = 12
NAME_ADDRESSES = {"django.request", "django.security.csrf"}


class PlainLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        error, known = error_of(record), {"request_id": request_id.get()} if request_id.get() else {}
        return "\n    ".join([plain_line(record.name, record.levelno, record.created, message_of(record), known), *error])


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        known: dict[str, Any] = {"request_id": request_id.get()} if request_id.get() else {}
        if error := error_of(record):
            known["error"] = error
        return json_line(record.name, record.levelno, record.created, message_of(record), known)


def plain_line(name: str, level: int, created: float, message: str, fields: dict[str, Any]) -> str:
    said = [f"{field}={value}" for field, value in fields.items()]
    return " ".join([_moment(created), logging.getLevelName(level), name, message, *said])


def json_line(name: str, level: int, created: float, message: str, fields: dict[str, Any]) -> str:
    head = {"time": _moment(created), "level": logging.getLevelName(level).lower(), "logger": name, "message": message}
    return orjson.dumps(head | fields, default=str).decode()


def write_request(name: str, level: int, fields: dict[str, Any]) -> None:
    """Straight to standard error: every save pays for its line, and a logging record costs three times as much."""
    line = json_line if settings.LOG_FORMAT == "json" else plain_line
    # A log that cannot be written (a full disk) is no reason to fail what was done.
    with suppress(OSError, ValueError):
        sys.stderr.write(line(name, level, time.time(), "request", fields) + "\n")


def message_of(record: logging.LogRecord) -> str:
    """Django names the address of a request that failed (`Internal Server Error: /…`), with all that is in it."""
    said = record.getMessage()
    return said.partition(": ")[0] if record.name in NAME_ADDRESSES else said


def error_of(record: logging.LogRecord) -> list[str]:
    """The way to the error and its kind. What it says only where no user's words can be in it."""
    if not record.exc_info or record.exc_info[0] is None:
        return []
    kind, raised, trace = record.exc_info
    frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)[-FRAMES:]]
    return [*frames, kind.__name__ if request_id.get() else f"{kind.__name__}: {raised}"]


def place_of(error: BaseException) -> str:
    """Its kind, and where in our own code it happened, as `OperationalError at indexing.py:31 _index_some`."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = str(settings.BASE_DIR)
    own = [frame for frame in frames if frame.filename.startswith(ours) and "site-packages" not in frame.filename] or frames
    return type(error).__name__ + "".join(f" at {Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in own[-1:])


def _moment(created: float) -> str:
    return datetime.fromtimestamp(created, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
