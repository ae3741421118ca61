"""What a format is, and what all of them need to write messages: turns, ids, losses."""

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sessions_app.core.serialization.json_text import json_text
from sessions_app.formats.fields import without_files
from sessions_app.formats.neutral import (
    STEP_START,
    SYSTEM_PROMPT,
    DataPart,
    FilePart,
    Neutral,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

# The output of a tool call that never got one.
INTERRUPTED = "interrupted"


@dataclass(slots=True)
class Stored:
    """A message as it is stored. `raw` is parsed JSON of `format`; it is never changed.

    `numbers`: of the parts in the message that was stored, where parts were added or taken out since.
    """

    id: str
    role: str
    format: str | None
    raw: Any | None
    neutral: Neutral
    numbers: list[int] | None = None

    def numbered(self) -> list[tuple[int, Part]]:
        return list(enumerate(self.neutral.parts) if self.numbers is None else zip(self.numbers, self.neutral.parts, strict=True))


@dataclass(frozen=True, slots=True)
class Loss:
    """What a format cannot express: the message's id, the number of the part in it (None: the message), and a sentence."""

    id: str
    part: int | None
    reason: str


@dataclass(slots=True)
class Converted:
    """A format's own objects in order. `ids`: for each the ids of the messages that it came from."""

    items: list[Any] = field(default_factory=list)
    ids: list[list[str]] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)

    def add(self, item: Any, *ids: str) -> None:
        self.items.append(item)
        self.ids.append(list(dict.fromkeys(ids)))

    def extend(self, number: int, message_id: str) -> None:
        """Item `number` is also of this message."""
        if message_id not in self.ids[number]:
            self.ids[number].append(message_id)

    def lose(self, message_id: str, part: int | None, reason: str) -> None:
        self.losses.append(Loss(message_id, part, reason))


@dataclass(frozen=True, slots=True)
class Format:
    """`roles`: what a raw message of this format may call its author. `read` raises `Unreadable` and nothing else.

    `results_inside`: a tool's result is in the message of its call, not in one of its own. `calls_apart`: the calls of one
    answer may be in several messages before the results. `call_id` makes an id of a call one that the format allows.
    """

    name: str
    roles: tuple[str, ...]
    read: Callable[[Any], Neutral]
    write: Callable[[Sequence[Stored]], Converted]
    detect: Callable[[Any], bool]
    results_inside: bool = False
    calls_apart: bool = False
    call_id: Callable[[str], str] | None = None


@dataclass(slots=True)
class Turn:
    """Parts of one author in sequence, each with its number in the message: the unit that most formats write."""

    stored: Stored
    role: str
    parts: list[tuple[int, Part]] = field(default_factory=list)

    @property
    def id(self) -> str:
        return self.stored.id


def turns_of(messages: Iterable[Stored]) -> list[Turn]:
    """The messages by turns: `user`, `assistant`, `system`, or `tool` with nothing but results.

    A message without parts is one empty turn.
    """
    return [turn for stored in messages for turn in _split(stored)]


def _split(stored: Stored) -> list[Turn]:
    made: list[Turn] = []
    # The assistant's turn of the present step. Calls that follow a result in the same step were made together with its call.
    step: Turn | None = None
    stepwise = any(is_step(part) for part in stored.neutral.parts)
    for number, part in stored.numbered():
        if is_step(part):
            step = None
            continue
        if isinstance(part, ToolCallPart) and stepwise and step is not None:
            step.parts.append((number, part))
            continue
        role, kept = _turn_role(stored, part)
        if not made or made[-1].role != role or (role == "assistant" and stepwise and step is None):
            made.append(Turn(stored, role))
        made[-1].parts.append((number, kept))
        step = made[-1] if role == "assistant" else step
    return made or [Turn(stored, _own_role(stored.neutral.role))]


def is_step(part: Part) -> bool:
    return isinstance(part, DataPart) and part.name == STEP_START


def prompt_of(stored: Stored, part: Part) -> str | None:
    """The instructions that the part has. Of other formats it is data that anybody may have named so."""
    if isinstance(part, DataPart) and part.name == SYSTEM_PROMPT and stored.format == "pydantic-ai":
        return part.value if isinstance(part.value, str) else None
    return None


def splits(stored: Stored, part: Part) -> bool:
    """True if what is before the part and what is after it are two turns."""
    return is_step(part) or prompt_of(stored, part) is not None


def _own_role(role: str) -> str:
    return role if role in {"assistant", "system"} else "user"


def _turn_role(stored: Stored, part: Part) -> tuple[str, Part]:
    if isinstance(part, ToolResultPart):
        return "tool", part
    if (prompt := prompt_of(stored, part)) is not None:
        return "system", TextPart(prompt)
    return _own_role(stored.neutral.role), part


def begin(messages: Sequence[Stored], *expressed: str) -> Converted:
    """The result to write into, with the losses that do not depend on the format's shapes.

    `expressed`: what of `model`, `usage`, `cost` and `at` the format has a place for.
    """
    made = Converted()
    for stored in messages:
        neutral = stored.neutral
        for part, name in neutral.left_out:
            made.lose(stored.id, part, f"`{name}` is not kept between formats.")
        for name in ("model", "usage", "cost", "at"):
            if name not in expressed and getattr(neutral, name) is not None:
                made.lose(stored.id, None, f"`{name}` has no place in this format.")
    return made


