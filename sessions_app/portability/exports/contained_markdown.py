"""Markdown that ends where it ends: no code and no HTML that it leaves open can hide what follows it. Pure."""

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# A longer text in which code or HTML may begin is shown as it was written: what a line costs depends on all lines around it.
MOST_LINES = 5_000
_LINE_END = re.compile(r"\r\n?")
# Without one of these no block can stay open.
_MAY_STAY_OPEN = re.compile(r"```|~~~|<")
# Where a block of HTML can begin. Not `<https://…>`.
_HTML = re.compile(r"<(?:[!?]|/?[A-Za-z][A-Za-z0-9-]*(?=[\s/>]|$))")
_PROBE = "probe"


def contained(text: str) -> str:
    """`text` as blocks of Markdown: an open fence is closed, and HTML at the beginning of a line is escaped."""
    text = _LINE_END.sub("\n", text)
    if not _MAY_STAY_OPEN.search(text):
        return text
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        return fenced(text)
    tokens = _reader().parse(f"{text}\n\n{_PROBE}")
    for token in tokens:
        if token.type == "inline":
            _escape_html(lines, token)
    last = tokens[-1]
    if last.type == "fence":
        return "\n".join([*lines, last.markup])
    if last.type == "paragraph_close" and last.level == 0 and tokens[-2].content == _PROBE:
        return "\n".join(lines)
    return fenced(text)  # Nested too deeply for the reader.


def fenced(text: str, language: str = "") -> str:
    """`text` as code, in a fence longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


@cache
def _reader() -> "MarkdownIt":
    """Of blocks. Lines that would begin HTML, or define a link, are lines of paragraphs to it."""
    from markdown_it import MarkdownIt  # Takes megabytes, and is loaded only where something is exported or shown.

    return MarkdownIt("commonmark").disable(["html_block", "reference", "inline", "text_join"])


def _escape_html(lines: list[str], token: "Token") -> None:
    """Escape the lines of a paragraph, of which the token has the words without the marks of lists and quotes before them."""
    first = (token.map or [0, 0])[0]
    for number, words in enumerate(token.content.split("\n"), first):
        words = words.strip()
        if number < len(lines) and _HTML.match(words):
            at = len(lines[number].rstrip()) - len(words)
            lines[number] = f"{lines[number][:at]}\\{lines[number][at:]}"
