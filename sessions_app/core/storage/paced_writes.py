"""Large writes beside small saves: in pieces that hold the store's lock briefly, with gaps between them.

Such work is an iterator of steps. A step yields True if it held the lock.
"""

import time
from collections.abc import Iterator

from django.db import connection

from sessions_app.core.storage import transactions
from sessions_app.core.storage.sql import on_postgresql

# Target lock time for each piece; on a disk that is slow for a while it may be three times as long.
PIECE_SECONDS = 0.03
# On PostgreSQL, for rows that nobody else can see yet: they delay nobody, and each piece costs a commit.
HIDDEN_PIECE_SECONDS = 0.15
# SQLite writers in other processes first poll the lock every 25 ms: they could miss a shorter gap.
GAP_SECONDS = 0.03
# Lets other threads of the server run.
BREATH_SECONDS = 0.0005
LEAST, MOST = 10, 20_000


class Pace:
    """Chooses the number of rows in the next piece from the duration of the last one.

    `hidden`: nobody else can see these rows yet.
    """

    def __init__(self, rows: int = 100, *, hidden: bool = False) -> None:
        self.rows = rows
        self._hidden = hidden
        self._began = 0.0

    def begin(self) -> None:
        """Start timing. Called with the lock held, so that waiting for it does not count."""
        self._began = time.perf_counter()

    def end(self) -> None:
        took = max(time.perf_counter() - self._began, 0.001)
        target = HIDDEN_PIECE_SECONDS if self._hidden and on_postgresql() else PIECE_SECONDS
        self.rows = int(min(MOST, max(LEAST, self.rows * min(2.0, target / took))))


def run_paced(steps: Iterator[bool]) -> None:
    """Run all steps with a pause after each: for a request's thread, or for a command."""
    together = connection.in_atomic_block
    alone = not on_postgresql() and not transactions.groups_commits()
    for held_the_lock in steps:
        if held_the_lock and alone and not together:
            time.sleep(GAP_SECONDS)
        elif not alone:
            time.sleep(BREATH_SECONDS)
