"""Schemas of the app state."""

from typing import Annotated

from ninja import Schema
from pydantic import Field

from sessions_app.core.web.schemas import In
from sessions_app.projects.schemas import Path


class AppStateIn(In):
    selected_project: Path | None = None
    active_phase: Annotated[str, Field(min_length=1, max_length=64, examples=["plan", "work", "review", "compound"])] | None = (
        None
    )


class AppStateOut(Schema):
    client: str
    selected_project: str | None
    active_phase: str
    recent_projects: list[str]
