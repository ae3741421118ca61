"""Schemas of namespace settings."""

from typing import Annotated, Any

from ninja import Schema
from pydantic import Field, TypeAdapter, ValidationError

from memory_app.core.namespaces import pack
from memory_app.key_value.entries.schemas import Namespace
from memory_app.models.entry import ENTRY_BYTES, VERSIONS
from memory_app.models.namespace_settings import MOST_MINUTES
from sessions_app.core.errors import Invalid
from sessions_app.core.web.schemas import BIGGEST, In


class SettingsOut(Schema):
    """`labels`: the same as `namespace`, always as a list."""

    namespace: Namespace
    labels: list[str]
    exact: bool
    leased: bool
    versions: int
    ttl_minutes: float | None
    refresh_on_read: bool
    quota_bytes: int | None
    entry_bytes: int | None


class SettingsList(Schema):
    items: list[SettingsOut]
    next: str | None


class SettingsIn(In):
    """All settings of a namespace: one that is left out has its default."""

    exact: bool = Field(False, description="Values are stored as they are sent, without redaction.")
    leased: bool = Field(True, description="False: writes are taken beside a run that holds the lease.")
    versions: Annotated[int, Field(ge=0, le=VERSIONS)] = Field(
        VERSIONS, description="How many values of an entry are kept; 0: none, and what is deleted is not kept either."
    )
    ttl_minutes: Annotated[float, Field(gt=0, le=MOST_MINUTES)] | None = Field(
        None, description="An entry expires so long after it was written. Null: never."
    )
    refresh_on_read: bool = Field(False, description="A read counts as a write for the expiry.")
    quota_bytes: Annotated[int, Field(ge=0, le=BIGGEST)] | None = Field(
        None, description="Most bytes of the namespace and all beneath it. Null: the project's quota alone."
    )
    entry_bytes: Annotated[int, Field(ge=1, le=ENTRY_BYTES)] | None = Field(
        None, description=f"Most bytes of one entry. Null: {ENTRY_BYTES}."
    )


_LABELS: TypeAdapter[list[str]] = TypeAdapter(list[str])


def read_settings(row: Any) -> tuple[str, dict[str, Any]]:
    """Namespace and settings as `settings_json` writes them. Raises Invalid."""
    if not isinstance(row, dict):
        raise Invalid("Settings are an object.")
    try:
        labels = _LABELS.validate_python(row.get("labels"), strict=True)
        values = {name: value for name, value in row.items() if name not in {"namespace", "labels"}}
        return pack(labels), SettingsIn.model_validate(values).model_dump()
    except ValidationError:
        raise Invalid("These are no settings of a namespace.") from None
