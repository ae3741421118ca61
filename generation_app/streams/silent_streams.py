"""Streams whose producer has gone: they end as interrupted."""

import time
import uuid
from datetime import timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet

from generation_app.models import Generation, Stream, StreamState
from generation_app.streams.services import end_locked
from sessions_app.core.public_names import now
from sessions_app.core.storage.transactions import write

# By so much the time of day may gain on the time that has passed.
STEP_SECONDS = 1.0


class SilenceWatch:
    """Calls `interrupt_silent`, but not while no producer could be heard: before the server had started, while the machine slept,
    or where the time of day was set forward. Then all of them have STREAM_SECONDS to be heard again."""

    def __init__(self) -> None:
        self._of_day = self._passed = self._listens_until = 0.0

    def __call__(self) -> int:
        """The number of streams that were ended."""
        of_day, passed = time.time(), time.monotonic()
        if of_day - self._of_day > passed - self._passed + STEP_SECONDS:
            self._listens_until = passed + settings.STREAM_SECONDS
        self._of_day, self._passed = of_day, passed
        return interrupt_silent() if passed >= self._listens_until else 0


def interrupt_silent() -> int:
    """End streams whose producer is silent. Returns their number."""
    silent = list(_silent().values_list("id", flat=True)[:500])
    return sum(write(lambda one=stream_id: _interrupt(one)) for stream_id in silent)  # type: ignore[misc]


def _silent() -> QuerySet[Stream]:
    """Without those of generations that wait or are made: models think for minutes, and the lease tells whether their worker
    lives."""
    since = now() - timedelta(seconds=settings.STREAM_SECONDS)
    made = Generation.objects.filter(stream_id=OuterRef("id"), ended_at=None)
    return Stream.objects.filter(~Exists(made), ended_at=None, written_at__lt=since)


def _interrupt(stream_id: uuid.UUID) -> int:
    """0 if it lived meanwhile."""
    rows = _silent().select_for_update(no_key=True).filter(id=stream_id)
    count = rows.values_list("chunk_count", flat=True).first()
    if count is None:
        return 0
    end_locked(stream_id, count, StreamState.INTERRUPTED.value)
    return 1
