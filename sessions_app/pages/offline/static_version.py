"""Which static files the service worker keeps, and the version that they make up together.

Modules import each other by plain names, so files of two versions must never be mixed: the version is in the worker and in the
header of every page, and the worker gives its files only to pages of its own version.
"""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

from django.conf import settings

# Folders with the modules that the chat and the sessions' pages import, also later. What a page names is found in the page.
_FOLDERS = ("chat", "offline", "pages", "session", "stillhere")
_ALONE = ("js/stillhere.js",)


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
    """The addresses of those modules, by the plain names under which they are imported."""
    root = _root()
    found = (path for folder in _FOLDERS for path in (root / "js" / folder).rglob("*.js"))
    names = sorted([*_ALONE, *(str(path.relative_to(root)) for path in found)])
    return tuple(f"{settings.STATIC_URL}{name}" for name in names)


def worker_source() -> str:
    return (_root() / "js/offline/service-worker.js").read_text(encoding="utf-8")


def _root() -> Path:
    return Path(settings.STATICFILES_DIRS[0])
