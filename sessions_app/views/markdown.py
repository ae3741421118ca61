"""Stored text as safe HTML: Markdown without raw HTML, code highlighted, and everything through a sanitizer.

Remote images are links: nothing is fetched from elsewhere before a click.
"""

import re
import sys
from collections.abc import MutableMapping, Sequence
from threading import Lock
from typing import Any

import nh3
from cachetools import LRUCache, cached
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

# Longer text is shown as it is: nobody waits for the highlighting of a log file.
LONGEST, LONGEST_CODE = 50_000, 20_000
TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "blockquote", "ul", "ol", "li", "a", "code", "pre", "span"),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
HIGHLIGHTED = re.compile(r"[a-z]{1,3}[0-9]?( [a-z]{1,3}[0-9]?)?")
# The page's own headings end here; a message's begin below.
PAGE_LEVEL = 2
# What was rendered lately is kept, up to so many bytes: of HTML, and about as many of the texts that it is of.
KEPT_BYTES = 16_000_000
_rendered: LRUCache[Any, SafeString] = LRUCache(KEPT_BYTES, getsizeof=lambda html: 2 * sys.getsizeof(html))


def _code(text: str, language: str, _attributes: str) -> str:
    if not language or len(text) > LONGEST_CODE:
        return ""
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return ""
    return str(highlight(text, lexer, HtmlFormatter(nowrap=True)))


def _image(
    _renderer: RendererHTML, tokens: Sequence[Token], at: int, _options: Any, _environment: MutableMapping[str, Any]
) -> str:
    address, words = str(tokens[at].attrs.get("src", "")), tokens[at].content or "image"
    return f'<a href="{escape(address)}">Image: {escape(words)}</a>'


def _headings(state: StateCore) -> None:
    """A message's headings in the page's outline: under its own, and never skipping a level."""
    tokens = [token for token in state.tokens if token.type in {"heading_open", "heading_close"}]
    used = sorted({token.tag for token in tokens})
    level = PAGE_LEVEL
    for token in tokens:
        if token.type == "heading_open":
            level = min(PAGE_LEVEL + 1 + used.index(token.tag), level + 1, 6)
        token.tag = f"h{level}"


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "highlight": _code}).enable(["table", "strikethrough"])
    reader.add_render_rule("image", _image)
    reader.core.ruler.push("headings", _headings)
    return reader


READER = _reader()


def _kept(tag: str, attribute: str, value: str) -> str | None:
    """Classes only where the highlighter puts them, and only such as it writes."""
    if attribute == "class":
        return value if tag == "span" and HIGHLIGHTED.fullmatch(value) else None
    return value


@cached(_rendered, lock=Lock())
def render(text: str) -> SafeString:
    """Safe to put into a page as it is."""
    if len(text) > LONGEST:
        return mark_safe(f'<div class="plain">{escape(text)}</div>')  # noqa: S308 - escaped
    clean = nh3.clean(
        READER.render(text),
        tags=TAGS,
        attributes={"a": {"href", "title"}, "span": {"class"}, "ol": {"start"}},
        attribute_filter=_kept,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
        set_tag_attribute_values={"a": {"target": "_blank"}, "pre": {"tabindex": "0"}},
    )
    return mark_safe(clean)  # noqa: S308 - sanitized
