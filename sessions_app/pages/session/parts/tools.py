"""A tool call as a card: the tool, its telling argument, its state and duration; folded, what it was given and returned."""

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sessions_app.core.web.template_tags.formatting import plain
from sessions_app.formats.neutral import Part, ToolCallPart, ToolResultPart, parts_of
from sessions_app.pages.session.parts.attachments import Attachments, pictures_in
from sessions_app.pages.session.parts.foreign_parts import as_known
from sessions_app.pages.session.parts.room import Room
from sessions_app.pages.session.parts.tool_content import Section, done_of, input_sections, is_command, output_sections

LONGEST_ARGUMENT = 160
# Arguments that say most about a call, the most telling first.
TELLING = ("command", "cmd", "file_path", "path", "pattern", "query", "url", "title", "description", "prompt")
# Of a patch the files say more than its beginning.
PATCHED_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
DONE, FAILED, OPEN, ALONE = ("done", "good"), ("failed", "bad"), ("no result yet", ""), ("result", "")
# States of the AI SDK that its neutral form does not have.
STATES = {
    "input-streaming": ("being called", ""),
    "approval-requested": ("asks for approval", "warn"),
    "approval-responded": ("answered", ""),
    "output-denied": ("denied", "bad"),
}
# Where a result says how long it took, and in how many milliseconds.
DURATIONS = {"duration_ms": 1, "durationMs": 1, "duration_seconds": 1_000, "durationSeconds": 1_000}


@dataclass(slots=True)
class Tool:
    """`took`: milliseconds."""

    template: ClassVar[str] = "pages/session/parts/_tool.html"
    name: str
    argument: str
    state: str
    colour: str
    took: float | None = None
    sections: list[Section] = field(default_factory=list)
    pictures: Attachments | None = None

    @property
    def failed(self) -> bool:
        return (self.state, self.colour) == FAILED


def tool_of(part: dict[str, Any], room: Room | None = None) -> Tool | None:
    """A tool call, or a result without its call; None if the part is something else. Without `room` there is no content."""
    part = as_known(part)
    kind = part.get("type")
    if not isinstance(kind, str) or not (
        kind in {"tool_call", "tool_result"} or kind.startswith("tool-") or kind == "dynamic-tool"
    ):
        return None
    made = parts_of(part)
    call = next((one for one in made if isinstance(one, ToolCallPart)), None)
    result = next((one for one in made if isinstance(one, ToolResultPart)), None) or _joined(part)
    if call is None and result is None:
        return None
    name = next((one.name for one in (call, result) if one is not None and one.name), "Tool")
    argument = short_argument(argument_of(call.input)) if call else ""
    tool = Tool(name, argument, *_state(part, call, result), took=_took(part, result))
    if room is not None:
        _fill(tool, call, result, room)
    return tool


def argument_of(given: Any) -> str:
    """The argument of a tool call that says most about it."""
    if not isinstance(given, dict):
        return _told(given) if isinstance(given, str) else ""
    if (done := done_of(given)) is not None:
        return done
    texts = {name: value for name, value in given.items() if isinstance(value, str) and value}
    numbers = [f"{name}: {value}" for name, value in given.items() if isinstance(value, int | float)]
    found = [texts[name] for name in TELLING if name in texts] or [*texts.values(), *numbers]
    return _told(found[0]) if found else ""


def _told(text: str) -> str:
    return ", ".join(PATCHED_FILE.findall(text)) or text


def short(text: str) -> str:
    """Of a text in Markdown the words, in one line."""
    return _cut(plain(text[: 4 * LONGEST_ARGUMENT]))


def short_argument(text: str) -> str:
    """In one line, with all its signs: a command without its `*` would be another one."""
    return _cut(" ".join(text[: 4 * LONGEST_ARGUMENT].split()))


def _cut(line: str) -> str:
    line = line.strip()
    return line if len(line) <= LONGEST_ARGUMENT else f"{line[:LONGEST_ARGUMENT]}…"


def _joined(part: dict[str, Any]) -> ToolResultPart | None:
    """The result that `with_results` has put into its call."""
    joined = part.get("result")
    made: list[Part] = parts_of(joined) if isinstance(joined, dict) and part.get("type") == "tool_call" else []
    return made[0] if made and isinstance(made[0], ToolResultPart) else None


def _state(part: dict[str, Any], call: ToolCallPart | None, result: ToolResultPart | None) -> tuple[str, str]:
    state = str(part.get("state", ""))
    if state in STATES and (result is None or state == "output-denied"):
        return STATES[state]
    if result is None:
        return OPEN
    if result.is_error:
        return FAILED
    return DONE if call is not None else ALONE


def _took(part: dict[str, Any], result: ToolResultPart | None) -> float | None:
    """As the part or the result says it, or the time between the two messages."""
    output = result.output if result else None
    places = [part, part.get("result"), output, output.get("metadata") if isinstance(output, dict) else None]
    for place in (place for place in places if isinstance(place, dict)):
        for name, unit in DURATIONS.items():
            value = place.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9:
                return float(value) * unit
    between = part.get("took_ms")
    if isinstance(between, int | float) and not isinstance(between, bool) and 1 <= between < 1e12:
        return float(between)
    return None


def _fill(tool: Tool, call: ToolCallPart | None, result: ToolResultPart | None, room: Room) -> None:
    if call is not None:
        tool.sections += input_sections(call.input, room)
    if result is not None:
        terminal = call is not None and is_command(call.input)
        tool.sections += output_sections(result.output, room, terminal=terminal, failed=result.is_error)
        if pictures := pictures_in(result.output):
            tool.pictures = Attachments(pictures)
