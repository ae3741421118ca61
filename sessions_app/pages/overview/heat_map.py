"""Activity as squares of five shades: a year by day, and a week by hour."""

from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from sessions_app.core.text import count
from sessions_app.pages.overview.activity_counts import WEEKS, Activity, first_day

STEP = 12
SHADES = 4
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, slots=True)
class Square:
    """A day in the units of the SVG's view box. `shade`: 0 (nothing) to 4."""

    day: date
    number: int
    shade: int
    x: int
    y: int

    @property
    def label(self) -> str:
        return f"{self.day:%a} {self.day.day} {self.day:%b %Y}"


@dataclass(frozen=True, slots=True)
class HourRow:
    """A weekday: number and shade of each hour in UTC."""

    name: str
    hours: list[tuple[int, int]]


def squares(activity: Activity, today: date, project: str | None = None) -> list[Square]:
    """Every day of 53 weeks until today, oldest first. `project`: hexadecimal id of the only one that counts."""
    days = Counter[str]()
    for (name, day), number in activity.days.items():
        if project in {None, name}:
            days[day] += number
    most, begun = max(days.values(), default=0), first_day(today)
    shown = [begun + timedelta(days=number) for number in range((today - begun).days + 1)]
    return [
        Square(day, number, _shade(number, most), (day - begun).days // 7 * STEP, day.weekday() * STEP)
        for day in shown
        if (number := days[day.isoformat()]) >= 0
    ]


def week(activity: Activity, project: str | None = None) -> list[HourRow]:
    hours = Counter[tuple[int, int]]()
    for (name, weekday, hour), number in activity.hours.items():
        if project in {None, name}:
            hours[weekday, hour] += number
    most = max(hours.values(), default=0)
    return [
        HourRow(name, [(hours[weekday, hour], _shade(hours[weekday, hour], most)) for hour in range(24)])
        for weekday, name in enumerate(WEEKDAYS)
    ]


def months(today: date) -> list[tuple[int, str]]:
    """Where in the map a month begins, and its name."""
    begun = first_day(today)
    mondays = [begun + timedelta(weeks=number) for number in range(WEEKS)]
    return [
        (number * STEP, day.strftime("%b"))
        for number, day in enumerate(mondays)
        if number and day.month != mondays[number - 1].month
    ]


def drawn(days: list[Square], address: str) -> SafeString:
    """The squares as SVG: hundreds of lines, for which a template takes longer than for all the rest of the page.

    `address`: of the list that a day leads to, to which the day is added.
    """
    return mark_safe("".join(_square(day, address) for day in days))  # noqa: S308 - numbers, dates and escaped text


def listed(days: list[Square], address: str) -> SafeString:
    """The days that have messages as rows of a table, newest first."""
    rows = ((_address(day, address), day.label, count(day.number)) for day in reversed(days) if day.number)
    return format_html_join("", '<tr><th scope="row"><a href="{}">{}</a></th><td>{}</td></tr>', rows)


def _square(day: Square, address: str) -> str:
    if not day.number:
        return f'<rect class="h0" x="{day.x}" y="{day.y}" width="10" height="10" rx="2"/>'
    rect = '<rect class="h{}" x="{}" y="{}" width="10" height="10" rx="2"><title>{}: {}</title></rect>'
    values = (day.shade, day.x, day.y, day.label, count(day.number))
    return format_html(f'<a href="{{}}" tabindex="-1">{rect}</a>', _address(day, address), *values)


def _address(day: Square, address: str) -> str:
    return f"{address}since={day.day.isoformat()}&until={day.day.isoformat()}"


def _shade(number: int, most: int) -> int:
    """By the square root, so that one busy day does not make all others pale."""
    return 0 if number <= 0 else max(1, min(SHADES, round(SHADES * (number / most) ** 0.5)))
