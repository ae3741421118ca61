"""Which process makes which answer: claims with a lease, so that each is made once, and none is forgotten.

A worker renews its leases every second. One that is not seen to renew them is dead, or cut off from the database: what it left is
marked `interrupted` with its text, never begun again by itself.
"""

import logging
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import F, Q
from django.db.models.functions import Coalesce

from generation_app.generations.answer import Answer
from generation_app.generations.answer_saving import SessionCleared, save, save_end
from generation_app.generations.queries import caller_of_generation
from generation_app.generations.services import GenerationTaken, end_generation, end_overtaken
from generation_app.models import Generation, GenerationState
from generation_app.streams.queries import StreamNotFound
from sessions_app.chats.locking import lock_session
from sessions_app.chats.reading.messages import position_of
from sessions_app.chats.reading.sessions import SessionDeleted, SessionNotFound
from sessions_app.core.errors import AppError
from sessions_app.core.public_names import Caller, Status, now
from sessions_app.core.storage.transactions import write

LEASE = timedelta(seconds=10)
# What counts at most between two looks: while the database was away, nobody could renew anything.
COUNTED_SECONDS = 2.0
MOST_LOOKED_AT = 500
LEFT = "The server that made it ended."
logger = logging.getLogger(__name__)
QUEUED, RUNNING = GenerationState.QUEUED.value, GenerationState.RUNNING.value


class Lease(NamedTuple):
    generation_id: uuid.UUID
    worker: str
    until: datetime | None


class LeaseWatch:
    """Says which leases were not renewed while one looked. It compares what is stored and counts by a clock of its own: the time
    of day can be set, and other machines have another one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._looked_at = clock, clock()
        self._unchanged: dict[Lease, float] = {}

    def lapsed(self, leases: Iterable[Lease]) -> list[Lease]:
        """`leases`: all that there are now."""
        looked_at, self._looked_at = self._looked_at, self._clock()
        passed = min(self._looked_at - looked_at, COUNTED_SECONDS)
        before = self._unchanged
        self._unchanged = {lease: before[lease] + passed if lease in before else 0.0 for lease in leases}
        return [lease for lease, seconds in self._unchanged.items() if seconds >= LEASE.total_seconds()]


def claim(*, worker: str, running: Mapping[int, int], share: int) -> Generation | None:
    """The next generation for this worker, or None: of the owner who has the fewest running here, the one that waits longest.

    `running`: how many this worker makes, by owner; at most `share` for one.
    """
    # The oldest of each owner first: a long queue of one hides nobody else's.
    waiting = Generation.objects.filter(state=QUEUED).exclude(
        owner_id__in=[one for one, count in running.items() if count >= share]
    )
    rows = waiting.order_by("-created_at").values_list("owner_id", "created_at", "id")
    oldest = {owner: (created_at, generation_id) for owner, created_at, generation_id in rows}
    for owner in sorted(oldest, key=lambda owner: (running.get(owner, 0), oldest[owner])):
        generation_id = oldest[owner][1]
        at = now()
        taken = write(
            lambda one=generation_id, at=at: Generation.objects.filter(id=one, state=QUEUED).update(  # type: ignore[misc]
                state=RUNNING, worker=worker, leased_until=at + LEASE, started_at=at
            )
        )
        if taken:
            return Generation.objects.select_related("owner").get(id=generation_id)
    return None


def renew(*, worker: str, held: Collection[uuid.UUID]) -> tuple[set[uuid.UUID], set[uuid.UUID]]:
    """Of the held ones: which are still this worker's, and which of those have to be stopped, also because their session was
    cleared or deleted: a model that thinks for minutes gives nothing to save, so nothing else would tell."""
    if not held:
        return set(), set()
    own = Generation.objects.filter(id__in=held, worker=worker, state=RUNNING)
    write(lambda: own.update(leased_until=now() + LEASE))
    gone = Q(session__deleted_at__isnull=False) | Q(session__project__deleted_at__isnull=False)
    cleared = ~Q(epoch=F("session__epoch") + Coalesce("session__epochs_ahead", 0))
    stopped = own.filter(Q(stop_requested=True) | gone | cleared)
    return set(own.values_list("id", flat=True)), set(stopped.values_list("id", flat=True))


def end_abandoned(*, worker: str, watch: LeaseWatch, only_worker: bool) -> int:
    """Mark what dead workers left as interrupted, with all of its text. Returns their number. Call it behind `renew`: what this
    worker could not end is left too.

    `only_worker`: there is no other process, so whatever is another worker's is a dead one's.
    """
    running = Generation.objects.filter(state=RUNNING, ended_at=None)
    leases = [Lease(*row) for row in running.values_list("id", "worker", "leased_until")]
    lapsed = set(watch.lapsed(leases))
    left = [lease for lease in leases if lease in lapsed or (only_worker and lease.worker != worker)]
    ended = 0
    for generation_id, of, until in left[:MOST_LOOKED_AT]:
        # The first that writes ends it.
        mine = running.filter(id=generation_id, worker=of, leased_until=until)
        if write(lambda rows=mine: rows.update(worker=worker, leased_until=now() + LEASE)):  # type: ignore[misc]
            try:
                interrupt(generation_id)
            except Exception as error:  # One that cannot be ended keeps nobody else waiting.
                logger.error("an answer that was left is not ended: %s", type(error).__name__)
            else:
                ended += 1
    return ended


def interrupt(generation_id: uuid.UUID, error: str = LEFT) -> None:
    """End it with the text that its stream has, which can be longer than what the message has."""

    def work() -> None:
        generation = Generation.objects.select_related("owner").get(id=generation_id)
        if generation.ended_at is None:
            finish(generation, GenerationState.INTERRUPTED, error, tries=_rescue(generation))

    with suppress(GenerationTaken):
        write(work)


def finish(
    generation: Generation, state: GenerationState, error: str = "", tries: Sequence[list[dict[str, Any]]] | None = None
) -> None:
    """`end_generation`, but one whose session was cleared or deleted meanwhile ends too. Raises GenerationTaken."""
    caller = caller_of_generation(generation)
    generation = copy(generation)  # What is noted in it must not outlive a transaction that fails and is repeated.
    try:
        end_generation(caller=caller, generation=generation, state=state, error=error, tries=tries)
    except (SessionCleared, SessionDeleted, SessionNotFound, StreamNotFound) as gone:
        _save_late(caller, generation, tries or _rescue(generation))
        end_overtaken(caller=caller, generation=generation, error=gone.message)


def _save_late(caller: Caller, generation: Generation, tries: Sequence[list[dict[str, Any]]]) -> None:
    """What came after a clear: the message gets it if the clear was undone meanwhile. Else the save keeps it as a conflict copy,
    which an undo takes in. In the trash it is saved too: a restore brings back all that was shown."""
    with suppress(AppError):
        session = lock_session(caller=caller, session_id=generation.session_id, in_trash=True)
        if position_of(session_id=session.id, live=session.live, message_id=generation.message_id) is None:
            save(caller, generation, tries[0], in_trash=True)
        else:
            seen = {"epoch": session.epoch, "base_rev": session.rev}
            save_end(caller, generation, tries, Status.INTERRUPTED.value, **seen, in_trash=True)


def _rescue(generation: Generation) -> list[list[dict[str, Any]]]:
    """The last save of a generation whose worker left no other."""
    return Answer.left(generation).last_tries(complete=False)
