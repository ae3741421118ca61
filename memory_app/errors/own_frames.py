"""Which frames of a stack are the project's own: by their path, not those of libraries and of the language.

Pure, in linear time.
"""

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import re2

from memory_app.errors.stack_frames import NOWHERE, Frame, frame_of, last_call, printed_frames

# Folders of installed packages, and of the language's own library.
_FOREIGN_FILE = re2.compile(
    r"(?i)(?:^|[/\\])(?:site-packages|dist-packages|node_modules|bower_components|vendor|gems|\.cargo|rustc|\.m2|\.nuget|\.venv|venv)[/\\]"
    r"|[/\\]lib(?:64)?[/\\](?:python|ruby|php)[\d.]*[/\\]|[/\\]python[\d.]*[/\\]lib[/\\]|[/\\]go[/\\](?:pkg[/\\]mod|src)[/\\]"
    r"|^(?:<frozen |node:|internal/|webpack/|\[native|native |(?:chrome|moz|safari-web)-extension:)"
)
# Where a frame has no path: packages of the language and of widespread frameworks.
_FOREIGN_FUNCTION = re2.compile(
    r"^(?:(?:java|javax|jdk|sun|com\.sun|kotlin|kotlinx|scala|org\.springframework|org\.apache|org\.junit|io\.netty|System|Microsoft)"
    r"(?:\.|/)|(?:runtime|reflect|testing|net/http)\.|(?:core|std|alloc|tokio)::)"
)


@dataclass(frozen=True, slots=True)
class StackLine:
    """A frame as it was printed, with its source; or text that is no frame."""

    text: str
    frame: Frame | None
    own: bool


@dataclass(frozen=True, slots=True)
class FrameGroup:
    """Lines that are shown, or frames of others, which are folded."""

    folded: bool
    lines: list[StackLine]

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @property
    def frames(self) -> int:
        return sum(line.frame is not None for line in self.lines)


def frame_groups(stack: Any) -> list[FrameGroup]:
    """The stack in its order; nothing is folded if no frame is the project's own."""
    lines = read_lines(stack)
    if not any(line.own and line.frame is not None for line in lines):
        return [FrameGroup(False, lines)] if lines else []
    return [FrameGroup(folded, list(group)) for folded, group in groupby(lines, lambda line: not line.own)]


def top_own_frame(stack: Any) -> Frame:
    """The innermost of the project's own frames; `NOWHERE` if none is known."""
    frames = [line.frame for line in read_lines(stack) if line.frame is not None and line.own]
    if not frames:
        return NOWHERE
    return frames[-1] if isinstance(stack, str) and last_call(stack) is not None else frames[0]


def is_own(frame: Frame) -> bool:
    if _FOREIGN_FILE.search(frame.file):
        return False
    has_path = "/" in frame.file or "\\" in frame.file
    return has_path or not _FOREIGN_FUNCTION.search(frame.function)


def read_lines(stack: Any) -> list[StackLine]:
    if isinstance(stack, list):
        return [_of_item(item) for item in stack if isinstance(item, dict)]
    return _of_text(stack.replace("\r\n", "\n")) if isinstance(stack, str) else []


def _of_item(item: dict[str, Any]) -> StackLine:
    """`own` in a frame decides: who reports it may know better."""
    frame, told = frame_of(item), item.get("own")
    where = ":".join(str(part) for part in (item.get("file"), item.get("line")) if part is not None)
    text = f"{item.get('function') or '(anonymous)'}  {where}".rstrip()
    return StackLine(text, frame, told if isinstance(told, bool) else is_own(frame))


def _of_text(text: str) -> list[StackLine]:
    lines: list[StackLine] = []
    place = 0
    for printed in printed_frames(text):
        lines = _with_gap(lines, text[place : printed.start])
        end = text.find("\n", printed.end)
        place = len(text) if end < 0 else end + 1
        lines.append(StackLine(text[printed.start : place].rstrip("\n"), printed.frame, is_own(printed.frame)))
    return _with_gap(lines, text[place:])


def _with_gap(lines: list[StackLine], between: str) -> list[StackLine]:
    """What stands after a frame: its source, which is indented further, belongs to it; the rest is text."""
    for line in between.splitlines():
        last = lines[-1] if lines else None
        if (
            last is not None
            and last.frame is not None
            and line.startswith("    ")
            and last.text.lstrip(" |+-").startswith("File ")
        ):
            lines[-1] = StackLine(f"{last.text}\n{line}", last.frame, last.own)
        elif line.strip() or lines:
            lines.append(StackLine(line, None, True))
    return lines
