"""Numbers and times as people read them."""

import re
from datetime import datetime

from django import template
from django.contrib.humanize.templatetags.humanize import naturaltime
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()
# What only a renderer of Markdown wants to see, and white space of any length.
MARKS = re.compile(r"```[\w-]*|[*`]+|^#{1,6} |^> ?", re.MULTILINE)
SPACES = re.compile(r"\s+")
UNITS = ("KB", "MB", "GB", "TB")


@register.filter
def plain(text: str) -> str:
    """Markdown as one line of words."""
    return SPACES.sub(" ", MARKS.sub("", text))


@register.filter
def count(number: int) -> str:
    """With thin spaces between the thousands, where no line breaks."""
    return f"{number:,}".replace(",", "\u202f")


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
    """Three figures, as milliseconds or seconds."""
    if milliseconds < 999.5:
        return f"{milliseconds:.1f} ms" if milliseconds < 10 else f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1_000
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds:,.0f} s"


@register.filter
def when(at: datetime | str) -> SafeString:
    """How long ago, with the exact time in the title."""
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    exact = moment.strftime("%Y-%m-%d %H:%M:%S UTC")
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(), exact, naturaltime(moment))
