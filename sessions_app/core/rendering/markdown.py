"""Stored text as safe HTML: Markdown without raw HTML, code highlighted, formulas as MathML, and everything through a sanitizer.

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

from sessions_app.core.rendering import mathematics
from sessions_app.core.rendering.code_blocks import LANGUAGE, fence, indented
from sessions_app.core.rendering.cpu_limits import cpu_limit
from sessions_app.core.rendering.highlighting import HIGHLIGHT_SECONDS, highlighted
from sessions_app.core.rendering.link_targets import ELSEWHERE
from sessions_app.core.rendering.markdown_rules import add_rules, add_rules_of_users, formulas_in

# CPU seconds allowed for a text, without its formulas and the highlighting of its code. markdown-it is quadratic
# where brackets or asterisks stay open; ordinary text of the permitted length takes half of this.
PARSE_SECONDS, WRITE_SECONDS = 0.06, 0.03
TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "blockquote", "ul", "ol", "li", "a", "code", "pre", "span"),
    *("h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
    *("sup", "section", "input", "div"),
    *mathematics.TAGS,
}
ATTRIBUTES = {
    "a": {"href", "title"},
    "p": {"class"},
    "ol": {"start"},
    "input": {"type", "disabled", "checked", "aria-label"},
    "pre": {"class", "data-language", "data-lines"},
    "table": {"tabindex"},
    **{tag: {"class"} for tag in ("span", "section", "li", "div", "th", "td")},
    **dict.fromkeys(mathematics.TAGS, mathematics.ATTRIBUTES),
    "mtd": {"class"},
    "math": {"display", "alttext"},
}
# The classes that `markdown_rules` writes.
CLASSES = {
    ("p", "plain"),
    *(("span", "math"), ("pre", "math"), ("div", "math"), ("section", "footnote"), ("li", "task")),
    *((tag, cell) for tag in ("th", "td") for cell in ("center", "right", "long", "center long", "right long")),
    *(("mtd", side) for side in mathematics.ALIGNED),
}
VALUES = {"data-language": LANGUAGE, "data-lines": re.compile(r"\d{1,6}"), "tabindex": re.compile("0")}
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


def _line_break(*_parsed: Any) -> str:
    """Alone: style sheets keep the line breaks of the source, so one after it would count twice."""
    return "<br>"


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
    reader.add_render_rule("fence", fence)
    reader.add_render_rule("code_block", indented)
    reader.add_render_rule("hardbreak", _line_break)
    reader.core.ruler.push("headings", _headings)
    add_rules(reader)
    return reader


def _reader_of_users() -> MarkdownIt:
    reader = MarkdownIt("zero")
    reader.add_render_rule("fence", fence)
    add_rules_of_users(reader)
    return reader


READER, READER_OF_USERS = _reader(), _reader_of_users()


def _kept(tag: str, attribute: str, value: str) -> str | None:
    """Keep only the classes that the highlighter and our rules write, and only where they write them."""
    if attribute == "class":
        return value if (tag, value) in CLASSES or (tag == "span" and HIGHLIGHTED.fullmatch(value)) else None
    return value if (form := VALUES.get(attribute)) is None or form.fullmatch(value) else None


def to_html(text: str, *, of_user: bool = False) -> str:
    """Returns HTML that is safe to include in a page. Raises `OutOfTime`.

    `of_user`: a user wrote it. It is no Markdown, and keeps its lines and blanks.
    """
    reader = READER_OF_USERS if of_user else READER
    environment: dict[str, Any] = {}
    with cpu_limit(PARSE_SECONDS):
        tokens = reader.parse(text, environment)
    # Before the output is written, because both have a time limit of their own, which they share.
    environment["formulas"], left = mathematics.as_mathml(formulas_in(tokens), HIGHLIGHT_SECONDS)
    environment["code"] = highlighted(((token.content, token.info) for token in tokens if token.type == "fence"), left)
    with cpu_limit(WRITE_SECONDS):
        return _sanitized(reader.renderer.render(tokens, reader.options, environment))


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
            # What they are in goes by the direction of its first letters, as the style sheet does for paragraphs.
            **{tag: {"dir": "auto"} for tag in ("ul", "ol", "blockquote", "table")},
            # Both may scroll.
            "pre": {"tabindex": "0"},
            "div": {"tabindex": "0"},
            "input": {"type": "checkbox", "disabled": ""},
        },
    )
