"""Stored text as safe HTML: Markdown without raw HTML, code highlighted, and everything through a sanitizer.

Remote images become links: nothing is fetched from other sites before a click.

This runs in a process of its own (`markdown_process.py`), where its CPU time is limited: views call `page_renderer.py`. So it
imports nothing of Django.
"""

import re
from collections.abc import MutableMapping, Sequence
from html import escape
from typing import Any
from urllib.parse import unquote

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from sessions_app.core.rendering.cpu_limits import cpu_limit
from sessions_app.core.rendering.highlighting import highlighted
from sessions_app.core.rendering.link_targets import ELSEWHERE
from sessions_app.core.rendering.markdown_rules import add_rules

# CPU seconds allowed for a text, without the highlighting of its code. markdown-it is quadratic where brackets or asterisks
# stay open; ordinary text of the permitted length takes half of this.
PARSE_SECONDS, WRITE_SECONDS = 0.06, 0.03
TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "blockquote", "ul", "ol", "li", "a", "code", "pre", "span"),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
    *("sup", "section", "input"),
}
ATTRIBUTES = {
    "a": {"href", "title"},
    "ol": {"start"},
    "input": {"type", "disabled", "checked", "aria-label"},
    **{tag: {"class"} for tag in ("span", "pre", "section", "li")},
}
# The classes that `markdown_rules` writes.
CLASSES = {("span", "math"), ("pre", "math"), ("section", "footnote"), ("li", "task")}
HIGHLIGHTED = re.compile(r"[a-z]{1,3}[0-9]?( [a-z]{1,3}[0-9]?)?")
# The page's own headings end at this level; a message's begin below.
PAGE_LEVEL = 2


def _image(
    _renderer: RendererHTML, tokens: Sequence[Token], at: int, _options: Any, _environment: MutableMapping[str, Any]
) -> str:
    address, words = str(tokens[at].attrs.get("src", "")), tokens[at].content or "image"
    if not ELSEWHERE.match(address):
        return f"Image: {escape(words)}" + ("" if address.startswith("data:") else f" (<code>{escape(unquote(address))}</code>)")
    return f'<a href="{escape(address)}">Image: {escape(words)}</a>'


def _headings(state: StateCore) -> None:
    """Shift a message's headings below the page's own, without skipping a level."""
    tokens = [token for token in state.tokens if token.type in {"heading_open", "heading_close"}]
    used = sorted({token.tag for token in tokens})
    level = PAGE_LEVEL
    for token in tokens:
        if token.type == "heading_open":
            level = min(PAGE_LEVEL + 1 + used.index(token.tag), level + 1, 6)
        token.tag = f"h{level}"


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    reader.add_render_rule("image", _image)
    reader.core.ruler.push("headings", _headings)
    add_rules(reader)
    return reader


READER = _reader()


def _kept(tag: str, attribute: str, value: str) -> str | None:
    """Keep only the classes that the highlighter and our rules write, and only where they write them."""
    if attribute == "class":
        return value if (tag, value) in CLASSES or (tag == "span" and HIGHLIGHTED.fullmatch(value)) else None
    return value


def to_html(text: str) -> str:
    """Returns HTML that is safe to include in a page. Raises `OutOfTime`."""
    environment: dict[str, Any] = {}
    with cpu_limit(PARSE_SECONDS):
        tokens = READER.parse(text, environment)
    # Before the output is written, because highlighting has its own time limit.
    code = highlighted((token.content, token.info) for token in tokens if token.type == "fence")
    options = OptionsDict({**READER.options, "highlight": lambda content, name, _: code.get((content, name), "")})  # type: ignore[typeddict-item]
    with cpu_limit(WRITE_SECONDS):
        return _sanitized(READER.renderer.render(tokens, options, environment))


def _sanitized(html: str) -> str:
    return nh3.clean(
        html,
        tags=TAGS,
        attributes=ATTRIBUTES,
        attribute_filter=_kept,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
        set_tag_attribute_values={
            "a": {"target": "_blank"},
            "pre": {"tabindex": "0"},
            "input": {"type": "checkbox", "disabled": ""},
        },
    )
