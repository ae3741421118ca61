"""What messages have beyond CommonMark: mathematics, footnotes, task lists, bare addresses, aligned cells, no dead links.

And what text has that a user wrote: fenced code, code in backticks and bare addresses; all else stays as it was written.

Each rule takes linear time on any text: the texts are untrusted.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, MutableMapping, Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import unquote

from linkify_it import LinkifyIt
from linkify_it.main import Match
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock, fence
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.dollarmath.index import math_inline_dollar
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.footnote.index import footnote_ref

from sessions_app.core.rendering.link_targets import ELSEWHERE
from sessions_app.core.rendering.mathematics import Formula

LONGEST_URL, LONGEST_FOOTNOTE_LABEL = 2_000, 100
MATH_BLOCK = re.compile(r"\$\$|\\\[|\\begin\{([A-Za-z]{1,30}\*?)\}")
BLANK_LINE = re.compile(r"\n[ \t]*\n")
URL_LIKE = re.compile(r"\S*(?:https?|mailto):\S+", re.IGNORECASE)
FIRST_URLS = ("http://a.example", "mailto:a@a.example")
TASK = re.compile(r"\[([ xX])\](?=[ \t])")
FORMULAS = {"math_inline", "math_inline_double", "math_block"}
ALIGNED = re.compile(r"text-align:(center|right)")
# Characters of a table's cell that has several lines.
LONG_CELL = 32
LIKE_A_FORMULA = re.compile(r"\s+\S|[^\\^_={}]*[\\^_={}]")
NAME = re.compile(r"[A-Za-z0-9{]")
DOLLARS = math_inline_dollar(allow_space=False, allow_digits=False, allow_double=True)
CODE = re.compile(r"`([^`\n]+)`")
INTERRUPTS: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list", "footnote_def"]}


class UrlsOnly(LinkifyIt):  # type: ignore[misc]  # It has no types.
    """Finds full addresses in one word at a time: its patterns are quadratic in the length of their input."""

    def __init__(self) -> None:
        super().__init__(options={"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})
        self.add("ftp:", None).add("//", None)
        # Patterns are compiled at their first use. That takes longer than a message may, so it happens here.
        for first in FIRST_URLS:
            if not super().match(first):
                raise AssertionError(first)

    def test(self, text: str) -> bool:
        return bool(self.match(text))

    def match(self, text: str) -> list[Match] | None:
        found: list[Match] = []
        for word in URL_LIKE.finditer(text):
            if len(word[0]) > LONGEST_URL:
                continue
            for match in super().match(word[0]) or []:
                match.index += word.start()
                match.last_index += word.start()
                found.append(match)
        return found or None


def add_links(reader: MarkdownIt) -> None:
    reader.linkify = UrlsOnly()
    reader.options["linkify"] = True
    reader.core.ruler.enable("linkify")


def add_rules(reader: MarkdownIt) -> None:
    add_links(reader)
    dollarmath_plugin(reader)
    reader.inline.ruler.at("math_inline", _math_dollar)
    reader.inline.ruler.before("escape", "math_bracket", _math_bracket)
    reader.block.ruler.at("math_block", _math_block, INTERRUPTS)
    footnote_plugin(reader, inline=False, move_to_end=False)
    reader.inline.ruler.at("footnote_ref", _footnote_ref)
    reader.core.ruler.after("inline", "tasks", _tasks)
    reader.core.ruler.push("cells", _cells)
    reader.core.ruler.push("dead_links", _dead_links)
    for name in FORMULAS:
        reader.add_render_rule(name, _formula)
    for name, html in RENDERED.items():
        reader.add_render_rule(name, html)


def add_rules_of_users(reader: MarkdownIt) -> None:
    """For a reader without any rules. A pasted diff, listing or poem is no Markdown: its signs and blanks mean themselves."""
    add_links(reader)
    reader.block.ruler.before("paragraph", "fence_at_margin", _fence_at_margin)
    reader.block.ruler.at("paragraph", _as_written)
    reader.inline.ruler.push("code", _code)


def _fence_at_margin(state: StateBlock, start: int, last: int, silent: bool) -> bool:
    """An indented one is a line of what was pasted."""
    return state.sCount[start] == 0 and fence(state, start, last, silent)


def _as_written(state: StateBlock, start: int, last: int, _silent: bool) -> bool:
    """All lines up to the next fence."""
    line = start + 1
    while line < last and not _fence_at_margin(state, line, last, True):
        line += 1
    state.push("paragraph_open", "p", 1).attrSet("class", "plain")
    token = state.push("inline", "", 0)
    token.content, token.map, token.children = state.getLines(start, line, 0, False).rstrip(), [start, line], []
    state.push("paragraph_close", "p", -1)
    state.line = line
    return True


def _code(state: StateInline, silent: bool) -> bool:
    """Within one line: CommonMark's rule would join lines."""
    found = CODE.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("code_inline", "code", 0).content = found[1]
    state.pos = found.end()
    return True


