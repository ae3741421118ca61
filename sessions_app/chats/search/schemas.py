from ninja import Schema
from pydantic import Field


class HitOut(Schema):
    project: str = Field(description="The project's path.")
    project_id: str
    session: str
    title: str
    message: str | None = Field(description="None: the match is in the title.")
    role: str | None
    at: str
    before: str
    hit: str = Field(description="The matching text as stored, between `before` and `after`.")
    after: str


class HitList(Schema):
    items: list[HitOut]
    next: str | None
