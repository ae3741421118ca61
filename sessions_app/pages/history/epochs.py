"""What clears and undos mean for a past moment: which messages were live then, and under which epoch they are stored now."""

import uuid
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from sessions_app.models import Clearing
from sessions_app.models.live import Live
from sessions_app.pages.history.moments import Moment

# Of a session that was cleared more often, the clears before these count as never undone.
MOST = 500
# Undone clears under whose epochs removed messages are looked for.
MOST_RESTORED = 10


@dataclass(frozen=True, slots=True)
class Between:
    """Messages created after a clear and until the next one. None: before the first clear, or until now."""

    after: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Stored:
    """Messages under one stored epoch that were live at a moment: those created in one of `times`; None: all of them."""

    epoch: int
    times: list[Between] | None


@dataclass(slots=True)
class Past:
    """What was live at a moment. `erased`: clears whose messages were live then, and are gone now."""

    stored: list[Stored] = field(default_factory=list)
    erased: list[Clearing] = field(default_factory=list)


def list_clearings(session_id: uuid.UUID) -> list[Clearing]:
    """The newest ones, oldest first."""
    return list(Clearing.objects.filter(session_id=session_id).order_by("-epoch")[:MOST])[::-1]


def past_of(clearings: list[Clearing], live: Live, moment: Moment) -> Past:
    """A section is what was written between two clears. A clear holds the sections that were live before it, until its undo."""
    then, present = _sections(clearings, moment).live, _sections(clearings, Moment(0, 0, 0, None))
    places, past = defaultdict[int, set[int]](set), Past()
    places[live.epoch] |= present.live
    for clearing, sections in present.held.values():
        if not clearing.purged_at:
            places[clearing.messages_epoch] |= set(sections)
        elif then & set(sections) or _perhaps(clearing, moment):
            past.erased.append(clearing)
    # An undo can leave what was removed before the clear where it was.
    for clearing, sections in present.restored[-MOST_RESTORED:]:
        places[clearing.messages_epoch] |= set(sections)
    bounds = list(pairwise([None, *(clearing.cleared_at for clearing in clearings), None]))
    for epoch, here in places.items():
        if here & then:
            times = None if here <= then else [Between(*bounds[section]) for section in sorted(here & then)]
            past.stored.append(Stored(epoch, times))
    return past


def _perhaps(clearing: Clearing, moment: Moment) -> bool:
    """Whether it is among the revs that cannot be told apart: its messages may have been there."""
    return not moment.exact and moment.since is not None and clearing.cleared_at >= moment.since


class _Sections(NamedTuple):
    """The sections that were live at a moment, that each clear held then, and that an undo had given back."""

    live: set[int]
    held: dict[int, tuple[Clearing, list[int]]]
    restored: list[tuple[Clearing, list[int]]]


def _sections(clearings: list[Clearing], moment: Moment) -> _Sections:
    found = _Sections({0}, {}, [])
    for _, is_undo, number in sorted(_happened(clearings, moment)):
        if not is_undo:
            found.held[number] = (clearings[number], sorted(found.live))
            found.live.clear()
            found.live.add(number + 1)
        elif number in found.held:
            found.restored.append(found.held.pop(number))
            found.live.update(found.restored[-1][1])
    return found


def _happened(clearings: list[Clearing], moment: Moment) -> Iterable[tuple[datetime, bool, int]]:
    for number, clearing in enumerate(clearings):
        if moment.had_cleared(clearing.cleared_at, clearing.messages_epoch):
            yield clearing.cleared_at, False, number
        if clearing.undone_at is not None and moment.had_undone(clearing.undone_at):
            yield clearing.undone_at, True, number
