"""The marks beside the slider: clears and their undos, conflicts and frozen handoffs."""

import uuid
from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from sessions_app.chats.reading.sessions import SessionRow
from sessions_app.models import Clearing, ConflictCopy, HandoffSnapshot
from sessions_app.pages.history.moments import revs_at

# Of each kind; the newest are shown.
MOST = 30
MOST_COPIES = 1_000
# The units of the drawing: see templates/pages/history/history.html.
WIDTH = 1_000


@dataclass(frozen=True, slots=True)
class Mark:
    """`kind`: clear, undo, conflict or handoff. `x`: its place on the slider."""

    kind: str
    words: str
    at: datetime
    rev: int
    x: int


def marks_of(session: SessionRow, clearings: list[Clearing]) -> list[Mark]:
    """Oldest first; three statements however many there are."""
    found = [*_clears(clearings), *_conflicts(session.id), *_handoffs(session)]
    found.sort(key=lambda mark: mark[2])
    revs = revs_at(session_id=session.id, newest=session.rev, times=[at for _, _, at in found])
    marks, later = list[Mark](), Counter[int]()
    for (kind, words, at), last in zip(reversed(found), reversed(revs), strict=True):
        # A clear and an undo each took a rev: those before the last of its moment.
        rev = max(0, last - later[last])
        later[last] += kind in {"clear", "undo"}
        marks.append(Mark(kind, words, at, rev, round(WIDTH * rev / max(1, session.rev))))
    return marks[::-1]


def _clears(clearings: list[Clearing]) -> list[tuple[str, str, datetime]]:
    newest = clearings[-MOST:]
    found = [("clear", f"Cleared: {row.message_count:,} messages", row.cleared_at) for row in newest]
    return found + [("undo", "A clear was undone", row.undone_at) for row in newest if row.undone_at is not None]


def _conflicts(session_id: uuid.UUID) -> list[tuple[str, str, datetime]]:
    rows = ConflictCopy.objects.filter(session_id=session_id).values_list("created_at", "message_id", "settled_at")
    newest = sorted(rows[:MOST_COPIES])[-MOST:]
    return [
        ("conflict", f"Another text for {message_id}{', settled' if settled_at else ''}", at)
        for at, message_id, settled_at in newest
    ]


def _handoffs(session: SessionRow) -> list[tuple[str, str, datetime]]:
    rows = HandoffSnapshot.objects.filter(project_id=session.project_id).order_by("-number")
    found = rows.values_list("number", "created_at", "session_id")[:MOST_COPIES]
    return [("handoff", f"Handoff {number} frozen", at) for number, at, of in found if of == session.id][:MOST]