def cannot(made: Converted, turn: Turn, number: int, part: Part) -> None:
    """Report a part that the format has no place for."""
    what = f"{part.type.replace('_', ' ')} part"
    if isinstance(part, DataPart):
        what = f"part `{part.name}`"
    elif isinstance(part, FilePart):
        what = f"file of type {part.media_type or 'unknown'}" if not part.file else "file that is stored here"
    article = "an" if what[0] in "aeiou" else "a"
    made.lose(turn.id, number, f"This format has no place for {article} {what} of {turn.role} messages.")


def results_of(turn: Turn) -> list[tuple[int, ToolResultPart]]:
    return [(number, part) for number, part in turn.parts if isinstance(part, ToolResultPart)]


def continues(made: Converted, turn: Turn, calls: bool, name: str) -> bool:
    """True if an assistant's turn belongs to the item before it: one answer's calls may be stored in several messages.

    `calls`: the turn has some. `name`: where the item before has its own.
    """
    if turn.role != "assistant" or not made.items or made.items[-1].get("role") != "assistant" or turn.id in made.ids[-1]:
        return False
    return calls or bool(made.items[-1][name])


def own_value(turn: Turn, part: Part, name: str) -> dict[str, Any] | None:
    """The raw value that `read` of the format `name` kept whole, or None. Of other formats it is data that is named like one."""
    if turn.stored.format != name or not isinstance(part, DataPart) or not isinstance(part.value, dict):
        return None
    return part.value if part.name.startswith(f"{name}:") else None


def own_part(turn: Turn, part: Part, name: str) -> dict[str, Any] | None:
    """As `own_value`, if it was named by its type."""
    value = own_value(turn, part, name)
    return value if isinstance(part, DataPart) and value is not None and part.name == kept(name, value).name else None


def single_text(blocks: list[dict[str, Any]]) -> str | None:
    """The text of a single text block, which is written as a text; None if it is anything else."""
    text = blocks[0].get("text") if len(blocks) == 1 and blocks[0].get("type") == "text" else None
    return text if isinstance(text, str) else None


def kept(name: str, raw: dict[str, Any]) -> DataPart:
    """A raw part that only the format `name` knows, kept whole."""
    kind = raw.get("type")
    return DataPart(f"{name}:{kind if isinstance(kind, str) and kind else 'part'}", raw)


def lose_signature(made: Converted, turn: Turn, number: int, signature: Any, *accepted: str) -> dict[str, Any]:
    """What the first of the `accepted` providers needs to accept this reasoning again; else empty, and a loss."""
    if not signature:
        return {}
    for provider in accepted:
        if isinstance(signature, dict) and isinstance(own := signature.get(provider), dict):
            return own
    made.lose(turn.id, number, "The signature of reasoning is accepted by its own provider only.")
    return {}


def lose_error_flag(made: Converted, turn: Turn, number: int, part: ToolResultPart) -> None:
    if part.is_error and part.output != INTERRUPTED:
        made.lose(turn.id, number, "This format does not tell that a tool's output is an error.")


def lose_name(made: Converted, turn: Turn, number: int, part: FilePart) -> None:
    if part.name:
        made.lose(turn.id, number, "This format has no place for the name of a file.")


def output_of(made: Converted, turn: Turn, number: int, part: ToolResultPart) -> str:
    """A tool's output as `text_of` it. Files in it are left out: as base64 in a text no model can see them."""
    output, files = without_files(part.output)
    if files:
        made.lose(turn.id, number, f"This format has no place for files in a tool's output: {files} left out.")
    return text_of(output)


def text_of(output: Any) -> str:
    """A tool's output or input as a text: itself, its text blocks, or its JSON."""
    if isinstance(output, str):
        return output
    if isinstance(output, list) and output and all(_is_text_block(block) for block in output):
        return "".join(block["text"] for block in output)
    return "" if output is None else json_text(output)


def _is_text_block(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in ("text", "input_text") and isinstance(block.get("text"), str)


def object_input(made: Converted, turn: Turn, number: int, part: ToolCallPart) -> dict[str, Any]:
    """A call's input for formats that want an object."""
    if isinstance(part.input, dict):
        return part.input
    if part.input in (None, ""):
        return {}
    made.lose(turn.id, number, "This format wants an object as a tool's input: it is in `input`.")
    return {"input": part.input}


def url_of(part: FilePart) -> str | None:
    """The file's URL, or its content as a `data:` URL. None for a file of this store."""
    return f"data:{part.media_type};base64,{part.data}" if part.data is not None else part.url


_OUTSIDE = re.compile(r"[^a-zA-Z0-9_-]")


def limited_id(value: str, longest: int, *, narrow: bool = False) -> str:
    """`value` itself if it has at most `longest` characters (`narrow`: letters, digits, `_` and `-`), else a short form of it.

    The same for the same value, and different for different ones: it ends with a hash.
    """
    if len(value) <= longest and not (narrow and _OUTSIDE.search(value)):
        return value
    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{_OUTSIDE.sub('_', value)[: longest - 13]}_{digest}"
