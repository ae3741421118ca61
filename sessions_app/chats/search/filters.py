"""What a search of titles and messages is limited to."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sessions_app.core.errors import Invalid
from sessions_app.core.storage.sql import db_time
from sessions_app.models.message import ROLES, common_role


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """`role`: user, assistant, system or tool, however a message's format names it. `format`: of the message's `raw`.

    `since` and `until`, both included: when the message or session was last changed, as a hit's `at`.
    """

    role: str | None = None
    format: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def is_empty(self) -> bool:
        return self == NO_FILTER

    @property
    def of_messages_only(self) -> bool:
        """Only messages have a role and a format."""
        return self.role is not None or self.format is not None

    def message_sql(self, table: str) -> tuple[str, list[Any]]:
        """Conditions, each after an AND, about a table with the columns `role`, `format` and `updated_at`."""
        sql, parameters = self.time_sql(table)
        if self.role is not None:
            names = sorted(name for name in ROLES if common_role(name) == self.role)
            sql, parameters = f"{sql} AND {table}.role IN ({', '.join(['%s'] * len(names))})", [*parameters, *names]
        if self.format is not None:
            sql, parameters = f"{sql} AND {table}.format = %s", [*parameters, self.format]
        return sql, parameters

    def time_sql(self, table: str) -> tuple[str, list[Any]]:
        """Conditions, each after an AND, about `updated_at`."""
        limits = [(sign, at) for sign, at in ((">=", self.since), ("<=", self.until)) if at is not None]
        return "".join(f" AND {table}.updated_at {sign} %s" for sign, _ in limits), [db_time(at) for _, at in limits]

    def includes(self, at: datetime) -> bool:
        """Whether `at` is in the time that is searched."""
        return (self.since is None or at >= self.since) and (self.until is None or at <= self.until)


NO_FILTER = SearchFilter()


class WrongTime(Invalid):
    def __init__(self) -> None:
        super().__init__("`since` and `until` are times of the years 1 to 9999 in UTC.", details={"field": "since"})


def aware(moment: datetime | None) -> datetime | None:
    """A time without a zone is UTC, as all times that the API returns. Raises WrongTime."""
    if moment is None or moment.tzinfo is None:
        return moment if moment is None else moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise WrongTime from None
