import uuid
from typing import Annotated, Literal

from ninja import Schema
from pydantic import Field

from sessions_app.chats.lifecycle.bulk.services import MOST_AT_ONCE
from sessions_app.chats.sessions.schemas import Tags
from sessions_app.core.web.schemas import In
from sessions_app.projects.schemas import Path


class SessionChangesIn(In):
    """`tags` go with `tag` and `untag`, `to_project` with `move`."""

    act: Literal["archive", "unarchive", "pin", "unpin", "tag", "untag", "move", "delete", "undelete"]
    sessions: list[Annotated[uuid.UUID, Field(strict=False)]] = Field(min_length=1, max_length=MOST_AT_ONCE)
    tags: Tags = []
    to_project: Path | None = Field(None, description="The path of a project of yours.")


class SessionsChanged(Schema):
    """`unchanged`: they were so already. `unknown`: no session of yours, or in the trash (for `undelete`: not in the trash)."""

    changed: list[str]
    unchanged: list[str]
    unknown: list[str]
