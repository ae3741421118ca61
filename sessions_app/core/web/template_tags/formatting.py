"""Numbers and times as people read them."""

import re
import uuid
from datetime import UTC, datetime

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from sessions_app.core.extension import Tab, extensions
from sessions_app.core.text import count
from sessions_app.models.message import common_role

register = template.Library()
register.filter(count)
# Markdown markup, and white space of any length.
MARKS = re.compile(r"```[\w-]*|[*`]+|^#{1,6} |^> ?", re.MULTILINE)
SPACES = re.compile(r"\s+")
NOW_SECONDS = 45
MINUTE, HOUR, DAY = 60, 3_600, 86_400
# Unit, its length in seconds, and the limit in seconds up to which it is used.
AGES = (
    ("minute", MINUTE, HOUR),
    ("hour", HOUR, DAY),
    ("day", DAY, 14 * DAY),
    ("week", 7 * DAY, 60 * DAY),
    ("month", 30 * DAY, 730 * DAY),
    ("year", 365 * DAY, float("inf")),
)
UNITS = ("KB", "MB", "GB", "TB")
SPEAKERS = {"user": "You", "assistant": "Assistant", "system": "Instructions", "tool": "Tool"}
# Formats of transcripts in which a program notes what is no message, under the role of instructions.
NOTING = frozenset({"claude-code"})


# Browser and system names in user agents, the more specific one first: Edge also claims to be Chrome, and Chrome to be Safari.
BROWSERS = (("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS", "macOS"),
    ("Linux", "Linux"),
)


@register.simple_tag
def tabs_of_other_apps(project_id: uuid.UUID, shown: str) -> list[Tab]:
    """Tabs of a project, in the order in which the apps are registered; `shown`: the one of this page. A tag, because every
    page of a project has them."""
    tabs = (tab for extension in extensions() for tab in extension.tabs)
    return [tab for tab in tabs if tab.has_content is None or tab.address == shown or tab.has_content(project_id)]


@register.filter
def browser(user_agent: str) -> str:
    """Browser and system in two words, as far as the user agent names them."""
    name = next((name for sign, name in BROWSERS if sign in user_agent), user_agent.partition("/")[0][:40] or "A browser")
    system = next((system for sign, system in SYSTEMS if sign in user_agent), "")
    return f"{name} on {system}" if system else name


@register.filter
def plain(text: str) -> str:
    """Markdown as one line of plain text."""
    return SPACES.sub(" ", MARKS.sub("", text))


@register.filter
def middle_cut(text: str, length: int) -> str:
    """A long path without its middle: its end says most."""
    if len(text) <= length:
        return text
    begins = length // 3
    return f"{text[:begins]}…{text[begins + 1 - length :]}"


@register.filter
def size(number: int) -> str:
    """Bytes in thousands, as the limits count them."""
    if number < 1_000:
        return f"{number} B"
    value, step = number / 1_000, 0
    while value >= 999.5 and step < len(UNITS) - 1:
        value, step = value / 1_000, step + 1
    unit = UNITS[step]
    return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"


@register.filter
def duration(milliseconds: float) -> str:
    """Three figures, as milliseconds or seconds; from 100 seconds on two units."""
    if milliseconds < 999.5:
        return f"{milliseconds:.1f} ms" if milliseconds < 10 else f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1_000
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), MINUTE)
    if minutes < 100:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def ago(moment: datetime) -> str:
    """In one unit, as `static/js/pages/relative-times.js` updates it while the page is open."""
    seconds = (moment - datetime.now(UTC)).total_seconds()
    past = abs(seconds)
    if past < NOW_SECONDS:
        return "now"
    unit, length = next((unit, length) for unit, length, most in AGES if past < most)
    # A key that was just made for nine days ends in nine days.
    number = max(1, int(past / length + (0.5 if seconds > 0 else 0)))
    words = f"{number} {unit}{'' if number == 1 else 's'}"
    return f"in {words}" if seconds > 0 else f"{words} ago"


@register.filter
def when(at: datetime | str) -> SafeString:
    """How long ago, with the exact time in the title."""
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    exact = moment.strftime("%Y-%m-%d %H:%M:%S UTC")
    return format_html('<time datetime="{}" title="{}" data-ago>{}</time>', moment.isoformat(), exact, ago(moment))


@register.filter
def speaker(role: str, format_name: str | None = None) -> str:
    """Who says a message of this role, that was saved in this format."""
    if format_name in NOTING and common_role(role) == "system":
        return "Note"
    return SPEAKERS.get(common_role(role), role.capitalize())
