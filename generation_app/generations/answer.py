"""An answer while it is made: what was received, what its stream has, and what is saved."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from generation_app.generations.answer_saving import next_seq, save
from generation_app.generations.model.pieces import Piece
from generation_app.generations.queries import caller_of_generation, stored_answer
from generation_app.models import Generation
from generation_app.streams.chunk_batches import Append
from generation_app.streams.queries import chunks_from
from generation_app.streams.services import append_chunks
from sessions_app.core.public_names import TEXT_LENGTH, Status
from sessions_app.core.redaction import MARK, redact_text
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.serialization.stored_json import written_json

REMOVED = "Its message was removed."
# In the message, so that it fits beside text and calls, at four bytes a character. The stream has all of them.
THOUGHTS_LENGTH = 200_000
# In one append.
MOST_CHUNKS = 1_000
CHANGED = "Its message was changed by somebody else."


class AnswerOvertaken(Exception):
    """Somebody else removed or changed the message: it is theirs now."""


@dataclass(frozen=True, slots=True)
class _Save:
    """The text up to `end`, under this number."""

    seq: int
    end: int


class Answer:
    """`add` is called on the event loop, the others in a database thread, one at a time. They may be repeated after an error."""

    def __init__(self, generation: Generation, *, text: str, chunk_count: int, parts: Sequence[dict[str, Any]] = ()) -> None:
        """`text`, `parts`: what an answer that is continued has already."""
        self._generation, self._caller = generation, caller_of_generation(generation)
        self._text, self._reasoning = text, ""
        self._begun, self._begun_parts = len(text), parts or [{"type": "text", "text": text}]
        self._calls: list[dict[str, Any]] = []
        # The session has the text up to here. Where it removed a secret it gets all of it again: the next words may be the rest
        # of that secret, which nobody would know by itself.
        self._saved, self._is_as_sent = len(text), True
        # Sent, and perhaps stored: a database that goes away during a commit does not say.
        self._unanswered: _Save | None = None
        self._offset = chunk_count
        self._waiting: list[str] = []
        self._streams = generation.stream_id is not None

    @classmethod
    def left(cls, generation: Generation) -> "Answer":
        """One whose worker is gone, for its last save: what its message has, and what its stream has beyond that."""
        (text, parts), pieces = stored_answer(generation), list(_streamed(generation))
        said = "".join(piece.value for piece in pieces if piece.kind == "text")
        whole = text if _has_all(text, said) else said
        begun, others = _without_last_text(text, parts)
        if not whole.startswith(begun):  # Somebody changed it: theirs is not continued.
            begun, others = "", []
        answer = cls(generation, text=begun, parts=others, chunk_count=0)
        answer._is_as_sent = False
        for piece in (Piece("text", whole[len(begun) :]), *(piece for piece in pieces if piece.kind != "text")):
            answer.add(piece)
        return answer

    @property
    def is_full(self) -> bool:
        return len(self._text) >= TEXT_LENGTH

    @property
    def has_text(self) -> bool:
        return self._text != ""

    def add(self, piece: Piece) -> None:
        if piece.kind == "text":
            said = piece.value[: TEXT_LENGTH - len(self._text)]
            self._text += said
            if said:
                self._tell(said)
        elif piece.kind == "reasoning":
            self._reasoning += piece.value[: THOUGHTS_LENGTH - len(self._reasoning)]
            self._tell({"type": "reasoning", "text": piece.value})
        else:
            self._calls.append(piece.value)
            self._tell({"type": "tool_call", **piece.value})

    def _tell(self, chunk: Any) -> None:
        if self._streams:
            self._waiting.append(json_text(chunk))

    @property
    def waits(self) -> bool:
        """Is there anything that the stream does not have?"""
        return bool(self._waiting)

    def leave_stream(self) -> None:
        """The stream takes nothing more; the message does."""
        self._streams = False
        self._waiting.clear()

    def stream(self) -> None:
        """Append what was received to the stream."""
        while (append := self.next_append()) is not None:
            append_chunks(caller=append.caller, stream_id=append.stream_id, offset=append.offset, chunks=append.chunks)
            self.appended(append)

    def next_append(self) -> Append | None:
        """What the stream gets next; `appended` tells that it has it."""
        stream_id = self._generation.stream_id
        if stream_id is None or not self.waits:
            return None
        return Append(self._caller, stream_id, self._offset, self._waiting[:MOST_CHUNKS])

    def appended(self, append: Append) -> None:
        self._offset += len(append.chunks)
        del self._waiting[: len(append.chunks)]

    def save(self) -> None:
        """Append what was received to the message. Raises AnswerOvertaken, SessionCleared, and what a save raises."""
        self.save_unanswered()
        if len(self._text) > self._saved:
            self._unanswered = _Save(next_seq(self._generation), len(self._text))
            self.save_unanswered()

    def save_unanswered(self) -> None:
        """Send the save again whose answer did not come: the same request, so that it counts once. Raises as `save` does."""
        sent = self._unanswered
        if sent is None:
            return
        op = self._append(sent.end) if self._is_as_sent else self._patch(text=self._text[: sent.end])
        told = save(self._caller, self._generation, [op], seq=sent.seq)
        self._unanswered = None
        ignored = {one["reason"] for one in told["ignored"]}
        # Words that belong to the secret change nothing.
        if not told["applied"] and (self._is_as_sent or ignored != {"same"}):
            raise AnswerOvertaken(REMOVED if "removed" in ignored else CHANGED)
        self._saved = sent.end
        self._is_as_sent = self._is_as_sent and told["applied"][0]["length"] == sent.end

    def _append(self, end: int | None = None) -> dict[str, Any]:
        rest = self._text[self._saved : end]
        return {"op": "append", "id": self._generation.message_id, "at": self._saved, "text": rest}

    def _patch(self, **fields: Any) -> dict[str, Any]:
        return {"op": "patch", "id": self._generation.message_id, **fields}

    def last_tries(self, *, complete: bool) -> list[list[dict[str, Any]]]:
        """The last save, for `save_end`: what is not saved yet, the status, and the parts if there is more than text."""
        patch = self._patch(status=(Status.COMPLETE if complete else Status.INTERRUPTED).value)
        grown: dict[str, Any] = {**patch, "text": self._text}  # Fits also if somebody changed the status, and keeps their parts.
        whole: dict[str, Any] = {**grown, "parts": self._parts()}
        if self._reasoning or self._calls:
            return [[whole], [grown], [whole]]
        has_rest = len(self._text) > self._saved
        quickest = [*([self._append()] if has_rest else []), patch] if self._is_as_sent else [grown]
        return [quickest, [grown], [whole]]

    def _parts(self) -> list[dict[str, Any]]:
        """Those that it began with, and what came. The last text part grows, because text is only appended to a message that has
        it in one part."""
        thoughts = [{"type": "reasoning", "text": self._reasoning}] if self._reasoning else []
        before, part, after = _around_text(self._begun_parts)
        said = part["text"] + self._text[self._begun :]
        calls = ({"type": "tool_call", **call} for call in self._calls)
        return [*before, *thoughts, *([{**part, "text": said}] if said else []), *after, *calls]


def _streamed(generation: Generation) -> Iterator[Piece]:
    """What its stream has, without what others may have appended. Reads it a little at a time."""
    offset = 0
    while generation.stream_id is not None and (found := chunks_from(generation.stream_id, offset)):
        offset += len(found)
        for chunk in found:
            try:
                value = written_json(chunk)
            except (ValueError, RecursionError):  # Damaged: what stands before it is whole.
                return
            match value:
                case str():
                    yield Piece("text", value)
                case {"type": "reasoning", "text": str(thought)}:
                    yield Piece("reasoning", thought)
                case {"type": "tool_call", **call}:
                    yield Piece("tool_call", call)


def _has_all(text: str, said: str) -> bool:
    """Whether a message with this text has all that its stream says; not if it is another text, which somebody wrote."""
    if MARK not in text:
        return text.startswith(said)
    # A secret can be shorter than what replaces it.
    return len(text) >= max(len(said), len(redact_text(said)[0]))


def _without_last_text(text: str, parts: Sequence[dict[str, Any]]) -> tuple[str, Sequence[dict[str, Any]]]:
    """Text and parts without the text of the last text part, or of none. The stream has it too, as it came: with secrets."""
    before, last, after = _around_text(parts)
    if not any(part is last for part in parts):
        return "", parts
    if not text.endswith(last["text"]):
        return text, parts
    return text.removesuffix(last["text"]), [*before, {**last, "text": ""}, *after]


def _around_text(parts: Sequence[dict[str, Any]]) -> tuple[Sequence[dict[str, Any]], dict[str, Any], Sequence[dict[str, Any]]]:
    """What stands before the last text part, that part, and what follows it. Without one, all stands before it."""
    for at in reversed(range(len(parts))):
        if parts[at].get("type") == "text" and isinstance(parts[at].get("text"), str):
            return parts[:at], parts[at], parts[at + 1 :]
    return parts, {"type": "text", "text": ""}, ()
