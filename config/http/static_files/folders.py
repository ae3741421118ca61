"""The static files of each version in a folder of their own, so that a server that still runs keeps those that it began with."""

import hashlib
import shutil
from collections.abc import Iterable
from contextlib import AbstractContextManager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.server.file_locks import locked
from config.server.signals import run_manage

# Packages whose static files are served, and those that make ours smaller.
PACKAGES = ("django", "django-ninja", "django-htmx", "whitenoise", "tdewolff-minify")
# Of what they bring, megabytes that no page asks for.
LEFT_OUT = ("*.map", "redoc*", "htm?x-4*")
COLLECTED, SERVED = ".collected", ".served"
# Written after all files. Without it no page can be shown.
MANIFEST = "staticfiles.json"
_NAME_LENGTH = 16


def name_of(sources: Iterable[Path]) -> str:
    """Changes whenever a source does, or what makes files of them. Read before the settings are complete."""
    files = sorted(path for folder in sources for path in Path(folder).rglob("*") if path.is_file())
    files += sorted(Path(__file__).resolve().parent.glob("*.py"))
    seen = [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files]
    seen += [f"{package} {_version(package)}" for package in PACKAGES]
    return hashlib.sha256("\n".join(seen).encode()).hexdigest()[:_NAME_LENGTH]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def provided(lock: int) -> AbstractContextManager[int]:
    """This version's folder is filled, what nobody serves any more is removed, and this one is kept within the block.

    No other server of the data folder may start meanwhile: who starts has `lock`. Compressing takes seconds, so it is done once.
    """
    folder = Path(settings.STATIC_ROOT)
    is_new = not all((folder / name).exists() for name in (COLLECTED, MANIFEST))
    if is_new:
        _collect(folder, lock)
    for other in folder.parent.iterdir():
        # One without a lock is of a version that did not have these folders: its server may run until the next start.
        if other != folder and ((other / SERVED).exists() or not is_new):
            _remove_unless_served(other)
    return locked(folder / SERVED, shared=True)


def _collect(folder: Path, lock: int) -> None:
    ignored = [argument for pattern in LEFT_OUT for argument in ("--ignore", pattern)]
    # In a process of its own: compressing takes 200 MB, which this one would keep as long as it serves.
    why = run_manage("collectstatic", "--no-input", "--clear", "--verbosity", "0", *ignored, lock=lock)
    if not why and not (folder / MANIFEST).exists():
        why = f"there is no {MANIFEST} after `manage.py collectstatic`."
    if why:
        raise ImproperlyConfigured(f"The static files cannot be written to {folder}: {why}")
    (folder / COLLECTED).touch()


def _remove_unless_served(path: Path) -> None:
    if not path.is_dir():
        path.unlink()
        return
    try:
        with locked(path / SERVED):
            shutil.rmtree(path, ignore_errors=True)
    except BlockingIOError:
        pass  # A server sends them.
