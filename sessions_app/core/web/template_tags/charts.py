"""Small charts, as inline SVG from the server."""

from collections.abc import Sequence
from dataclasses import dataclass

from django import template

register = template.Library()
STEP, HEIGHT, LEAST = 8, 28, 2


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar in the units of the SVG's view box."""

    x: int
    y: int
    height: int
    opacity: str


@register.filter
def bars(values: Sequence[float]) -> list[Bar]:
    """One bar for each value, the highest as high as the chart; zero is a thin line."""
    highest = max(values, default=0) or 1
    made = []
    for number, value in enumerate(values):
        height = LEAST if not value else max(LEAST + 2, round(HEIGHT * value / highest))
        made.append(Bar(number * STEP, HEIGHT - height, height, "1" if value else "0.25"))
    return made


@register.filter
def share(part: float, whole: float) -> str:
    """The percentage of the whole; a nonzero part is never 0."""
    if part <= 0 or whole <= 0:
        return "0"
    return f"{min(100.0, max(0.5, 100 * part / whole)):.1f}"


@register.filter
def outline(values: Sequence[float], kind: str) -> str:
    """The same bars as one path, for lists with many charts: the bars of `some` (nonzero) values, or of `none`."""
    chosen = (bar for bar, value in zip(bars(values), values, strict=True) if (kind == "some") == bool(value))
    return "".join(f"M{bar.x} {bar.y}h6v{bar.height}h-6z" for bar in chosen)
