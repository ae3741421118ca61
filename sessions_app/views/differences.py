"""What is different between two handoffs, word by word, as pages show it."""

import difflib
import re
from dataclasses import dataclass
from typing import Any

from sessions_app.queries.handoff import LISTS

# Comparing costs the product of both lengths; longer texts are shown whole.
MOST_WORDS = 3_000
# Texts less alike are shown one after the other: word by word nobody could read them.
LEAST_ALIKE = 0.4
ONE = {"decisions": "decision", "files": "file", "risks": "risk", "summary": "summary"}
LABELS = {"text": "", "path": "", "rationale": "Why", "rejected": "Rejected", "note": "Note", "": ""}


@dataclass(frozen=True, slots=True)
class Piece:
    """`kind`: same, gone or new."""

    kind: str
    words: str


@dataclass(frozen=True, slots=True)
class Line:
    label: str
    pieces: list[Piece]


@dataclass(frozen=True, slots=True)
class Change:
    """`how`: added, removed or changed."""

    how: str
    what: str
    lines: list[Line]


def counted(found: dict[str, list[Any]]) -> str:
    counts = ((len(found[how]), how) for how in ("added", "removed", "changed"))
    return ", ".join(f"{count:,} {how}" for count, how in counts if count) or "nothing changed"


def shown_changes(found: dict[str, list[Any]]) -> list[Change]:
    changes = [Change("added", ONE[one["kind"]], _lines(one["kind"], {}, one["item"])) for one in found["added"]]
    changes += [Change("changed", ONE[one["kind"]], _lines(one["kind"], one["from"], one["to"])) for one in found["changed"]]
    return changes + [Change("removed", ONE[one["kind"]], _lines(one["kind"], one["item"], {})) for one in found["removed"]]


def _lines(kind: str, old: Any, new: Any) -> list[Line]:
    if kind == "summary":
        return [Line("", words_between(old, new))]
    order = [LISTS[kind], *(name for name in LABELS if name and name != LISTS[kind])]
    named = [(name, _text(old.get(name)), _text(new.get(name))) for name in order if name in old or name in new]
    return [Line(LABELS[name], words_between(before, after)) for name, before, after in named]


def words_between(old: str, new: str) -> list[Piece]:
    """Both texts in one: what stayed, what went, what came."""
    before, after = (re.findall(r"\s+|\w+|[^\w\s]", text) for text in (old, new))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    if max(len(before), len(after)) > MOST_WORDS or matcher.ratio() < LEAST_ALIKE:
        return [Piece(kind, text) for kind, text in (("gone", old), ("new", new)) if text]
    pieces = []
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        gone, came = "".join(before[start:end]), "".join(after[other_start:other_end])
        parts = [("same", gone)] if tag == "equal" else [("gone", gone), ("new", came)]
        pieces += [Piece(kind, words) for kind, words in parts if words]
    return pieces


def _text(value: Any) -> str:
    return "\n".join(value) if isinstance(value, list) else str(value or "")
