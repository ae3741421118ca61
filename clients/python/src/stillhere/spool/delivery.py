"""Takes requests from the file to the server, those of a session in their order. One at which the server fails holds up its own
session, and no other one."""

import logging
import sqlite3
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import Any

from stillhere.errors import StillhereError
from stillhere.spool.items import Item
from stillhere.spool.sender import Sender
from stillhere.spool.storage import Storage

# What was acknowledged is removed from the file a little later, many requests in one write. Until then it may be sent again.
FORGOTTEN_SECONDS = 0.2
SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.2, 10.0
# A fault that passes at once is no news.
FAILURES_TO_TELL = 3
HELD = (
    "%s fails at a save to the session %s (%s). It is tried again, and until it is stored all that is saved to this session "
    "waits in %s. Other sessions go on."
)
_log = logging.getLogger(__name__)


class Delivery:
    """One thread at a time. `url`: of the server, for the log. `progress`: is notified of each answer. `acknowledged`: the number
    up to which nothing waits."""

    def __init__(self, storage: Storage, sender: Sender, url: str, progress: threading.Condition) -> None:
        self._storage, self._sender, self._url, self._progress = storage, sender, url, progress
        self.acknowledged = self._forgotten = 0
        self._forgets_at = 0.0
        # By the numbers of requests that failed: the ids of their sessions, of both kinds, and how often they have failed.
        self._held: dict[int, set[str]] = {}
        self._failures = Counter[int]()
        self._held_error: StillhereError | None = None
        self._tried_again_at, self._rounds = 0.0, 0
        # Somebody waits: what failed is tried again at once.
        self.asked = False

    @property
    def owes(self) -> bool:
        """Is something acknowledged still in the file?"""
        return self._forgotten < self.acknowledged

    def is_held_up(self, external_id: str | None = None, last: int | None = None) -> bool:
        """Is nothing left (of this session, up to this number) but what waits for requests that have failed again and again?"""
        held = dict(self._held)
        if not held or any(self._failures[number] < FAILURES_TO_TELL for number in held):
            return False
        return self._storage.last_after(self.acknowledged, external_id, last, set[str]().union(*held.values())) is None

    def holds(self, item: Item) -> bool:
        return not self._names_held.isdisjoint(self._names_of(item))

    def send_waiting(self, closing: threading.Event) -> StillhereError | None:
        """Returns why some wait although others are sent. Raises StillhereError if the server takes nothing now."""
        tries_again = self.asked or time.monotonic() >= self._tried_again_at
        if tries_again:
            self.asked, self._held, self._held_error = False, {}, None
        last = self.acknowledged
        while not closing.is_set() and (items := self._storage.next_after(last, self._names_held)):
            for item in items:
                last = item.number
                if not self._sent(item) or closing.is_set():
                    break  # Those behind it may be passed over now.
        if tries_again:
            self._failures = Counter({number: self._failures[number] for number in self._held})
            self._rounds = min(self._rounds + 1, 16) if self._held else 0
            # The pause of the sending thread is not shorter than a half.
            self._tried_again_at = time.monotonic() + min(SHORTEST_PAUSE_SECONDS * 2**self._rounds, LONGEST_PAUSE_SECONDS) / 2
        return self._held_error

    def _sent(self, item: Item) -> bool:
        """False: the server fails at it. Raises StillhereError if it takes nothing."""
        try:
            refusal = self._sender.refusal_of(item)
        except StillhereError as error:
            if not self._sender.fails_alone(error):
                raise
            self._hold(item, error)
            return False
        self._done(item, refusal)
        return True

    def forget(self) -> None:
        self._forgotten = self.acknowledged
        with suppress(sqlite3.Error):  # A full disk: with a later one.
            self._storage.forget_up_to(self._forgotten)
        self._forgets_at = time.monotonic() + FORGOTTEN_SECONDS

    def _done(self, item: Item, refusal: dict[str, Any] | None) -> None:
        del self._failures[item.number]
        if refusal is not None:
            self._storage.refuse(item.number, refusal)
        if not self._held:
            self.acknowledged = item.number
        elif refusal is None:
            with suppress(sqlite3.Error):  # Then it is sent again, which changes nothing.
                self._storage.remove(item.number)
        with self._progress:
            self._progress.notify_all()
        if time.monotonic() >= self._forgets_at:
            self.forget()

    def _hold(self, item: Item, error: StillhereError) -> None:
        self._held[item.number] = self._names_of(item)
        self._held_error = error
        error.retry_after = None  # Other sessions do not wait for it.
        self._failures[item.number] += 1
        if self._failures[item.number] == FAILURES_TO_TELL:
            _log.warning(HELD, self._url, item.external_id or item.session, error, self._storage.path)

    @property
    def _names_held(self) -> set[str]:
        return set[str]().union(*self._held.values())

    def _names_of(self, item: Item) -> set[str]:
        known, _ = self._sender.known_place(item.session, item.external_id)
        return {name for name in (item.session, item.external_id, known) if name}
