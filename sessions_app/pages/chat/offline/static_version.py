"""Which static files the service worker keeps, and the version that they make up together.

Some modules are loaded by plain names (without bundles, all), so files of two versions must never be mixed: the version is in the
worker and in the header of every page, and the worker gives its files only to pages of its own version.
"""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

import orjson
from django.conf import settings
from django.templatetags.static import static

_WORKER = "js/chat/offline/service-worker.js"


@cache
def static_version() -> str:
    """A digest of all static files, and of the bundles that are made of them."""
    digest = hashlib.sha256(" ".join([version("django-htmx"), *_bundles()]).encode())
    root = _root()
    for path in sorted(root.rglob("*")):
        if path.is_file():
            digest.update(f"\n{path.relative_to(root)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def module_addresses() -> tuple[str, ...]:
    """The addresses of the bundles, and of the modules that are loaded by plain names. What a page names is found in the page."""
    return (*(f"{settings.STATIC_URL}{name}" for name in _imported()), *_bundles())


def _imported() -> list[str]:
    if settings.STATIC_BUNDLES:
        names: list[str] = orjson.loads((Path(settings.STATIC_ROOT) / settings.STATIC_IMPORTED).read_bytes())
        return names
    root = _root()
    names = sorted(str(path.relative_to(root)) for path in (root / "js").rglob("*.js"))
    return [name for name in names if name != _WORKER]


def _bundles() -> list[str]:
    return [static(name) for name in settings.STATIC_BUNDLES]


def worker_source() -> str:
    return (_root() / _WORKER).read_text(encoding="utf-8")


def _root() -> Path:
    return Path(settings.STATICFILES_DIRS[0])