def _math_dollar(state: StateInline, silent: bool) -> bool:
    """The plugin's rule, without `$HOME/bin:$PATH`: what goes on as a name ends no formula. Other scripts need no blank there."""
    start = state.pos
    if not DOLLARS(state, True) or NAME.match(state.src, state.pos):
        state.pos = start
        return False
    state.pos = start
    return DOLLARS(state, silent)


def _math_bracket(state: StateInline, silent: bool) -> bool:
    r"""`\( … \)` and `\[ … \]` within a line of text, where `\[x\]` and `list\[0\]` are brackets that Markdown has escaped."""
    opening = state.src[state.pos : state.pos + 2]
    if opening not in {r"\(", r"\["}:
        return False
    end = state.src.find(r"\)" if opening == r"\(" else r"\]", state.pos + 2)
    if end < 0:
        return False
    content = state.src[state.pos + 2 : end]
    if opening == r"\[" and (state.src[state.pos - 1 : state.pos].isalnum() or not LIKE_A_FORMULA.match(content)):
        return False
    if not silent:
        token = state.push("math_inline", "", 0)
        token.content, token.markup = content, opening
    state.pos = end + 2
    return True


def _math_block(state: StateBlock, start: int, last: int, silent: bool) -> bool:
    r"""`$$`, `\[` or `\begin{…}` that opens a line, up to what closes a line, with no blank line between."""
    begin = state.bMarks[start] + state.tShift[start]
    opening = MATH_BLOCK.match(state.src, begin)
    if opening is None or state.is_code_block(start):
        return False
    closing = rf"\end{{{opening[1]}}}" if opening[1] else {"$$": "$$"}.get(opening[0], r"\]")
    end = state.src.find(closing, opening.end())
    if end < 0 or BLANK_LINE.search(state.src, begin, end):
        return False
    line = bisect_right(state.bMarks, end, hi=last) - 1
    if line >= last or state.src[end + len(closing) : state.eMarks[line]].strip():
        return False
    if not silent:
        token = state.push("math_block", "", 0)
        token.content, token.map = state.getLines(start, line + 1, state.sCount[start], False).strip(), [start, line + 1]
        state.line = line + 1
    return True


def _footnote_ref(state: StateInline, silent: bool) -> bool:
    """The plugin's rule, limited: on its own it scans until it finds the end of a label."""
    if not state.src.startswith("[^", state.pos) or state.src.find("]", state.pos, state.pos + LONGEST_FOOTNOTE_LABEL) < 0:
        return False
    return footnote_ref(state, silent)


def _tasks(state: StateCore) -> None:
    tokens = state.tokens
    for at, token in enumerate(tokens):
        if at < 2 or not token.children or tokens[at - 2].type != "list_item_open":
            continue
        first = token.children[0]
        if first.type == "text" and (box := TASK.match(first.content)):
            first.content = first.content[box.end() :].lstrip()
            token.children = [Token("task_box", "", 0, meta={"done": box[1] != " "}), *token.children]
            tokens[at - 2].attrSet("class", "task")


