"""What the frame around every page needs."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from sessions_app.auth import caller_of_user
from sessions_app.models import Caller
from sessions_app.queries.projects import list_projects

SHOWN = 12
# What other contexts show on a project's settings page, put here when they are ready: each answers what its `template` needs.
SETTINGS_PARTS: list[Callable[[HttpRequest, uuid.UUID], dict[str, Any]]] = []


@dataclass(frozen=True, slots=True)
class Place:
    id: uuid.UUID
    label: str
    path: str
    href: str


class Sidebar:
    """Asked only where a template shows it."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    @cached_property
    def _found(self) -> list[Place]:
        rows = list_projects(caller=caller_of(self._request), limit=SHOWN)
        return [Place(row.id, row.label, row.path, reverse("project", args=[row.id])) for row in rows]

    @property
    def projects(self) -> list[Place]:
        return self._found[:SHOWN]

    @property
    def more(self) -> bool:
        return len(self._found) > SHOWN


def sidebar(request: HttpRequest) -> dict[str, Any]:
    """A template context processor."""
    return {"sidebar": Sidebar(request)} if request.user.is_authenticated else {}


def caller_of(request: HttpRequest) -> Caller:
    """The person in front of the page, who signed in."""
    return caller_of_user(request.user)
