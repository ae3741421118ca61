r"""LaTeX as MathML. A formula that is not understood, or takes too long, is shown as it was written.

The converter writes a formula's text unescaped, and attributes such as `href` from it. So its tree is used, not its text: only
the elements and attributes below are written, and all text is escaped. The sanitizer sees the result like all other HTML.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from html import escape, unescape
from itertools import islice
from xml.etree.ElementTree import Element

from sessions_app.core.rendering.cpu_limits import OutOfTime, cpu_limit

LONGEST_FORMULA = 2_000
# Elements of one formula.
MOST_ELEMENTS = 1_500
LOAD_SECONDS = 0.2
TAGS = {
    *("math", "mrow", "mi", "mn", "mo", "ms", "mspace", "mtext", "mfrac", "msqrt", "mroot", "mstyle", "mpadded", "mphantom"),
    *("msub", "msup", "msubsup", "munder", "mover", "munderover", "mtable", "mtr", "mtd"),
}
ATTRIBUTES = {
    *("display", "displaystyle", "scriptlevel", "stretchy", "fence", "form", "separator", "accent", "accentunder", "largeop"),
    *("movablelimits", "mathvariant", "linethickness", "lspace", "rspace", "width", "height", "depth", "minsize", "maxsize"),
}
WORDS = {"true", "false", "prefix", "infix", "postfix", "normal", "block", "inline"}
# Below 10 em, so that no formula covers the page.
SMALL = re.compile(r"(?:-0?\.\d{1,4}|\d(?:\.\d{1,4})?|0?\.\d{1,4})(?:em|ex|mu|pt|px)?")
# How many children they have. The converter leaves out those that the source does not have.
CHILDREN = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2, "munderover": 3}
# Operators with their limits below and above. The converter writes them like indices.
LIMITS = {"lim", "lim\u2006sup", "lim\u2006inf", "inj\u2006lim", "proj\u2006lim", "max", "min", "sup", "inf", "det", "gcd", "Pr"}
WITH_LIMITS = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
# Where `%` begins a comment: the converter leaves out the rest of the formula, of which it may be the half.
COMMENT = re.compile(r"(?<!\\)(?:\\\\)*%")
WORDS_INSIDE = re.compile(r"\\(?:text[a-z]*|mbox)\{[^{}]*\}")
# Chromium knows no `columnalign`.
ALIGNED = {"left", "right"}


class _Unknown(Exception):
    pass


type Formula = tuple[str, bool]


def as_mathml(formulas: Iterable[Formula], seconds: float) -> tuple[dict[Formula, str], float]:
    """MathML by (LaTeX, as a block?), for as many formulas of one text as the CPU time allows, and the time that is left."""
    left, found = seconds, dict[Formula, str]()
    for latex, block in formulas:
        if left <= 0:
            break
        if (latex, block) in found or not latex.strip() or len(latex) > LONGEST_FORMULA:
            continue
        began = time.process_time()
        try:
            convert = _loaded()
            began = time.process_time()
            with cpu_limit(left):
                found[latex, block] = _converted(convert, latex, block)
        # The converter's own errors have no common class; nesting that is too deep is a RecursionError.
        except (OutOfTime, Exception):  # noqa: S110 - shown as it was written
            pass
        left -= time.process_time() - began
    return found, left


@cache
def _converter() -> Callable[..., Element]:
    """Imported with the first formula, once in a process: it reads a table of 2,500 symbols."""
    from latex2mathml.converter import convert_to_element

    return convert_to_element


def _loaded() -> Callable[..., Element]:
    with cpu_limit(LOAD_SECONDS):
        return _converter()


def _converted(convert: Callable[..., Element], latex: str, block: bool) -> str:
    if COMMENT.search(WORDS_INSIDE.sub("", latex)):
        raise _Unknown("%")
    root = convert(latex, display="block" if block else "inline")
    if next(islice(root.iter(), MOST_ELEMENTS, None), None) is not None:
        raise _Unknown
    root.set("alttext", latex)
    return "".join(_written(root))


def _written(element: Element) -> Iterator[str]:
    tag = element.tag.rpartition("}")[2]
    if tag not in TAGS or len(element) != CHILDREN.get(tag, len(element)):
        raise _Unknown(tag)
    if tag == "mspace" and element.get("linebreak"):
        raise _Unknown("linebreak")  # No browser breaks the line there: two rows would be read as one.
    if tag in WITH_LIMITS and element[0].tag == "mo" and unescape(element[0].text or "") in LIMITS:
        tag = WITH_LIMITS[tag]
        # Within a line they are indices after all.
        element[0].set("movablelimits", "true")
    text = unescape(element.text or "")
    if tag != "mtext" and text.startswith("\\") and len(text) > 1:
        raise _Unknown(text)  # A command that the converter does not know.
    yield f"<{tag}{''.join(_attributes(tag, element))}>{escape(text)}"
    for child in element:
        yield from _written(child)
        yield escape(unescape(child.tail or ""))
    yield f"</{tag}>"


def _attributes(tag: str, element: Element) -> Iterator[str]:
    for name, value in element.items():
        if name in ATTRIBUTES and (value in WORDS or SMALL.fullmatch(value)):
            yield f' {name}="{value}"'
        elif tag == "mtd" and name == "columnalign" and value in ALIGNED:
            yield f' class="{value}"'
        elif tag == "math" and name == "alttext":
            yield f' alttext="{escape(value)}"'