def _dead_links(state: StateCore) -> None:
    """A relative address means nothing on this page: it is shown beside the link text."""
    for token in state.tokens:
        if token.children and any(child.type == "link_open" for child in token.children):
            token.children = _without_dead_links(token.children)


def _without_dead_links(children: list[Token]) -> list[Token]:
    kept: list[Token] = []
    address = ""
    for child in children:
        if child.type == "link_open" and not ELSEWHERE.match(str(child.attrGet("href"))):
            address = unquote(str(child.attrGet("href")))
        elif child.type == "link_close" and address:
            if kept and kept[-1].content != address:
                kept.append(Token("dead_link", "", 0, content=address))
            address = ""
        else:
            kept.append(child)
    return kept


def _cells(state: StateCore) -> None:
    """Classes of a table's cells: how they are aligned, for pages allow no inline styles, and whether they are long. A short one
    stays in one line, since a wide table scrolls: by keys, too. It is the table itself, so for screen readers it stays one."""
    for token, inside in pairwise(state.tokens):
        if token.type == "table_open":
            token.attrSet("tabindex", "0")
        if token.type in {"th_open", "td_open"}:
            side = ALIGNED.fullmatch(str(token.attrs.pop("style", "")))
            is_long = len(inside.content) > LONG_CELL
            if classes := [*([side[1]] if side else []), *(["long"] if is_long else [])]:
                token.attrSet("class", " ".join(classes))


def formulas_in(tokens: Sequence[Token]) -> Iterator[Formula]:
    for token in tokens:
        yield from (_formula_of(one) for one in (token, *(token.children or ())) if one.type in FORMULAS)


def _formula_of(token: Token) -> Formula:
    """A block's content is as it was written, with its delimiters."""
    content = token.content
    if token.block and content.startswith(("$$", r"\[")):
        content = content[2:-2]
    return content.strip(), token.block or token.type == "math_inline_double" or token.markup == r"\["


def _formula(_reader: RendererHTML, tokens: Sequence[Token], at: int, _options: Any, env: MutableMapping[str, Any]) -> str:
    token = tokens[at]
    mathml = env.get("formulas", {}).get(_formula_of(token))
    if mathml is not None:
        return f'<div class="math">{mathml}</div>\n' if token.block else f'<span class="math">{mathml}</span>'
    closing = {r"\(": r"\)", r"\[": r"\]"}.get(token.markup, token.markup)
    if token.block:
        return f'<pre class="math">{escapeHtml(token.content)}</pre>\n'
    return f'<span class="math">{escapeHtml(token.markup + token.content + closing)}</span>'


def _task_box(_reader: RendererHTML, tokens: Sequence[Token], at: int, _options: Any, _env: MutableMapping[str, Any]) -> str:
    done = tokens[at].meta["done"]
    return f'<input type="checkbox" disabled aria-label="{"done" if done else "to do"}"{" checked" if done else ""}> '


def _dead_link(_reader: RendererHTML, tokens: Sequence[Token], at: int, _options: Any, _env: MutableMapping[str, Any]) -> str:
    return f" (<code>{escapeHtml(tokens[at].content)}</code>)"


def _label(_reader: RendererHTML, tokens: Sequence[Token], at: int, _options: Any, _env: MutableMapping[str, Any]) -> str:
    return f"<sup>[{escapeHtml(tokens[at].meta['label'])}]</sup>"


def _footnote(_reader: RendererHTML, tokens: Sequence[Token], at: int, _options: Any, _env: MutableMapping[str, Any]) -> str:
    return f'<section class="footnote"><sup>[{escapeHtml(tokens[at].meta["label"])}]</sup>\n'


def _footnote_end(*_unused: Any) -> str:
    return "</section>\n"


RENDERED = {
    "task_box": _task_box,
    "dead_link": _dead_link,
    "footnote_ref": _label,
    "footnote_reference_open": _footnote,
    "footnote_reference_close": _footnote_end,
}
