#!/usr/bin/env python3
"""Django's command line, with this project's settings."""

import errno
import os
import signal
import sys
from importlib.util import find_spec

from config.server import garbage_collection

# Here, for a worker process runs this file too, and not `main`.
garbage_collection.pause(sys.argv)


def main() -> None:
    _expect_django()
    _open_streams()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:2] == ["serve"]:
        # Production serves static files under hashed names; settings are read before the command runs.
        os.environ.setdefault("STILLHERE_STATIC_MANIFEST", "1")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError

    try:
        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except OSError as error:
        sys.exit(_unwritten(error))
    except UnicodeEncodeError:
        # What is no UTF-8 becomes surrogates in an argument, which no database and no terminal takes.
        if (wrong := next((argument for argument in sys.argv if not _is_utf8(argument)), None)) is None:
            raise
        sys.exit(f"An argument is not UTF-8: {wrong!a}.")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except ImproperlyConfigured as error:
        sys.exit(f"Stillhere cannot start: {error}")
    except DatabaseError as error:
        from sessions_app.core.storage.database_errors import as_app_error, is_damage

        known = as_app_error(error)
        if known is None and is_damage(error):
            sys.exit(f"The database is damaged ({error}). Stop the server and restore a backup: `manage.py restore FILE`.")
        if known is None:
            raise
        sys.exit(f"{known.message} Looked at: the store of STILLHERE_DATA_DIR and STILLHERE_DATABASE_URL as they are set here.")


def _expect_django() -> None:
    if find_spec("django") is None:
        sys.exit("This Python has no Django. Run `make install`, then `.venv/bin/python manage.py …`.")


def _open_streams() -> None:
    """Closed ones become empty ones, before a connection gets their number."""
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115 - as long as the process
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115


def _unwritten(error: OSError) -> str | int:
    """What ends a command whose output nobody reads any more, as `head` after its lines, or for which the disk has no room."""
    if error.filename is not None or error.errno not in {errno.EPIPE, errno.ENOSPC}:
        raise error
    # Python would write the rest when it ends, and fail once more.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if isinstance(error, BrokenPipeError):
        return 128 + signal.SIGPIPE
    return f"Not all could be written: {error.strerror}. What the command did by then stays done."


def _is_utf8(argument: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in argument)


if __name__ == "__main__":
    main()
