from typing import Any

from ninja import Schema
from pydantic import Field


class ImportCounts(Schema):
    sessions: int
    messages: int
    tools: int
    files: int


class LeftOut(Schema):
    where: str
    reason: str


class ImportJobOut(Schema):
    """An import and how far it is. Nothing of it is visible anywhere before its state is `publishing`."""

    id: str
    state: str = Field(description="`queued`, `running`, `publishing`, `done`, `removing`, `failed`, `stopped` or `undone`.")
    dry_run: bool
    detected: str = Field(description="The format of the file.")
    size_bytes: int
    found: ImportCounts = Field(description="Contents of the file; zeros until it was read completely.")
    done: ImportCounts = Field(description="How much of that is stored or existed before.")
    added: dict[str, int] = Field(description="Rows by kind that this import adds.")
    present: dict[str, int] = Field(description="Rows by kind that existed before.")
    redacted: dict[str, int] = Field(description="Secrets found in messages, by kind, that the file had not marked.")
    left_out: list[LeftOut]
    error: dict[str, Any] | None = Field(description="Why a failed import failed: `code`, `message`, `details`.")
    created_at: str
    finished_at: str | None


class ImportList(Schema):
    items: list[ImportJobOut]


class ImportOut(Schema):
    """Rows by kind: added by this import, and existing before.

    `redacted`: secrets found in messages, by kind, that the file had not marked: flagged or, by the project's setting, redacted.
    """

    added: dict[str, int]
    present: dict[str, int]
    redacted: dict[str, int]
