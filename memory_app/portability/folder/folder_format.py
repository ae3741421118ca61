"""The folder format of a project's memory: `meta.json`, one folder per namespace, and in it one JSON file per key."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

FOLDER = ".stillhere"
# Another tool's folder in the same format.
ALSO_READ = ".gasoline"
META = "meta.json"
SUFFIX = ".json"
FORMAT = "stillhere-memory"


@dataclass(slots=True)
class Skipped:
    """What was skipped, and why."""

    items: list[tuple[str, str]] = field(default_factory=list)

    def add(self, name: str, why: str) -> None:
        self.items.append((name, why))


def why(error: OSError) -> str:
    """A readable reason, without the path."""
    return str(error.strerror or error)


def as_moment(value: Any) -> datetime | None:
    """A time with zone, to the millisecond; None if it is not a time, or the year 1, which some tools use for none."""
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None or not 1 < moment.year < 9999:
        return None
    moment = moment.astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def as_noise_config(value: Any) -> tuple[Any, list[str]]:
    """Converts rules of the other format (`match_spec`), and lists the ids of those that cannot be converted: they match more
    than a message. Values in our format, or in no known one, stay as they are."""
    rules = value.get("rules") if isinstance(value, dict) else None
    if not isinstance(rules, list) or not any(isinstance(rule, dict) and "match_spec" in rule for rule in rules):
        return value, []
    kept: list[Any] = []
    left_out: list[str] = []
    for rule in rules:
        spec = rule.get("match_spec") if isinstance(rule, dict) else None
        if spec is None:
            kept.append(rule)
        elif isinstance(spec, dict) and {name for name, said in spec.items() if said} == {"message_regex"}:
            source = "auto" if rule.get("auto_detected") else "manual"
            pattern = spec["message_regex"]
            kept.append({"id": rule.get("id"), "pattern": pattern, "kind": "regex", "source": source, "enabled": True})
        else:
            left_out.append(ascii(rule.get("id")))
    return {"rules": kept}, left_out
