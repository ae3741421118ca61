"""A JSON value as collapsible HTML: long content is cut, and the HTML shows how much is left out."""

import json
import re
from collections.abc import Iterator
from html import escape
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from sessions_app.core.text import count

MOST_VALUES, MOST_CHILDREN, MOST_CHARACTERS = 2_000, 200, 20_000
LONG, DEEPEST = 300, 30
# Initially open: parts that are neither deep nor large.
OPEN_DEPTH, OPEN_CHILDREN = 2, 50
# Between these a folded part of a message is indented text: one element in place of two or three for each value.
SHORTEST_TEXT, CHARACTERS_A_VALUE = 600, 40
_REDACTED = re.compile(r"\[REDACTED:[a-z0-9_-]+\]")


def render_value(value: Any, *, most: int) -> tuple[SafeString, int]:
    """The fields or items of a value, without a line for the whole, and how many values that are; at most about `most`.

    What is folded at first and long is one indented text: a transcript has many trees, of which few are opened.
    """
    tree = _Tree(most, text_for_folded=True, left_out="the API returns them")
    inner = "".join(tree.children(value, 0) if isinstance(value, dict | list) and value else tree.item("", value, 0))
    return mark_safe(f'<ul class="json">{inner}</ul>'), most - tree.left  # noqa: S308 - every piece is escaped where it is made


def render_json(text: str) -> SafeString:
    """`text` is the stored JSON; a damaged one is shown as it is."""
    try:
        value = json.loads(text)
    except ValueError:
        said = "What is stored here is damaged: it is not JSON."
        shown = '<p class="notice"><span>{}</span></p><pre class="snippet" tabindex="0">{}</pre>'
        return format_html(shown, said, text[:MOST_CHARACTERS])
    return mark_safe("".join(_Tree().root(value)))  # noqa: S308 - every piece is escaped where it is made


class _Tree:
    """`left_out`: where what is cut can be seen."""

    def __init__(self, most: int = MOST_VALUES, *, text_for_folded: bool = False, left_out: str = "see the raw JSON") -> None:
        self.left = most
        self._text_for_folded, self._left_out = text_for_folded, left_out

    def root(self, value: Any) -> Iterator[str]:
        yield '<ul class="json">'
        yield from self.item("", value, 0)
        yield "</ul>"

    def item(self, name: str, value: Any, depth: int) -> Iterator[str]:
        self.left -= 1
        if (kind := _scalar_kind(value)) is not None:
            # Of one element with its name: a transcript has thousands of such lines.
            yield f'<li class="{kind}">{name}{_scalar(value)}</li>'
            return
        yield "<li>"
        yield from self._value(name, value, depth)
        yield "</li>"

    def _value(self, name: str, value: dict[str, Any] | list[Any] | str, depth: int) -> Iterator[str]:
        """What has lines of its own."""
        if isinstance(value, dict | list) and depth < DEEPEST:
            yield from self._container(name, value, depth)
        elif isinstance(value, dict | list):
            yield f'{name}<span class="hint">nested too deeply to be shown</span>'
        else:
            yield _long_text(name, value, self._left_out)

    def _container(self, name: str, value: dict[str, Any] | list[Any], depth: int) -> Iterator[str]:
        opened = depth < OPEN_DEPTH and len(value) <= OPEN_CHILDREN
        what = "field" if isinstance(value, dict) else "item"
        told = f"{count(len(value))} {what}{'' if len(value) == 1 else 's'}"
        yield f'<details{" open" if opened else ""}><summary>{name}<span class="hint">{told}</span></summary>'
        text = self._indented(value) if self._text_for_folded and not opened else ""
        if text:
            self.left -= len(text) // CHARACTERS_A_VALUE
            yield f"<pre>{_marked(text)}</pre>"
        else:
            yield "<ul>"
            # Once for each branch: the text of a deep value is not made again at each level.
            mode, self._text_for_folded = self._text_for_folded, self._text_for_folded and opened
            yield from self.children(value, depth)
            self._text_for_folded = mode
            yield "</ul>"
        yield "</details>"

    def _indented(self, value: dict[str, Any] | list[Any]) -> str:
        """JSON text; "" if a tree shows the value better: if it is short, too long, or has texts of several lines."""
        text = json.dumps(value, ensure_ascii=False, indent=2)
        return text if SHORTEST_TEXT <= len(text) <= self.left * CHARACTERS_A_VALUE and "\\n" not in text else ""

    def children(self, value: dict[str, Any] | list[Any], depth: int) -> Iterator[str]:
        shown = 0
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            if shown == MOST_CHILDREN or self.left <= 0:
                break
            shown += 1
            yield from self.item(f'<span class="json-key">{escape(str(key))}</span>', child, depth + 1)
        if shown < len(value):
            yield f'<li class="hint">{count(len(value) - shown)} more: {self._left_out}</li>'


def _scalar_kind(value: Any) -> str | None:
    """Its class; None: not a value of one line."""
    if isinstance(value, str):
        return "json-text" if len(value) <= LONG else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "json-number"
    return None if isinstance(value, dict | list) and value else "json-word"


def _scalar(value: Any) -> str:
    return f"“{_marked(value)}”" if isinstance(value, str) else escape(json.dumps(value))


def _long_text(name: str, value: str, left_out: str) -> str:
    start, rest, length = _marked(value[:80]), _marked(value[:MOST_CHARACTERS]), count(len(value))
    cut = f'<p class="hint">{count(len(value) - MOST_CHARACTERS)} more characters: {left_out}</p>'
    return (
        f'<details><summary>{name}<span class="json-text">“{start}…</span> <span class="hint">{length} characters</span>'
        f"</summary><pre>{rest}</pre>{cut if len(value) > MOST_CHARACTERS else ''}</details>"
    )


def _marked(text: str) -> str:
    """The escaped text, with redaction marks highlighted."""
    return _REDACTED.sub(lambda found: f'<span class="chip warn">{found[0]}</span>', escape(text))
