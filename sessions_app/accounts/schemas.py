from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field

from sessions_app.core.storage.sql import rfc3339
from sessions_app.core.web.schemas import In
from sessions_app.models import ApiKey
from sessions_app.models.credentials import KEY_NAME_LENGTH, MOST_DAYS
from sessions_app.projects.schemas import Path


class KeyIn(In):
    name: Annotated[str, Field(max_length=KEY_NAME_LENGTH)] = ""
    scopes: Annotated[list[Literal["read", "write"]], Field(min_length=1, max_length=2)] = ["read", "write"]
    project: Path | None = None
    days: Annotated[int, Field(ge=1, le=MOST_DAYS)] | None = None


class KeyOut(Schema):
    id: str
    name: str
    prefix: str
    scopes: list[str]
    project: str | None
    created_at: str
    expires_at: str | None
    last_used_at: str | None


class NewKeyOut(KeyOut):
    key: str = Field(description="The key itself. It is shown only once.")


class KeyList(Schema):
    items: list[KeyOut]
    next: str | None


class TicketOut(Schema):
    ticket: str
    expires_in: int = Field(description="Seconds.")
    account: str = Field(description="The same for all keys of an account: what a client kept under a former one is its.")


def key_json(key: ApiKey) -> dict[str, Any]:
    times = {name: getattr(key, name) for name in ("created_at", "expires_at", "last_used_at")}
    return {
        "id": str(key.id),
        "name": key.name,
        "prefix": key.prefix,
        "scopes": key.scope_list,
        "project": None if key.project is None else key.project.path,
        **{name: None if at is None else rfc3339(at) for name, at in times.items()},
    }
