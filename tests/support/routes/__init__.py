"""The table of all operations and pages, with what a call needs.

A row names its operation and has an address in which `{project}`, `{session}` and so on are filled in by the
test: with objects of alice, or unused ids. Every operation of the API and every page has a row; the tests of
who may call it, and from where, run over this table.
A noun of `nouns/` has its own rows in `tests/nouns/NAME/routes.py`.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from config.api.ninja_api import api as the_api
from tests.support.routes.api_rows import API
from tests.support.routes.page_rows import FRAGMENTS, PAGES
from tests.support.routes.row import WRITES, Noun, Row

__all__ = ["API", "FRAGMENTS", "NOUNS", "PAGES", "WRITES", "Noun", "Row", "operations", "page_names"]
_FOLDER = Path(__file__).resolve().parents[2] / "nouns"
_MODULES = [import_module(f"tests.nouns.{file.parent.name}.routes") for file in sorted(_FOLDER.glob("*/routes.py"))]
NOUNS: list[Noun] = [module.NOUN for module in _MODULES]
for _noun in NOUNS:
    API.update(_noun.api)
    PAGES.update(_noun.pages)


def operations() -> dict[str, tuple[str, str]]:
    """Every operation of the API's document: its method and its path."""
    paths = the_api.get_openapi_schema()["paths"]
    return {shape["operationId"]: (method.upper(), path) for path, methods in paths.items() for method, shape in methods.items()}


def page_names() -> set[str]:
    """Every named address of ours that is neither the API's nor the admin's."""
    return set(_names(get_resolver().url_patterns))


def _names(patterns: list[Any]) -> list[str]:
    found: list[str] = []
    for pattern in patterns:
        if isinstance(pattern, URLResolver) and pattern.namespace is None:
            found += _names(pattern.url_patterns)
        elif isinstance(pattern, URLPattern) and pattern.name:
            found.append(pattern.name)
    return found
