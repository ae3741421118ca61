"""The top frame of a stack: where the error was raised. Parsed from output of Python, JavaScript, Java, .NET, Go, Ruby, PHP and
Rust, or from a list.

Pure; the patterns run in linear time. In a list the top frame comes first.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import re2

# Frames of the Go and Rust runtimes above the one that failed.
_RUNTIME = re2.compile(
    r"^(?:panic$|runtime[./]|runtime/debug\.|rust_begin_unwind|core::(?:panicking|option|result)::|std::panicking::)"
)
_PYTHON = re2.compile(r'(?m)^[ \t|+-]*File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<function>[^\n]+))?')
# Formats with the innermost frame first; tried in this order, the first match decides the stack's language.
_TOP_FIRST = [
    # PHP: #0 /app/index.php(12): Shop\Cart->add()
    re2.compile(r"(?m)^#\d+ (?P<file>[^\n(]+)\((?P<line>\d+)\): (?P<function>[^\n(]+)"),
    # Rust: 0: shop::add, at ./src/cart.rs:12:5
    re2.compile(r"(?m)^[ \t]*\d+: (?:0x[0-9a-f]+ - )?(?P<function>[^\n]+)\n[ \t]*at (?P<file>[^\n:]+):(?P<line>\d+)"),
    # Java: at com.shop.Cart.add(Cart.java:12), at java.base/java.lang.Thread.run(Native Method)
    re2.compile(
        r"(?m)^[ \t]*at (?P<function>[\w.$<>/@-]+)\((?:(?P<file>[\w$-]+\.\w+)(?::(?P<line>\d+))?|Native Method|Unknown Source)\)"
    ),
    # JavaScript (V8): at async Cart.add [as push] (https://shop/app.js:12:5), at https://shop/app.js:12:5
    re2.compile(
        r"(?m)^[ \t]*at (?:(?P<function>[^\n(]+?) \((?P<file>[^\n()]+?)(?::(?P<line>\d+))?(?::\d+)?\)"
        r"|(?:async )?(?P<file2>[^\s():]+(?::[^\s():]+)*?):(?P<line2>\d+):\d+)[ \t]*$"
    ),
    # .NET: at Shop.Cart.Add(String name) in /app/Cart.cs:line 12
    re2.compile(r"(?m)^[ \t]*at (?P<function>[^\n(]+)\([^\n)]*\)(?: in (?P<file>[^\n]+?):line (?P<line>\d+))?[ \t]*$"),
    # Go: main.(*Cart).Add(0xc000, ...), then on a line of its own: /app/cart.go:12 +0x1d
    re2.compile(r"(?m)^(?P<function>[^\s:][^\n]*?)\([^\n()]*\)\n[ \t]+(?P<file>[^\n]+?):(?P<line>\d+)(?: \+0x[0-9a-f]+)?[ \t]*$"),
    # Ruby: /app/cart.rb:12:in 'Cart#add'
    re2.compile(r"(?m)^[ \t]*(?:from )?(?P<file>[^\s:]+):(?P<line>\d+):in [`'](?P<function>[^\n']+)'"),
    # Firefox and Safari: add@https://shop/app.js:12:5
    re2.compile(r"(?m)^(?P<function>[^\s@]*)@(?P<file>[^\n]+?):(?P<line>\d+)(?::\d+)?$"),
]


@dataclass(frozen=True, slots=True)
class Frame:
    """Where an error was raised, as far as known."""

    file: str = ""
    function: str = ""
    line: int | None = None


NOWHERE = Frame()


def top_frame(stack: Any) -> Frame:
    """The top frame of a text or a list of `{file, function, line}`; `NOWHERE` if there is none."""
    if isinstance(stack, str):
        return _of_text(stack.replace("\r\n", "\n"))
    frames = [frame_of(item) for item in stack or [] if isinstance(item, dict)]
    return _first(frame for frame in frames if frame != NOWHERE)


def frame_of(item: dict[str, Any]) -> Frame:
    file, function, line = item.get("file"), item.get("function"), item.get("line")
    is_line = isinstance(line, int) and not isinstance(line, bool) and line >= 0
    return Frame(file if isinstance(file, str) else "", function if isinstance(function, str) else "", line if is_line else None)


def last_call(text: str) -> Any:
    """The match of the last call in a Python traceback."""
    place = len(text)
    while (place := text.rfind('File "', 0, place)) >= 0:
        call = _PYTHON.search(text, text.rfind("\n", 0, place) + 1)
        if call is not None and call.start() <= place:
            return call
    return None


@dataclass(frozen=True, slots=True)
class PrintedFrame:
    """A frame of a printed stack, and where in the text it is."""

    start: int
    end: int
    frame: Frame


def printed_frames(text: str) -> list[PrintedFrame]:
    """The frames of a printed stack in their order. Which pattern matches decides the language, as for the top frame."""
    for pattern in [_PYTHON, *_TOP_FIRST]:
        found = [PrintedFrame(match.start(), match.end(), _frame(match)) for match in pattern.finditer(text)]
        if any(one.frame != NOWHERE for one in found):
            return found
    return []


def _of_text(text: str) -> Frame:
    call = last_call(text)
    if call is not None:
        return _frame(call)
    for pattern in _TOP_FIRST:
        frame = _first(_frame(match) for match in pattern.finditer(text))
        if frame != NOWHERE:
            return frame
    return NOWHERE


def _first(frames: Iterable[Frame]) -> Frame:
    """The first frame that is not of the runtime; if all are, the first."""
    first = NOWHERE
    for frame in frames:
        if not _RUNTIME.search(frame.function):
            return frame
        first = frame if first == NOWHERE else first
    return first


def _number(line: str | None) -> int | None:
    """The line number; None if missing or implausibly large."""
    return int(line) if line and len(line) < 10 else None


def _frame(match: Any) -> Frame:
    found = match.groupdict()
    file, line = found["file"] or found.get("file2"), found.get("line") or found.get("line2")
    return Frame((file or "").strip(), (found["function"] or "").strip(), _number(line))
