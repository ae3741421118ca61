"""What clears and undos mean for a past moment: which messages were live then, and under which epoch they are stored now."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from sessions_app.models import Clearing
from sessions_app.models.live import Live
from sessions_app.pages.history.moments import Moment

# Of a session that was cleared more often, the clears before these count as never undone.
MOST = 500


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
    then = _live_sections(clearings, moment)[0]
    now_live, held = _live_sections(clearings, Moment(0, 0, 0, None))
    places: dict[int, int | None] = dict.fromkeys(now_live, live.epoch)
    past = Past()
    for clearing, sections in held:
        places |= dict.fromkeys(sections, None if clearing.purged_at else clearing.messages_epoch)
        if clearing.purged_at and (then & set(sections) or _perhaps(clearing, moment)):
            past.erased.append(clearing)
    bounds = list(pairwise([None, *(clearing.cleared_at for clearing in clearings), None]))
    for epoch in dict.fromkeys(place for section in sorted(then) if (place := places[section]) is not None):
        here = {section for section, place in places.items() if place == epoch}
        times = None if here <= then else [Between(*bounds[section]) for section in sorted(here & then)]
        past.stored.append(Stored(epoch, times))
    return past


def _perhaps(clearing: Clearing, moment: Moment) -> bool:
    """Whether it is among the revs that cannot be told apart: its messages may have been there."""
    return not moment.exact and moment.since is not None and clearing.cleared_at >= moment.since


def _live_sections(clearings: list[Clearing], moment: Moment) -> tuple[set[int], list[tuple[Clearing, list[int]]]]:
    """The sections that were live at a moment, and those that each clear held then."""
    live, held = [0], dict[int, list[int]]()
    for _, is_undo, number in sorted(_happened(clearings, moment)):
        if is_undo:
            live += held.pop(number, [])
        else:
            held[number], live = live, [number + 1]
    return set(live), [(clearings[number], sections) for number, sections in held.items()]


def _happened(clearings: list[Clearing], moment: Moment) -> Iterable[tuple[datetime, bool, int]]:
    for number, clearing in enumerate(clearings):
        if moment.had_cleared(clearing.cleared_at, clearing.messages_epoch):
            yield clearing.cleared_at, False, number
        if clearing.undone_at is not None and moment.had(clearing.undone_at) and clearing.undone_at != moment.tie:
            yield clearing.undone_at, True, number
