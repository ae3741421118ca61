from typing import Annotated, Any

from ninja import Schema
from pydantic import Field, field_validator

from sessions_app.core.web.schemas import In
from sessions_app.models.project import DEFAULT_REDACTION, INSTRUCTIONS_LENGTH, NAME_LENGTH, PATH_LENGTH, REDACTION_MODES

Path = Annotated[str, Field(min_length=1, max_length=PATH_LENGTH, examples=["/home/ana/shop"])]
Name = Annotated[str, Field(max_length=NAME_LENGTH)]


class ProjectIn(In):
    path: Path
    name: Name = ""


class ProjectPatch(In):
    name: Name | None = None
    settings: dict[str, Any] | None = Field(
        None, description="`redaction` and `instructions`: what a model is told before each generation. Omitted ones stay."
    )

    @field_validator("settings")
    @classmethod
    def _known_redaction(cls, settings: dict[str, Any] | None) -> dict[str, Any] | None:
        if unknown := sorted((settings or {}).keys() - {"redaction", "instructions"}):
            raise ValueError(f"there is no setting {unknown[0][:64]!r}")
        mode = (settings or {}).get("redaction", DEFAULT_REDACTION)
        if mode not in REDACTION_MODES:
            raise ValueError(f"redaction is one of {', '.join(REDACTION_MODES)}")
        told = (settings or {}).get("instructions", "")
        if not isinstance(told, str) or len(told) > INSTRUCTIONS_LENGTH:
            raise ValueError(f"instructions are a text of up to {INSTRUCTIONS_LENGTH:,} characters")
        return settings


class ProjectOut(Schema):
    id: str
    path: str
    name: str
    created_at: str
    updated_at: str
    current_session: str | None
    session_count: int = Field(description="Runs of agents started here, at least 1.")
    last_session_at: str | None
    settings: dict[str, Any]


class ProjectList(Schema):
    items: list[ProjectOut]
    next: str | None
