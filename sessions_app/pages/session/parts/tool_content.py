"""What a tool call was given and returned: a command with its terminal, an edit as a diff, to-dos, JSON as a tree."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from sessions_app.core.rendering.blocks.diffs import Diff, is_diff, render_diff, render_edit
from sessions_app.core.rendering.blocks.terminal import has_colours, render_terminal
from sessions_app.core.rendering.folding import folded_lines
from sessions_app.pages.session.parts.room import Room

# The names that agents' tools have for the same argument.
COMMANDS = ("command", "cmd")
EDITS = (("old_string", "new_string"), ("old_str", "new_str"), ("oldText", "newText"), ("old_text", "new_text"))
PATHS = ("file_path", "path", "filePath", "filename")
STREAMS = ("stdout", "stderr")
TODO_MARKS = {"completed": "done", "in_progress": "in progress"}
MOST_TODOS = 100
PICTURES = ("image", "input_image")


@dataclass(slots=True)
class Section:
    """`kind`: the class of its element: terminal, diff, tree, todos, text. `lines`: of a long one, which is folded."""

    kind: str
    html: SafeString
    label: str = ""
    lines: int = 0
    todos: list[tuple[str, str]] = field(default_factory=list)


def input_sections(given: Any, room: Room) -> list[Section]:
    if isinstance(given, str):
        return [_text(given, room, "Input")] if given else []
    if not isinstance(given, dict):
        return [] if given is None else [_tree(given, room, "Input")]
    rest, found = dict(given), list[Section]()
    found += _commands(rest, room)
    found += _edits(rest, room)
    found += _todos(rest)
    found += _texts(rest, room)
    if found and set(rest) <= {*PATHS, "description"}:
        return found  # The summary says the path.
    return [*found, *([_tree(rest, room, "Input")] if rest else [])]


def output_sections(output: Any, room: Room, *, terminal: bool, failed: bool) -> list[Section]:
    """`terminal`: it is what a command wrote."""
    label = "Error" if failed else "Output"
    if isinstance(output, dict) and any(isinstance(output.get(name), str) for name in STREAMS):
        return _streams(output, room, label)
    text = text_of(output)
    if text is None:
        return [] if output is None else [_tree(output, room, label)]
    if terminal or has_colours(text):
        # Below its command a terminal needs no name.
        return [_terminal(text, room, label if failed or not terminal else "")] if text else []
    return [_text(text, room, label)]


def tree_or_text(value: Any, room: Room) -> Section:
    return _text(value, room, "") if isinstance(value, str) else _tree(value, room, "")


def is_command(given: Any) -> bool:
    return isinstance(given, dict) and any(_command(given.get(name)) for name in COMMANDS)


def text_of(output: Any) -> str | None:
    """The text of an output: as it is, in MCP's and Anthropic's blocks, or as a command's result has it; None if it has more."""
    if isinstance(output, str):
        inner = _parsed(output) if output.startswith('{"output":') else None
        return text_of(inner["output"]) if isinstance(inner, dict) and "output" in inner else output
    if isinstance(output, dict) and isinstance(output.get("content"), list):
        return text_of(output["content"])
    if isinstance(output, list) and output and all(isinstance(one, dict) for one in output):
        texts = [one for one in output if one.get("type") not in PICTURES]
        if all(one.get("type") in ("text", "input_text", "output_text") and isinstance(one.get("text"), str) for one in texts):
            return "\n".join(one["text"] for one in texts)
    return None


def done_of(given: dict[str, Any]) -> str | None:
    """How many of a call's to-dos are done; None: it has none."""
    todos = _todos_in(given)
    return f"{sum(one.get('status') == 'completed' for one in todos)} of {len(todos)} done" if todos else None


def _commands(rest: dict[str, Any], room: Room) -> Iterator[Section]:
    for name in COMMANDS:
        if command := _command(rest.get(name)):
            del rest[name]
            yield Section("terminal command", format_html("{}", room.cut(command)))


def _command(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return str(value[-1]) if len(value) == 3 and value[1] in {"-c", "-lc"} else " ".join(value)
    return value if isinstance(value, str) else ""


def _edits(rest: dict[str, Any], room: Room) -> Iterator[Section]:
    edits = rest.get("edits")
    if isinstance(edits, list) and edits and all(isinstance(one, dict) and _edit(one) for one in edits):
        del rest["edits"]
        for one in edits:
            yield from _edit_section(one, room)
    if _edit(rest):
        yield from _edit_section(rest, room)
        for name in _edit(rest):
            del rest[name]


def _edit(given: dict[str, Any]) -> tuple[str, ...]:
    return next((pair for pair in EDITS if all(isinstance(given.get(name), str) for name in pair)), ())


def _edit_section(given: dict[str, Any], room: Room) -> Iterator[Section]:
    old, new = (room.cut(given[name]) for name in _edit(given))
    yield _diff(render_edit(old, new))


def _todos(rest: dict[str, Any]) -> Iterator[Section]:
    if todos := _todos_in(rest):
        del rest["todos"]
        marks = [(TODO_MARKS.get(str(one.get("status")), "to do"), str(one["content"])) for one in todos[:MOST_TODOS]]
        yield Section("todos", SafeString(""), todos=marks)


def _todos_in(given: dict[str, Any]) -> list[dict[str, Any]]:
    todos = given.get("todos")
    known = isinstance(todos, list) and all(isinstance(one, dict) and isinstance(one.get("content"), str) for one in todos)
    return todos if known and isinstance(todos, list) else []


def _texts(rest: dict[str, Any], room: Room) -> Iterator[Section]:
    """Arguments of several lines, as the content of a file or a patch: a tree would show them in one."""
    for name, value in [(name, value) for name, value in rest.items() if isinstance(value, str) and "\n" in value]:
        del rest[name]
        yield _text(value, room, "" if is_diff(value) else name)


def _streams(output: dict[str, Any], room: Room, label: str) -> list[Section]:
    streams = [text for name in STREAMS if isinstance(text := output.get(name), str) and text]
    rest = {name: value for name, value in output.items() if name not in STREAMS and value not in (None, "", False, [])}
    found = [_terminal("\n".join(text.removesuffix("\n") for text in streams), room, label)] if streams else []
    return [*found, *([_tree(rest, room, "")] if rest else [])]


def _text(text: str, room: Room, label: str) -> Section:
    if is_diff(text):
        return _diff(render_diff(room.cut(text)), label)
    value = _parsed(text) if text[:1] in ("{", "[") else None
    if isinstance(value, dict | list) and value:
        return _tree(value, room, label)
    shown = room.cut(text)
    return Section("text", format_html("{}", shown), label, folded_lines(shown))


def _terminal(text: str, room: Room, label: str) -> Section:
    shown = room.cut(text.removesuffix("\n"))
    return Section("terminal", render_terminal(shown), label, folded_lines(shown))


def _diff(diff: Diff, label: str = "") -> Section:
    return Section("diff", diff.html, label or f"+{diff.added} −{diff.removed}", folded_lines(diff.html))


def _tree(value: Any, room: Room, label: str) -> Section:
    if room.values > 0:
        return Section("tree", room.tree(value), label)
    shown = room.pretty(value)
    return Section("text", format_html("{}", shown), label, folded_lines(shown))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text) if len(text) <= 20_000 else None
    except (ValueError, RecursionError):
        return None
