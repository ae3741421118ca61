"""What else than titles and messages can be searched: what an `Extension` finds, by the name under which `in` asks for it."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sessions_app.chats.search.filters import SearchFilter
from sessions_app.chats.search.text_matching import Excerpt, excerpt
from sessions_app.core.errors import ForeignCursor
from sessions_app.core.extension import extensions
from sessions_app.core.storage.sql import rfc3339
from sessions_app.models import Project

# Seconds that one source may read for one page.
SOURCE_SECONDS = 0.1
# Digits of a row's number in a place.
DIGITS = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceQuery:
    """`projects`: the caller's own that are searched, at least one, none of them in the trash. `after`: the place in the source
    after which to go on, as the source named it; "": its beginning."""

    projects: Mapping[uuid.UUID, Project]
    text: str
    wanted: SearchFilter
    after: str
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceHit:
    """A match in something else than a chat: `heading` is its name, `link` the address of the page that opens at it, `place`
    its place in its source."""

    kind: str
    project: Project
    heading: str
    at: datetime
    link: str
    excerpt: Excerpt
    place: str

    def as_json(self) -> dict[str, Any]:
        return {
            "project": self.project.path,
            "project_id": str(self.project.id),
            "session": None,
            "title": self.heading,
            "message": None,
            "role": None,
            "at": rfc3339(self.at),
            **self.excerpt.as_json(),
            "kind": self.kind,
            "link": self.link,
        }


@dataclass(frozen=True, slots=True)
class SourcePage:
    """At most `limit` hits, newest first. `next`: the place to go on after; None: everything was searched."""

    hits: list[SourceHit]
    next: str | None = None


def read_place(text: str, numbers: int = 1) -> list[int] | None:
    """Parse a place of so many numbers, `1` or `1.2`; None: the beginning. One of another form is refused."""
    if not text:
        return None
    parts = text.split(".")
    if len(parts) != numbers or not all(part.isascii() and part.isdigit() and len(part) <= DIGITS for part in parts):
        raise ForeignCursor
    return [int(part) for part in parts]


def place_in_time(at: datetime, row_id: uuid.UUID) -> str:
    """A place among rows that have no number."""
    return f"{rfc3339(at)}_{row_id}"


def read_place_in_time(text: str) -> tuple[datetime, uuid.UUID] | None:
    """None: the beginning. One of another form is refused."""
    if not text:
        return None
    try:
        at, row_id = text.split("_")
        moment, found = datetime.fromisoformat(at), uuid.UUID(row_id)
        if moment.tzinfo is None:
            raise ForeignCursor
        return moment.astimezone(UTC), found
    except (ValueError, OverflowError):
        raise ForeignCursor from None


type Source = Callable[[SourceQuery], SourcePage]


def source_hit(
    *, kind: str, project: Project, heading: str, at: datetime, link: str, text: str, words: str, place: str
) -> SourceHit:
    """A hit in `text`, of which the surroundings of the match are shown."""
    found = excerpt(text, words)
    return SourceHit(kind=kind, project=project, heading=heading, at=at, link=link, excerpt=found, place=place)


def sources() -> dict[str, Source]:
    """All registered sources, in the order in which they are searched."""
    return {name: find for extension in extensions() for name, find in extension.search_sources.items()}
