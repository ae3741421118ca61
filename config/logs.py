"""The log: one line per request and one per logged event, as JSON or plain text. It never contains users' texts.

A request is logged by its route, not its address (which can contain a link's secret), and an error by its type and location:
an exception's message may quote a text.
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

# Id of this thread's request; empty outside of requests.
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
    """Writes directly to standard error: every save has a line, and a logging record costs three times as much."""
    line = json_line if settings.LOG_FORMAT == "json" else plain_line
    # A log that cannot be written (a full disk) must not fail the request.
    with suppress(OSError, ValueError):
        sys.stderr.write(line(name, level, time.time(), "request", fields) + "\n")


def message_of(record: logging.LogRecord) -> str:
    """Removes the address that Django logs for a failed request (`Internal Server Error: /…`)."""
    said = record.getMessage()
    return said.partition(": ")[0] if record.name in NAME_ADDRESSES else said


class WithTraceback(logging.Filter):
    """For `django.request`: that an answer was a 503 is in the request's own line; a traceback is nowhere else."""

    def filter(self, record: logging.LogRecord) -> bool:
        return bool(record.exc_info)


class WithoutBadText(logging.Filter):
    """For `uvicorn.error`: a text frame that is no UTF-8 closes its socket with 1007. That is its client's fault, not the
    operator's, and a traceback of it, once a frame, would hide what is."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], UnicodeDecodeError))


def error_of(record: logging.LogRecord) -> list[str]:
    """The traceback and the error's type. Its message only if it cannot contain users' text."""
    if not record.exc_info or record.exc_info[0] is None:
        return []
    kind, raised, trace = record.exc_info
    frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)[-FRAMES:]]
    return [*frames, kind.__name__ if request_id.get() else f"{kind.__name__}: {raised}"]


def place_of(error: BaseException) -> str:
    """The error's type and where in this code it happened, for example `OperationalError at index_update.py:31 _index_some`."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = str(settings.BASE_DIR)
    own = [frame for frame in frames if frame.filename.startswith(ours) and "site-packages" not in frame.filename] or frames
    return type(error).__name__ + "".join(f" at {Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in own[-1:])


def _moment(created: float) -> str:
    return datetime.fromtimestamp(created, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
