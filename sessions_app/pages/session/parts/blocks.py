"""A message's parts as pages show them: text rendered, reasoning and tools folded, files, sources, data."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar

from django.utils.safestring import SafeString

from sessions_app.core.rendering.markdown_client import Source, UserText
from sessions_app.core.rendering.page_renderer import PageRenderer
from sessions_app.formats.neutral import STEP_START, DataPart, ReasoningPart, SourcePart, TextPart, parts_of
from sessions_app.models.message import Role, names_of_role
from sessions_app.pages.session.parts.attachments import Attachment, Attachments, Files, attachment_of, source_of
from sessions_app.pages.session.parts.room import Room
from sessions_app.pages.session.parts.tool_content import Section, tree_or_text
from sessions_app.pages.session.parts.tools import Tool, tool_of


@dataclass(frozen=True, slots=True)
class Reasoning:
    template: ClassVar[str] = "pages/session/parts/_reasoning.html"
    html: SafeString
    characters: int


@dataclass(frozen=True, slots=True)
class Prose:
    """A long text, of which the page shows the beginning first."""

    template: ClassVar[str] = "pages/session/parts/_prose.html"
    html: SafeString
    characters: int


@dataclass(frozen=True, slots=True)
class Instructions:
    """What neither side said: a system prompt, or what a program notes in its transcript. `line`: its beginning,
    which the style sheet cuts to what fits."""

    template: ClassVar[str] = "pages/session/parts/_instructions.html"
    html: SafeString
    line: str


@dataclass(frozen=True, slots=True)
class Data:
    """What has no form of its own."""

    template: ClassVar[str] = "pages/session/parts/_data.html"
    label: str
    section: Section


# Lines of so many characters, and how many of them a text has that is folded: four windows of a desktop.
LINE, LONG = 90, 120
FENCES = ("```", "~~~")

INSTRUCTING = frozenset(names_of_role(Role.SYSTEM))

type Block = SafeString | Prose | Instructions | Reasoning | Tool | Data | Attachments


@dataclass(slots=True)
class Shelf:
    """What all messages of a page share. `files`: the account's files that they name, by hash. `folds`: long texts are folded.

    `role`: of the message whose turn it is.
    """

    renderer: PageRenderer
    files: Files
    room: Room
    folds: bool = True
    role: str = ""


def blocks_of(parts: list[Any], shelf: Shelf) -> list[Block]:
    made = (block for part in parts if isinstance(part, dict) and (block := _block(part, shelf)) is not None)
    return list(_gathered(made))


def text_block(text: str, shelf: Shelf) -> Block:
    html = shelf.renderer.render(source_text(shelf.role, text))
    if shelf.folds and shelf.role in INSTRUCTING and len(line := text.strip()) > LINE:
        return Instructions(html, " ".join(line[: 2 * LINE].split()))
    return Prose(html, len(text)) if shelf.folds and _is_long(text) else html


def is_prose(block: Block) -> bool:
    return isinstance(block, SafeString | Prose | Instructions)


def _is_long(text: str) -> bool:
    """Without its code: that is folded by itself."""
    if len(text) < LONG:
        return False
    lines, code = 0, False
    for line in text.splitlines():
        if line.lstrip().startswith(FENCES):
            code = not code
        elif not code:
            lines += 1 + len(line) // LINE
    return lines > LONG


def source_text(role: str, text: str) -> Source:
    """What users write is no Markdown: they paste, and mean their lines."""
    return UserText(text) if role == "user" else text


def prose_of(parts: list[Any]) -> list[tuple[str, str]]:
    """Kind and text of the parts that are rendered."""
    read = [one for part in parts if isinstance(part, dict) for one in parts_of(part)]
    return [(one.type, one.text) for one in read if isinstance(one, TextPart | ReasoningPart) and one.text]


def _gathered(blocks: Iterator[Block | Attachment]) -> Iterator[Block]:
    for attached, group in groupby(blocks, key=lambda block: isinstance(block, Attachment)):
        if attached:
            yield Attachments([one for one in group if isinstance(one, Attachment)])
        else:
            yield from (one for one in group if not isinstance(one, Attachment))


def _block(part: dict[str, Any], shelf: Shelf) -> Block | Attachment | None:
    if (tool := tool_of(part, shelf.room)) is not None:
        return tool
    if (attachment := attachment_of(part, shelf.files)) is not None:
        return attachment
    match parts_of(part)[0]:
        case TextPart(text=text):
            return text_block(text, shelf) if text else None
        case ReasoningPart(text=text):
            # Without text it only holds a signature.
            return Reasoning(shelf.renderer.render(text), len(text)) if text else None
        case SourcePart() as source:
            return source_of(source)
        case DataPart(name=name, value=value) if name != STEP_START:
            return Data(_label(name, part), tree_or_text(_own(value, part), shelf.room))
    return None


def _label(name: str, part: dict[str, Any]) -> str:
    """The kind of a part that the neutral form does not know, or the name of its data."""
    return name.replace("-", " ") if name == part.get("type") else name


def _own(value: Any, part: dict[str, Any]) -> Any:
    return {name: inner for name, inner in part.items() if name != "type"} if value is part and len(part) > 1 else value
