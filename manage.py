#!/usr/bin/env python3
"""Django's command line, with this project's settings."""

import os
import signal
import sys
from importlib.util import find_spec

from config.server import garbage_collection

# Here, for a worker process runs this file too, and not `main`.
garbage_collection.pause(sys.argv)


def main() -> None:
    _expect_django()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:2] == ["serve"]:
        # Production serves static files under hashed names; settings are read before the command runs.
        os.environ.setdefault("STILLHERE_STATIC_MANIFEST", "1")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError

    try:
        execute_from_command_line(sys.argv)
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


def _is_utf8(argument: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in argument)


if __name__ == "__main__":
    main()
