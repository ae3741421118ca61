"""What a message says about itself: when, by which model, with how many tokens, which tools it calls and which results it has."""

import math
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sessions_app.chats.reading.frameworks.conversion import stored_value
from sessions_app.formats.neutral import Neutral, TextPart, ToolCallPart, ToolResultPart, parts_from_json
from sessions_app.formats.registry import Unreadable, format_of
from sessions_app.models.message import Role, Status, common_role

# As frameworks name them in a message's metadata.
MODEL = ("model", "modelId", "model_id", "modelName", "model_name")
USAGE = ("usage", "totalUsage", "tokens", "token_usage")
INPUT = ("inputTokens", "input_tokens", "promptTokens", "prompt_tokens", "input")
OUTPUT = ("outputTokens", "output_tokens", "completionTokens", "completion_tokens", "output")
CACHED = ("cachedInputTokens", "cached_tokens", "cache_read_input_tokens", "cacheRead", "cached")
COST = ("cost", "total_cost", "totalCost")
LONGEST_MODEL = 100
MOST = 10**12


@dataclass(frozen=True, slots=True)
class Tokens:
    """None: the messages do not say."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    cost: float | None = None

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            _sum(self.input, other.input),
            _sum(self.output, other.output),
            _sum(self.cached, other.cached),
            _sum(self.cost, other.cost),
        )

    @property
    def known(self) -> bool:
        return self.input is not None or self.output is not None

    @property
    def total(self) -> int:
        return (self.input or 0) + (self.output or 0)


@dataclass(frozen=True, slots=True)
class Entry:
    """`at`: when it was first saved, or what its format says. `until`: its last change; a copy has
    none, though it was written later. `asks`: a person's text begins a turn."""

    id: str
    position: int
    role: str
    at: datetime
    until: datetime
    text: str
    asks: bool
    interrupted: bool
    model: str
    tokens: Tokens
    calls: list[ToolCallPart]
    results: list[ToolResultPart]
    writer: str | None
    format: str | None = None


def entry_of(item: dict[str, Any], writer: str | None) -> Entry:
    """Of a message as `reading.messages` returns it."""
    neutral, metadata = _neutral(item), _object(stored_value(item.get("metadata")))
    role, at = common_role(item["role"]), _time(neutral.at) or datetime.fromisoformat(item["created_at"])
    text = item["text"] or neutral.text
    return Entry(
        id=item["id"],
        position=item["position"],
        role=role,
        at=at,
        until=max(at, at if neutral.at or item.get("ver") == 1 else datetime.fromisoformat(item["updated_at"])),
        text=text,
        asks=role == Role.USER and any(isinstance(part, TextPart) and part.text for part in neutral.parts),
        interrupted=item["status"] == Status.INTERRUPTED,
        model=(neutral.model or _text(metadata, MODEL))[:LONGEST_MODEL],
        tokens=_tokens(neutral, metadata),
        calls=[part for part in neutral.parts if isinstance(part, ToolCallPart)],
        results=[part for part in neutral.parts if isinstance(part, ToolResultPart)],
        writer=writer,
        format=item.get("format"),
    )


def _neutral(item: dict[str, Any]) -> Neutral:
    form = format_of(item.get("format"))
    if form is not None and "raw" in item:
        with suppress(Unreadable):  # What was stored before formats were read may be anything.
            return form.read(stored_value(item["raw"]))
    return Neutral(common_role(item["role"]), parts_from_json(stored_value(item["parts"])))


def _tokens(neutral: Neutral, metadata: dict[str, Any]) -> Tokens:
    used = neutral.usage
    if used is not None:
        return Tokens(_number(used.input), _number(used.output), _number(used.cached), _cost(neutral.cost))
    usage = next((_object(metadata[name]) for name in USAGE if _object(metadata.get(name))), {})
    counted = [_first(usage, names) for names in (INPUT, OUTPUT, CACHED)]
    costs = (_cost(place.get(name)) for place in (metadata, usage) for name in COST)
    cost = next((cost for cost in costs if cost is not None), None)
    return Tokens(counted[0], counted[1], counted[2], cost)


def _first(usage: dict[str, Any], names: tuple[str, ...]) -> int | None:
    return next((number for name in names if (number := _number(usage.get(name))) is not None), None)


def _sum[Number: (int, float)](one: Number | None, other: Number | None) -> Number | None:
    if one is None or other is None:
        return one if other is None else other
    return one + other


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(values: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := values.get(name), str)), "")


def _number(value: Any) -> int | None:
    return int(value) if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST else None


def _cost(value: Any) -> float | None:
    """An amount, or an object with a total."""
    value = value.get("total") if isinstance(value, dict) else value
    sound = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value < MOST
    return float(value) if sound else None


def _time(text: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(text or "")
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
