"""Starting the server: the same for one person (`run`) and in production (`serve`)."""

import math
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from config.http.static_files import folders as static_folders
from config.server import tables, workers
from config.server.file_locks import locked, store_lock
from config.server.http_protocol import IdleTimeoutProtocol
from config.server.signals import ended_by_signals

APPLICATION = "config.http.asgi:application"
SOCKET_PROTOCOL = "config.server.socket_protocol:SocketProtocol"
GRACE_SECONDS = 10
# Longer than clients and proxies keep an idle connection (5 to 60 s are usual): the server must not close a
# connection on which a client is about to send, or a save meets a reset.
KEEP_ALIVE_SECONDS = 75
WEBSOCKET_FRAME_BYTES = 1_048_576
# A server that was told to end answers what it received; then the next one may have its store.
PATIENCE_SECONDS = GRACE_SECONDS + 5


@contextmanager
def prepared(*, migrate: bool = True) -> Iterator[None]:
    """Within the block the database and the static files are as this version needs them, and an embedded store is this
    process's alone. A signal that comes before ends it quietly."""
    if settings.WORKERS > 1 and (connection.vendor == "sqlite" or not settings.REDIS_URL):
        raise ImproperlyConfigured(
            "STILLHERE_WORKERS above 1 needs PostgreSQL (STILLHERE_DATABASE_URL) and Redis (STILLHERE_REDIS_URL): "
            "several processes cannot share one embedded database's writer, nor tell each other of events without Redis."
        )
    _check_port()
    with ExitStack() as held:
        with ended_by_signals():
            if connection.vendor == "sqlite":
                held.enter_context(_sole_server())
            with _one_at_a_time() as lock:
                if migrate:
                    tables.bring_up_to_date(lock)
                if settings.STATIC_MANIFEST:
                    held.enter_context(static_folders.provided(lock))
        yield


def serve() -> None:
    """Serve until SIGTERM, SIGINT or the end of the terminal; what was received by then is answered."""
    options: dict[str, Any] = {
        "host": settings.HOST,
        "port": settings.PORT,
        "workers": settings.WORKERS if settings.WORKERS > 1 else None,
        "loop": "uvloop",
        "http": IdleTimeoutProtocol,
        "ws": SOCKET_PROTOCOL,
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
        _end_with_terminal()
        uvicorn.run(APPLICATION, **options)


def _end_with_terminal() -> None:
    """SIGHUP, of a terminal that is closed, does as SIGTERM does; by itself it would kill the process amid its answers. Several
    workers are replaced by the process above them. `nohup` has it ignored."""
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))


@contextmanager
def _sole_server() -> Iterator[None]:
    """A second one would take what the first one works on for abandoned, such as answers that are being made, and the sockets of
    one would hear of changes in the other late."""
    database = str(settings.DATABASES["default"]["NAME"])
    used = f"Another server, or a restore, is using {database}."
    with ExitStack() as held:
        try:
            lock = locked(store_lock(database), patience_seconds=PATIENCE_SECONDS, notice=f"{used} Waiting for its end.")
            held.enter_context(lock)
        except BlockingIOError:
            raise ImproperlyConfigured(f"{used} Stop it first; several servers on one store need PostgreSQL.") from None
        yield


@contextmanager
def _one_at_a_time() -> Iterator[int]:
    """Servers that start together on one data folder would delete each other's static files while they are written."""
    notice = f"Another start is at work on {settings.DATA_DIR}. Waiting for its end."
    with locked(Path(settings.DATA_DIR) / "starting.lock", patience_seconds=math.inf, notice=notice) as lock:
        yield lock


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
