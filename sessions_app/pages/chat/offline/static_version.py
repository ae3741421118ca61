"""Which static files the service worker keeps, and the version that they make up together.

Modules import each other by plain names, so files of two versions must never be mixed: the version is in the worker and in the
header of every page, and the worker gives its files only to pages of its own version.
"""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

from django.conf import settings

_WORKER = "js/chat/offline/service-worker.js"


@cache
def static_version() -> str:
    """A digest of all static files."""
    digest = hashlib.sha256(version("django-htmx").encode())
    root = _root()
    for path in sorted(root.rglob("*")):
        if path.is_file():
            digest.update(f"\n{path.relative_to(root)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def module_addresses() -> tuple[str, ...]:
    """The addresses of all modules, by the plain names under which they are imported. What a page names is found in the page."""
    root = _root()
    names = sorted(str(path.relative_to(root)) for path in (root / "js").rglob("*.js"))
    return tuple(f"{settings.STATIC_URL}{name}" for name in names if name != _WORKER)


def worker_source() -> str:
    return (_root() / _WORKER).read_text(encoding="utf-8")


def _root() -> Path:
    return Path(settings.STATICFILES_DIRS[0])
