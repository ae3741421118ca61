"""The differences between two handoffs, word by word, as pages show them."""

import re
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from sessions_app.agents.handoff.queries import LISTS
from sessions_app.agents.handoff.word_diff import common_words

# Texts with more added and removed words and blanks than this, or less alike than this, are shown one after the other: a
# word-by-word difference would be unreadable.
MOST_CHANGES, LEAST_ALIKE = 500, 0.4
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
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
    """Both texts in one: unchanged, removed and added pieces."""
    before, after = (_WORDS.findall(text) for text in (old, new))
    kept = common_words(before, after, most_changes=MOST_CHANGES, least_alike=LEAST_ALIKE)
    if kept is None:
        return [Piece(kind, text) for kind, text in (("gone", old), ("new", new)) if text]
    pieces, start, other_start = list[tuple[str, str]](), 0, 0
    for at, other in [*kept, (len(before), len(after))]:
        gone, came, same = before[start:at], after[other_start:other], before[at : at + 1]
        pieces += [("gone", "".join(gone)), ("new", "".join(came)), ("same", "".join(same))]
        start, other_start = at + 1, other + 1
    told = groupby((piece for piece in pieces if piece[1]), key=itemgetter(0))
    return [Piece(kind, "".join(words for _, words in some)) for kind, some in told]


def _text(value: Any) -> str:
    return "\n".join(value) if isinstance(value, list) else str(value or "")
