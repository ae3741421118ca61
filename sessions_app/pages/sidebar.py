"""The sidebar of every page: the caller's projects."""

import uuid
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from sessions_app.core.web.page_context import signed_in_caller
from sessions_app.projects.labels import labels_of
from sessions_app.projects.queries import list_projects

SHOWN = 12


@dataclass(frozen=True, slots=True)
class Place:
    id: uuid.UUID
    label: str
    path: str
    href: str


class Sidebar:
    """Lazy: reads only if a template shows it."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    @cached_property
    def _found(self) -> list[Place]:
        rows = list_projects(caller=signed_in_caller(self._request), limit=SHOWN)
        labels = labels_of(rows)
        return [Place(row.id, labels[row.id], row.path, reverse("project", args=[row.id])) for row in rows]

    @property
    def projects(self) -> list[Place]:
        return self._found[:SHOWN]

    @property
    def more(self) -> bool:
        return len(self._found) > SHOWN


def sidebar(request: HttpRequest) -> dict[str, Any]:
    """A template context processor."""
    if not request.user.is_authenticated:
        return {}
    return {"sidebar": Sidebar(request), "offline_pages": settings.OFFLINE_PAGES}
