"""A recorded chat as turns that can be played, and a count of what cannot."""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

from sessions_app.formats.neutral import TextPart, parts_of

Role = Literal["user", "assistant"]

# Limits of the public API.
ID_LENGTH = 64
TEXT_LENGTH = 100_000
TITLE_LENGTH = 200

# Not sets: the value to look up may have any type, also an unhashable one.
OTHER_ROLES = ("system", "developer", "tool", "function", "toolResult", "bashExecution")
# NUL and lone surrogates: a server cannot keep them, so they are replaced before anything is sent.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Turn:
    id: str
    role: Role
    text: str


@dataclass(slots=True)
class Conversation:
    """`skipped` counts what is not played, by reason; `notes` counts changes and oddities."""

    title: str
    turns: list[Turn] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)
    _used_ids: set[str] = field(default_factory=set)
    _given: set[tuple[str, str, str]] = field(default_factory=set)

    def add(self, *, role: object, content: object, given_id: object) -> None:
        """Adds a turn with values of any type; counts it as skipped if it cannot be played."""
        known = _known_role(role)
        if known is None:
            self.skipped[role if isinstance(role, str) and role in OTHER_ROLES else "unknown role"] += 1
            return
        self.notes.update(other_parts(content))
        text = self.clean(text_of(content))
        if not text.strip():
            self.skipped["no text"] += 1
            return
        wanted = self._wanted_id(given_id)
        if wanted and (wanted, known, text) in self._given:
            # The same turn written twice, as tools do that copy a chat's past into its continuation.
            self.skipped["repeated"] += 1
            return
        self._given.add((wanted, known, text))
        self._append(wanted, known, text)

    def clean(self, text: str) -> str:
        cleaned, replaced = _UNSTORABLE.subn("\ufffd", text)
        self.notes.update({"characters replaced": replaced} if replaced else {})
        return cleaned

    def _append(self, wanted: str, role: Role, text: str) -> None:
        """Adds one turn, or several if the text exceeds a message's limit, so that all of it is played and compared."""
        pieces = [text[start : start + TEXT_LENGTH] for start in range(0, len(text), TEXT_LENGTH)]
        self.notes.update({"long text split": 1} if len(pieces) > 1 else {})
        for number, piece in enumerate(pieces, start=1):
            piece_id = wanted if number == 1 or not wanted else f"{wanted}~{number}"
            self.turns.append(Turn(self._free_id(piece_id), role, piece))

    def _wanted_id(self, given: object) -> str:
        if isinstance(given, int) and not isinstance(given, bool):
            given = str(given)
        return _UNSTORABLE.sub("\ufffd", given) if isinstance(given, str) else ""

    def _free_id(self, wanted: str) -> str:
        """The given id; a generated one if it is missing, too long or taken."""
        free = wanted
        if not 0 < len(wanted) <= ID_LENGTH or wanted in self._used_ids:
            self.notes["id made"] += 1
            number = len(self.turns) + 1
            while (free := f"turn-{number}") in self._used_ids:
                number += 1
        self._used_ids.add(free)
        return free


def conversation(title: object, fallback: str) -> Conversation:
    """An empty conversation with the recorded title, or with `fallback` if that is missing or not text."""
    made = Conversation(title="")
    given = made.clean(title).strip() if isinstance(title, str) else ""
    made.title = (given or _UNSTORABLE.sub("\ufffd", fallback))[:TITLE_LENGTH]
    return made


def text_of(content: object) -> str:
    """The text in a message's content: a string, or the text parts of a list, without tools, reasoning and files."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(text for part in parts if (text := _text_of_part(part)))


def other_parts(content: object) -> Counter[str]:
    """Counts of a message's parts that are not text and so are not played, by type."""
    parts = content if isinstance(content, list) else []
    kinds = (part.get("type") for part in parts if isinstance(part, dict) and _text_of_part(part) is None)
    return Counter(f"{kind[:40]} left out" for kind in kinds if isinstance(kind, str))


def _text_of_part(part: Any) -> str | None:
    """None: this part is not text."""
    if isinstance(part, str):
        return part
    texts = [each.text for each in parts_of(part) if isinstance(each, TextPart)] if isinstance(part, dict) else []
    return texts[0] if texts else None


def _known_role(role: object) -> Role | None:
    if role == "user":
        return "user"
    return "assistant" if role == "assistant" else None
