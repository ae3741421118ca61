from datetime import datetime
from typing import Annotated

from ninja import Schema
from pydantic import Field, JsonValue

from sessions_app.chats.search.filters import SearchFilter, aware
from sessions_app.core.errors import Invalid
from sessions_app.formats.registry import FORMATS
from sessions_app.models.message import Role
from sessions_app.models.project import PATH_LENGTH

# As the API's document has them.
_ROLES: list[JsonValue] = [*Role.values]
_FORMATS: list[JsonValue] = [*sorted(FORMATS)]


class UnknownValue(Invalid):
    def __init__(self, field: str, known: list[str]) -> None:
        super().__init__(f"`{field}` is one of {', '.join(known)}.", details={"field": field, "known": known})


class SearchQuery(Schema):
    """Filters of a search. All of them have to be met."""

    project: Annotated[str, Field(min_length=1, max_length=PATH_LENGTH)] | None = Field(
        None, description="Path or id of the only project that is searched."
    )
    role: str | None = Field(
        None,
        description="Only messages with this role, however their format names it.",
        json_schema_extra={"enum": _ROLES, "example": "assistant"},
    )
    format: str | None = Field(
        None, description="Only messages that were saved in this format.", json_schema_extra={"enum": _FORMATS}
    )
    since: datetime | None = Field(None, description="`at` of a hit from here on; RFC 3339.", examples=["2026-11-01T00:00:00Z"])
    until: datetime | None = Field(None, description="`at` of a hit up to here.")
    within: str = Field(
        "titles,messages",
        alias="in",
        description="What is searched: a list, separated by commas, of titles, messages, memory, handoff, errors.",
    )

    def filter(self) -> SearchFilter:
        """Raises 422 for a role or a format that is unknown, with those that are known."""
        if self.role is not None and self.role not in Role.values:
            raise UnknownValue("role", list(Role.values))
        if self.format is not None and self.format not in FORMATS:
            raise UnknownValue("format", sorted(FORMATS))
        return SearchFilter(role=self.role, format=self.format, since=aware(self.since), until=aware(self.until))


class HitOut(Schema):
    project: str = Field(description="The project's path.")
    project_id: str
    session: str | None = Field(description="None: the match is not in a chat.")
    title: str = Field(description="The session's title; of another hit what it is called.")
    message: str | None = Field(description="None: the match is not in a message.")
    role: str | None
    at: str
    before: str
    hit: str = Field(description="The matching text as stored, between `before` and `after`.")
    after: str
    kind: str = Field(description="external_id, title, message, memory, handoff or error.")
    link: str = Field(description="Address of this server's page that opens at the match.")


class HitList(Schema):
    items: list[HitOut]
    next: str | None
