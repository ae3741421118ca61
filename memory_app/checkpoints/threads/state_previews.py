"""What a page shows of a thread's state: the values of one checkpoint, what its graph asks, and which tasks failed."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.safestring import SafeString

from memory_app.checkpoints.message_previews import MessagePreview, messages_of, one_line
from memory_app.checkpoints.rows import Place
from memory_app.checkpoints.threads.queries import ERROR, INTERRUPT
from memory_app.checkpoints.threads.state_rows import StoredValue, is_internal, read_last_messages, read_state
from memory_app.checkpoints.value_previews import Decoded, Instance, as_json, decode
from memory_app.models import GraphThread
from sessions_app.core.rendering.blocks.json_tree import render_value
from sessions_app.core.serialization.stored_json import read_object

# Of one list of messages: so many are read, and so many of these are not folded.
MOST_MESSAGES, UNFOLDED = 100, 10
# Lines in the trees of one page, and characters in its texts.
MOST_LINES, MOST_CHARACTERS = 3_000, 300_000


@dataclass(frozen=True, slots=True)
class ValuePreview:
    """The value of a channel or a write, in one of these ways: messages (`earlier`: folded), a `text`, or a `tree`. Without any,
    the value is only described: `unread` is large, own_format or, if the page has no more room, room.

    `size_bytes`: None, if the value is inside the checkpoint. `left_out`: how many items come before those that are shown.
    """

    name: str
    type: str = ""
    size_bytes: int | None = None
    line: str = ""
    earlier: list[MessagePreview] = field(default_factory=list)
    messages: list[MessagePreview] = field(default_factory=list)
    text: str | None = None
    tree: SafeString | None = None
    left_out: int = 0
    unread: str = ""


@dataclass(frozen=True, slots=True)
class StatePreview:
    """`internal`: channels that the graph keeps for itself. `left_out`: how many channels are not read; None: all that are
    stored apart."""

    ns: str
    checkpoint_id: str
    metadata: dict[str, Any]
    channels: list[ValuePreview]
    internal: list[ValuePreview]
    left_out: int | None
    questions: list[ValuePreview]
    failures: list[ValuePreview]


def preview_state(thread: GraphThread, place: Place) -> StatePreview | None:
    """None: there is no such checkpoint."""
    stored = read_state(thread, place, [INTERRUPT, ERROR])
    if stored is None:
        return None
    room = _Room()
    questions = [room.preview(write, of_interrupt=True) for write in stored.writes if write.channel == INTERRUPT]
    failures = [room.preview(write) for write in stored.writes if write.channel == ERROR]
    channels = [*_inside(stored.own, room), *(room.preview(value) for value in stored.values)]
    channels.sort(key=lambda channel: (not channel.messages, channel.name))
    return StatePreview(
        *place,
        metadata=read_object(stored.metadata) or {},
        channels=[channel for channel in channels if not is_internal(channel.name)],
        internal=[channel for channel in channels if is_internal(channel.name)],
        left_out=stored.left_out,
        questions=questions,
        failures=failures,
    )


def last_message_lines(threads: Sequence[GraphThread]) -> dict[int, str]:
    """The beginning of the last message of each thread that has one, by the thread's number. At most two statements."""
    newest = [(thread.pk, newest) for thread in threads if (newest := getattr(thread, "newest", None))]
    lines = dict[int, str]()
    for thread, stored in read_last_messages(newest).items():
        decoded = None if stored.data is None else decode(stored.type, stored.data, last=1)
        messages = messages_of(decoded.value) if decoded is not None else None
        if messages and (text := one_line(messages[-1].text)):
            lines[thread] = text
    return lines


def _inside(own: StoredValue, room: "_Room") -> list[ValuePreview]:
    """Short values are in the checkpoint itself."""
    decoded = None if own.data is None else decode(own.type, own.data)
    match decoded:
        case Decoded({"channel_values": dict(values)}):
            return [room.show(ValuePreview(name), Decoded(value)) for name, value in values.items()]
    return []


class _Room:
    """What is left of what one page has room for."""

    def __init__(self) -> None:
        self._lines, self._characters = MOST_LINES, MOST_CHARACTERS

    def preview(self, stored: StoredValue, *, of_interrupt: bool = False) -> ValuePreview:
        described = ValuePreview(stored.channel, stored.type, stored.size_bytes)
        if stored.data is None:
            return replace(described, unread="large")
        if self._characters <= 0:
            return replace(described, unread="room")
        decoded = decode(stored.type, stored.data, last=MOST_MESSAGES, characters=self._characters)
        if decoded is None:
            return replace(described, unread="own_format")
        self._characters -= decoded.characters
        return self.show(described, Decoded(_asked(decoded.value)) if of_interrupt else decoded)

    def show(self, described: ValuePreview, decoded: Decoded) -> ValuePreview:
        described = replace(described, left_out=decoded.left_out)
        if (messages := messages_of(decoded.value)) is not None:
            shown = [replace(message, parts=[self._part(part) for part in message.parts]) for message in messages]
            return replace(described, earlier=shown[:-UNFOLDED], messages=shown[-UNFOLDED:])
        described = replace(described, line=one_line(decoded.value))
        if isinstance(decoded.value, str):
            return replace(described, text=decoded.value)
        tree = self._tree(as_json(decoded.value))
        return replace(described, tree=tree, unread="room" if tree is None else "")

    def _part(self, part: Any) -> Any:
        """With a tree in place of its value."""
        return part if part.value is None else replace(part, value=self._tree(part.value))

    def _tree(self, value: Any) -> SafeString | None:
        if self._lines <= 0:
            return None
        tree, lines = render_value(value, most=self._lines)
        self._lines -= lines
        return tree


def _asked(value: Any) -> Any:
    """What an interrupt says: the values of its `Interrupt` objects, which are several if one task asked several times."""
    items = value if isinstance(value, list) else [value]
    asked = [
        item.content["value"]
        if isinstance(item, Instance) and isinstance(item.content, dict) and "value" in item.content
        else item
        for item in items
    ]
    return asked[0] if len(asked) == 1 else asked
