"""A JSON value as collapsible HTML: long content is cut, and the HTML shows how much is left out."""

import json
import re
from collections.abc import Iterator
from typing import Any

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from sessions_app.core.text import count

MOST_VALUES, MOST_CHILDREN, MOST_CHARACTERS = 2_000, 200, 20_000
LONG, DEEPEST = 300, 30
# Initially open: parts that are neither deep nor large.
OPEN_DEPTH, OPEN_CHILDREN = 2, 50
_REDACTED = re.compile(r"\[REDACTED:[a-z0-9_-]+\]")


def render_value(value: Any, *, most: int) -> tuple[SafeString, int]:
    """The fields or items of a value, without a line for the whole, and how many values that are; at most about `most`."""
    tree = _Tree(most)
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
    def __init__(self, most: int = MOST_VALUES) -> None:
        self.left = most

    def root(self, value: Any) -> Iterator[str]:
        yield '<ul class="json">'
        yield from self.item("", value, 0)
        yield "</ul>"

    def item(self, name: str, value: Any, depth: int) -> Iterator[str]:
        yield "<li>"
        yield from self._value(name, value, depth)
        yield "</li>"

    def _value(self, name: str, value: Any, depth: int) -> Iterator[str]:
        self.left -= 1
        if isinstance(value, dict | list) and value and depth < DEEPEST:
            yield from self._container(name, value, depth)
        elif isinstance(value, dict | list) and value:
            yield f'{name}<span class="hint">nested too deeply to be shown</span>'
        elif isinstance(value, str) and len(value) > LONG:
            yield _long_text(name, value)
        else:
            yield name + _scalar(value)

    def _container(self, name: str, value: dict[str, Any] | list[Any], depth: int) -> Iterator[str]:
        opened = " open" if depth < OPEN_DEPTH and len(value) <= OPEN_CHILDREN else ""
        what = "field" if isinstance(value, dict) else "item"
        told = f"{count(len(value))} {what}{'' if len(value) == 1 else 's'}"
        yield f'<details{opened}><summary>{name}<span class="hint">{told}</span></summary><ul>'
        yield from self.children(value, depth)
        yield "</ul></details>"

    def children(self, value: dict[str, Any] | list[Any], depth: int) -> Iterator[str]:
        shown = 0
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            if shown == MOST_CHILDREN or self.left <= 0:
                break
            shown += 1
            yield from self.item(format_html('<span class="json-key">{}</span>', key), child, depth + 1)
        if shown < len(value):
            yield f'<li class="hint">{count(len(value) - shown)} more: see the raw JSON</li>'


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return f'<span class="json-text">“{_marked(value)}”</span>'
    kind = "json-number" if isinstance(value, int | float) and not isinstance(value, bool) else "json-word"
    return format_html('<span class="{}">{}</span>', kind, json.dumps(value))


def _long_text(name: str, value: str) -> str:
    start, rest, length = _marked(value[:80]), _marked(value[:MOST_CHARACTERS]), count(len(value))
    cut = f'<p class="hint">{count(len(value) - MOST_CHARACTERS)} more characters: see the raw JSON</p>'
    return (
        f'<details><summary>{name}<span class="json-text">“{start}…</span> <span class="hint">{length} characters</span>'
        f"</summary><pre>{rest}</pre>{cut if len(value) > MOST_CHARACTERS else ''}</details>"
    )


def _marked(text: str) -> str:
    """The escaped text, with redaction marks highlighted."""
    return _REDACTED.sub(lambda found: f'<span class="chip warn">{found[0]}</span>', escape(text))
