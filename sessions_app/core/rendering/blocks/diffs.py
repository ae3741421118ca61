"""Changes of files: a diff as it was written, and the two texts of an edit. Both linear: no search for the shortest diff."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

from django.utils.safestring import SafeString, mark_safe

# A unified diff has a hunk, an agent's patch its first line.
UNIFIED = re.compile(r"^@@ -\d{1,9}(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@", re.MULTILINE)
PATCH = re.compile(r"\s{0,9}\*\*\* Begin Patch\n")
HEADS = ("diff ", "index ", "--- ", "+++ ", "*** ", "new file", "deleted file", "similarity ", "rename ", "Binary ")
# Lines around an edit that did not change.
AROUND = 3


@dataclass(frozen=True, slots=True)
class Diff:
    """`html`: its lines, without a surrounding element."""

    html: SafeString
    added: int
    removed: int


def is_diff(text: str) -> bool:
    return PATCH.match(text) is not None or UNIFIED.search(text) is not None


def render_diff(text: str) -> Diff:
    return _shown(_kinds(text.removesuffix("\n").split("\n")))


def render_edit(old: str, new: str) -> Diff:
    """What differs is one block: all lines between the common first and last ones."""
    before, after = old.split("\n") if old else [], new.split("\n") if new else []
    first = _common(zip(before, after, strict=False))
    shorter = min(len(before), len(after)) - first
    last = min(shorter, _common(zip(reversed(before), reversed(after), strict=False)))
    same, end = before[:first][-AROUND:], before[len(before) - last :][:AROUND]
    lines = [(" ", line) for line in same]
    lines += [("-", line) for line in before[first : len(before) - last]]
    lines += [("+", line) for line in after[first : len(after) - last]]
    return _shown([*lines, *((" ", line) for line in end)])


def _common(pairs: Iterable[tuple[str, str]]) -> int:
    number = 0
    for one, other in pairs:
        if one != other:
            break
        number += 1
    return number


def _kinds(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        if line.startswith("@@"):
            yield "@", line
        elif line.startswith(HEADS):
            yield "#", line
        else:
            yield (line[0], line[1:]) if line[:1] in {"+", "-", " "} else (" ", line)


CLASSES = {"+": "d-add", "-": "d-del", "@": "d-hunk", "#": "d-head", " ": ""}


def _shown(lines: Iterable[tuple[str, str]]) -> Diff:
    made, count = list[str](), {"+": 0, "-": 0}
    for kind, line in lines:
        if kind in count:
            count[kind] += 1
        sign = "" if kind in "@#" else kind
        made.append(f'<span class="{CLASSES[kind]}">{sign}{escape(line, quote=False)}\n</span>')
    return Diff(mark_safe("".join(made)), count["+"], count["-"])  # noqa: S308 - every line is escaped
