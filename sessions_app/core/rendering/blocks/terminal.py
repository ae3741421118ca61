"""What a command wrote, as a terminal shows it: colours, and lines that were written over. Linear in the text's length."""

import re
from collections.abc import Iterator
from html import escape

from django.utils.safestring import SafeString, mark_safe

# Colours and styles; every other control sequence is left out. Bounded, so that nothing is looked for far ahead.
STYLED = re.compile(r"\x1b\[([\d;:]{0,40})m")
OTHERS = re.compile(
    r"\x1b\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|\x1b\[[0-9;:?<=>!]{0,40}[ -/]{0,4}[@-ln-~]|\x1b[()][A-Z0-9]|\x1b[=>78DEHMNOZc]"
)
CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")
COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
STYLES = {1: "bold", 2: "faint", 3: "italic", 4: "underlined"}
BRIGHT = 8


def has_colours(text: str) -> bool:
    return STYLED.search(text) is not None


def render_terminal(text: str) -> SafeString:
    """The text with its colours, without a surrounding element."""
    cleaned = CONTROLS.sub("", _written_over(OTHERS.sub("", text.replace("\r\n", "\n"))))
    return mark_safe("".join(_pieces(cleaned)))  # noqa: S308 - every piece is escaped


def _written_over(text: str) -> str:
    """Of a line that was written again and again, as by a progress bar, the last state."""
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


def _pieces(text: str) -> Iterator[str]:
    style = _Style()
    parts = STYLED.split(text)
    for at, part in enumerate(parts):
        if at % 2:
            style.change(part)
        elif part:
            shown = escape(part.replace("\x1b", ""), quote=False)
            yield f'<span class="{classes}">{shown}</span>' if (classes := style.classes) else shown


class _Style:
    def __init__(self) -> None:
        self.colour, self.on = "", frozenset[str]()

    @property
    def classes(self) -> str:
        return " ".join(f"t-{name}" for name in (*([self.colour] if self.colour else ()), *sorted(self.on)))

    def change(self, codes: str) -> None:
        numbers = [int(code) if code.isdecimal() and len(code) < 4 else 0 for code in re.split("[;:]", codes)]
        while numbers:
            code = numbers.pop(0)
            if code in {38, 48, 58}:
                self._extended(code, numbers)
            else:
                self._one(code)

    def _one(self, code: int) -> None:
        if code == 0:
            self.colour, self.on = "", frozenset()
        elif code in STYLES:
            self.on |= {STYLES[code]}
        elif code == 22:
            self.on -= {"bold", "faint"}
        elif code in {23, 24}:
            self.on -= {STYLES[code - 20]}
        elif 30 <= code <= 37 or 90 <= code <= 97:
            self.colour = COLOURS[code % 10]
        elif code == 39:
            self.colour = ""

    def _extended(self, code: int, numbers: list[int]) -> None:
        """One of 256 colours, or red, green and blue. Of the former the basic ones are shown, and no background."""
        kind = numbers.pop(0) if numbers else 0
        taken = [numbers.pop(0) for _ in range(min(len(numbers), {5: 1, 2: 3}.get(kind, 0)))]
        if code == 38:
            self.colour = COLOURS[taken[0] % BRIGHT] if kind == 5 and taken and taken[0] < 2 * BRIGHT else ""
