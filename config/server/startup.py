"""Starting the server: the same for one person (`run`) and in production (`serve`)."""

import fcntl
import hashlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import uvicorn
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import OperationalError, connection

from config.server import workers
from config.server.http_protocol import IdleTimeoutProtocol

APPLICATION = "config.http.asgi:application"
GRACE_SECONDS = 10
# Longer than clients and proxies keep an idle connection (5 to 60 s are usual): the server must not close a
# connection on which a client is about to send, or a save meets a reset.
KEEP_ALIVE_SECONDS = 75
WEBSOCKET_FRAME_BYTES = 1_048_576
# Packages whose static files are served.
WITH_STATIC_FILES = ("django", "django-ninja", "django-htmx", "whitenoise")
# Of what they bring, megabytes that no page asks for.
STATIC_FILES_LEFT_OUT = ("*.map", "redoc*", "htm?x-4*")


def prepare(*, migrate: bool = True) -> None:
    """The database as this version needs it, and the static files under their hashed names."""
    if settings.WORKERS > 1 and (connection.vendor == "sqlite" or not settings.REDIS_URL):
        raise ImproperlyConfigured(
            "STILLHERE_WORKERS above 1 needs PostgreSQL (STILLHERE_DATABASE_URL) and Redis (STILLHERE_REDIS_URL): "
            "several processes cannot share one embedded database's writer, nor tell each other of events without Redis."
        )
    _check_port()
    with _one_at_a_time():
        if migrate:
            _migrate()
        if settings.STATIC_MANIFEST:
            _collect_static()


def serve() -> None:
    """Serve until SIGTERM or SIGINT; what was received by then is answered."""
    options: dict[str, Any] = {
        "host": settings.HOST,
        "port": settings.PORT,
        "workers": settings.WORKERS if settings.WORKERS > 1 else None,
        "loop": "uvloop",
        "http": IdleTimeoutProtocol,
        "ws": "websockets-sansio",
        "ws_max_size": WEBSOCKET_FRAME_BYTES,
        "ws_per_message_deflate": False,
        "lifespan": "on",
        "access_log": False,
        "log_config": None,
        "server_header": False,
        "proxy_headers": False,
        "timeout_keep_alive": KEEP_ALIVE_SECONDS,
        "timeout_graceful_shutdown": GRACE_SECONDS,
    }
    if settings.WORKERS > 1 and workers.SPREADS:
        workers.serve_by_workers(uvicorn.Config(APPLICATION, **options))
    else:
        uvicorn.run(APPLICATION, **options)


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Servers that start together on one data folder would delete each other's static files while they are written."""
    with (Path(settings.DATA_DIR) / "starting.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _migrate() -> None:
    try:
        call_command("migrate", interactive=False, verbosity=0)
    except OperationalError as error:
        raise ImproperlyConfigured(f"The database cannot be used: {str(error).strip().splitlines()[0]}") from None
    connection.close()


def _check_port() -> None:
    """Before anything is set up or told: a sign-in link of a server that cannot serve is of no use."""
    with socket.socket(workers.family_of(settings.HOST)) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((settings.HOST, settings.PORT))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ImproperlyConfigured(
                f"{settings.HOST}:{settings.PORT} cannot be listened on ({reason}). Set STILLHERE_PORT or STILLHERE_HOST."
            ) from None


def _collect_static() -> None:
    """Only when something changed since the last time: compressing takes seconds."""
    stamp = Path(settings.STATIC_ROOT) / ".collected"
    present = _static_fingerprint()
    if stamp.exists() and stamp.read_text() == present:
        return
    ignored = [argument for pattern in STATIC_FILES_LEFT_OUT for argument in ("--ignore", pattern)]
    command = [sys.executable, "manage.py", "collectstatic", "--no-input", "--clear", "--verbosity", "0", *ignored]
    # In a process of its own: compressing takes 200 MB, which this one would keep as long as it serves.
    done = subprocess.run(command, cwd=settings.BASE_DIR, stderr=subprocess.PIPE, text=True, check=False)  # noqa: S603 - every word of it is ours
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise ImproperlyConfigured(f"The static files cannot be written to {settings.STATIC_ROOT}: {reason}")
    stamp.write_text(present)


def _static_fingerprint() -> str:
    files = sorted(path for folder in settings.STATICFILES_DIRS for path in Path(folder).rglob("*") if path.is_file())
    seen = [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files]
    seen += [f"{package} {version(package)}" for package in WITH_STATIC_FILES]
    return hashlib.sha256("\n".join(seen).encode()).hexdigest()
