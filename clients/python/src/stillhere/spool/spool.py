"""Puts saves on the disk, and sends them in their order."""

import asyncio
import itertools
import logging
import os
import random
import sqlite3
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Self

from stillhere.connection import TIMEOUT_SECONDS, Connection
from stillhere.errors import StillhereError
from stillhere.http.forks import renew_in_forks
from stillhere.http.json_texts import as_json
from stillhere.operations.projects import checked_id
from stillhere.operations.saving import Op, pieces, upserts
from stillhere.spool.delivery import FORGOTTEN_SECONDS, LONGEST_PAUSE_SECONDS, SHORTEST_PAUSE_SECONDS, Delivery
from stillhere.spool.items import DamagedSpool, Item, Refused, SpoolError
from stillhere.spool.other_scopes import scope_of, see_to_others
from stillhere.spool.sender import SEQ_STEP, Sender
from stillhere.spool.storage import Storage

UNSENT = "%d saves wait in %s: the server has not taken them. The next spool with this file sends them."
# How often a server that is away is asked while somebody waits for it, and how long an idle thread may take to end.
SECONDS_BETWEEN_QUESTIONS, ENDING_SECONDS = 1.0, 0.5
OPENING_FIELDS = {"title", "metadata", "tags", "current"}
_KEY_REFUSED = {401, 403}
_log = logging.getLogger(__name__)


class Spool:
    """Saves to a project, through a file at `path` and its log, `path` with `-log` behind it. A thread sends them, those of a
    session in their order, until the server acknowledges each; a crash or an absent server loses none. The file may be that of
    several servers and projects: a spool sends what was saved with the same `url` and `project`, and logs a
    warning of others that wait for over a minute. Several processes may share the file, and after a fork the spool: a request may
    then be sent twice, which changes nothing. The other arguments are those of `Client`."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        url: str | None = None,
        key: str | None = None,
        project: str | None = None,
        *,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self._connection = Connection(url, key, project, timeout=timeout, retry_seconds=0)
        self._storage = Storage(path, scope_of(self._connection.url, self._connection.project))
        see_to_others(self._storage, self._connection.url, self._connection.project)
        self._closing = threading.Event()
        self.renew()
        renew_in_forks(self)
        self._work()

    def renew(self) -> None:
        """In a forked process, which is another writer. Its thread begins with its first save: a child that saves nothing leaves
        what waits to its parent."""
        self._writer_id, self._numbers = str(uuid.uuid4()), itertools.count(SEQ_STEP, SEQ_STEP)
        self._sender = Sender(self._connection, self._storage, self._writer_id)
        self._error: Exception | None = None
        self._attempt, self._failed, self._has_warned = 0, 0, False  # How many were begun, and which failed last.
        self._adding, self._starting = threading.Lock(), threading.Lock()
        self._sending = threading.RLock()
        self._wake, self._progress = threading.Event(), threading.Condition()
        self._delivery = Delivery(self._storage, self._sender, self._connection.url, self._progress)
        was_closed, self._closing = self._closing.is_set(), threading.Event()
        if was_closed:
            self._closing.set()
        self._thread: threading.Thread | None = None

    def save(
        self,
        messages: Sequence[Op],
        *,
        session: str | None = None,
        external_id: str | None = None,
        opening: Mapping[str, Any] | None = None,
        base_rev: int = 0,
    ) -> None:
        """On the disk when it returns. Either `session`, the id of one that exists, or your own `external_id`: then the session
        is created if there is none, with the fields of `opening` (title, metadata, tags, current). Messages without an `id` get
        one. `base_rev`: the newest `rev` of the session that you have seen; without it a change of what another writer stored, as
        this program was before a restart, is a conflict: see `refused`.
        Raises SpoolError after `close`, or if the disk is full and the server is away, and DamagedSpool, which is one, if the
        file is damaged."""
        self.change(upserts(messages), session=session, external_id=external_id, opening=opening, base_rev=base_rev)

    def change(
        self,
        ops: Sequence[Op],
        *,
        session: str | None = None,
        external_id: str | None = None,
        opening: Mapping[str, Any] | None = None,
        base_rev: int = 0,
    ) -> None:
        """The operations of docs/protocol.md, except `pop`, which needs its answer. Raises ValueError for one, and TypeError for
        unknown fields of `opening`. Where the project removes secrets use no `append`: what is stored may be shorter."""
        if (session is None) == (external_id is None):
            raise ValueError("Pass either `session` or `external_id`.")
        checked_id(session or "" if external_id is None else external_id)
        if any(op.get("op") == "pop" for op in ops):
            raise ValueError("A pop cannot wait: its answer has what it removed.")
        if unknown := (opening or {}).keys() - OPENING_FIELDS:
            raise TypeError(f"`opening` has unknown fields: {', '.join(sorted(unknown))}.")
        about = as_json(opening or {}, "opening").decode()
        with self._adding:  # One after the other, so that numbers and rows have the same order.
            if self._closing.is_set():  # The server would get it before what waits.
                raise SpoolError("This spool is closed. The save is not stored.")
            known, epoch = self._sender.known_place(session, external_id)
            items = [
                Item(0, known, external_id, about, self._writer_id, next(self._numbers), epoch, as_json(some).decode(), base_rev)
                for some in pieces(ops)
            ]
            try:
                self._storage.add(items)
            except DamagedSpool:  # What waits in it has to be sent before this.
                raise
            except sqlite3.Error:
                self._send_directly(items)
        self._work()

    async def asave(
        self,
        messages: Sequence[Op],
        *,
        session: str | None = None,
        external_id: str | None = None,
        opening: Mapping[str, Any] | None = None,
        base_rev: int = 0,
    ) -> None:
        """The same for coroutines."""
        await asyncio.to_thread(self.save, messages, session=session, external_id=external_id, opening=opening, base_rev=base_rev)

    def flush(self, seconds: float = 30.0, *, external_id: str | None = None) -> bool:
        """Waits until the server has answered everything that was saved before, or with `external_id` what was saved to that
        session. False: it did not in so many seconds, refuses the key, or fails at what is left (`is_held_up`); `error` says
        why."""
        return self._flush(seconds, external_id, threading.Event())

    async def aflush(self, seconds: float = 30.0, *, external_id: str | None = None) -> bool:
        """The same for coroutines. If it is cancelled its thread ends within a second."""
        given_up = threading.Event()
        try:
            return await asyncio.to_thread(self._flush, seconds, external_id, given_up)
        finally:
            given_up.set()

    @property
    def error(self) -> Exception | None:
        """Why the last attempt to send failed: a StillhereError, what the disk says, or an error of the client itself, which the
        log has as well. None: it did not."""
        return self._error

    @property
    def is_held_up(self) -> bool:
        """Does only wait what was saved to sessions at whose next save the server fails again and again? The log names them."""
        return self._delivery.is_held_up()

    @property
    def waiting(self) -> int:
        """How many requests the server has not answered."""
        return self._storage.count_after(self._delivery.acknowledged)

    def refused(self) -> list[Refused]:
        """What the server did not do: what it refuses, and changes of what others had changed before. It stays in the file until
        `discard`."""
        return self._storage.refused()

    def discard(self, number: int) -> None:
        self._storage.discard(number)

    def close(self, seconds: float = 5.0) -> None:
        """Tries so long to send what waits; the rest stays in the file for the next spool, and a warning says so. A request
        without an answer is then left to its thread."""
        if self._closing.is_set():
            return
        ends_at = time.monotonic() + seconds
        try:
            if self._thread is not None and not self.flush(seconds) and (waiting := self.waiting):
                _log.warning(UNSENT, waiting, self._storage.path)
        finally:
            with self._adding:
                self._closing.set()
            self._wake.set()
            if self._thread is None:
                self._end()
            else:
                self._thread.join(max(ends_at - time.monotonic(), ENDING_SECONDS))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- Sending.

    def _flush(self, seconds: float, external_id: str | None, given_up: threading.Event) -> bool:
        asks_at, ends_at = 0.0, time.monotonic() + seconds
        attempt = self._attempt  # What the present attempt is told may be outdated.
        self._delivery.asked = True
        self._work()
        with self._progress:
            # Not for what is saved from now on, by other processes too.
            last = self._storage.last_after(self._delivery.acknowledged, external_id)
            while last is not None:
                if given_up.is_set() or (self._failed > attempt and self._is_stuck(external_id, last)):
                    return False
                if (left := ends_at - time.monotonic()) <= 0:
                    return False
                if time.monotonic() >= asks_at:  # Each answer, or none, wakes this loop too.
                    self._wake.set()
                    asks_at = time.monotonic() + SECONDS_BETWEEN_QUESTIONS
                self._progress.wait(min(left, 1))
                last = self._storage.last_after(self._delivery.acknowledged, external_id, last)
        return True

    def _is_stuck(self, external_id: str | None, last: int) -> bool:
        return _refuses_key(self._error) or self._delivery.is_held_up(external_id, last)

    def _work(self) -> None:
        self._wake.set()
        with self._starting:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._run, name="stillhere-spool", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        try:
            self._send_in_background()
            self._delivery.forget()
        finally:
            self._end()

    def _end(self) -> None:
        self._connection.close()
        self._storage.close()

    def _send_in_background(self) -> None:
        pause, failed = LONGEST_PAUSE_SECONDS, 0
        while not self._closing.is_set():
            owes = self._delivery.owes
            if not self._wake.wait(FORGOTTEN_SECONDS if owes else pause) and owes:
                self._delivery.forget()  # And no more: what the server did not take waits for its whole pause.
                continue
            self._wake.clear()
            self._attempt += 1
            try:
                self._send_waiting()
                pause, failed = LONGEST_PAUSE_SECONDS, 0
                self._error, self._has_warned = None, False
            except Exception as error:  # Whatever it is, what waits is not stuck until the program starts again.
                self._note(error)
                longest = min(SHORTEST_PAUSE_SECONDS * 2**failed, LONGEST_PAUSE_SECONDS)
                pause, failed = longest * random.uniform(0.5, 1), min(failed + 1, 16)  # noqa: S311 - no secret
                # A save may cut a pause short, but not what the server asks for.
                self._closing.wait(getattr(error, "retry_after", None) or 0)

    def _note(self, error: Exception) -> None:
        if not isinstance(error, (StillhereError, sqlite3.Error)) and type(error) is not type(self._error):
            _log.error("An error of the client stops the sending of %s. It is tried again.", self._storage.path, exc_info=error)
        with self._progress:
            self._error, self._failed = error, self._attempt
            self._progress.notify_all()
        if _refuses_key(error) and not self._has_warned:
            self._has_warned = True
            _log.warning("%s refuses the key: %s What is saved waits in %s.", self._connection.url, error, self._storage.path)

    def _send_waiting(self) -> None:
        """Raises StillhereError if the server takes nothing now, or something not, in spite of all others."""
        with self._sending:
            held = self._delivery.send_waiting(self._closing)
        if held is not None:
            raise held

    def _send_directly(self, items: list[Item]) -> None:
        """For a disk that takes nothing: after everything that waits. Raises SpoolError, or the server's refusal."""
        with self._sending:
            try:
                held = self._delivery.send_waiting(self._closing)
                if held is not None and any(map(self._delivery.holds, items)):
                    raise held
                refusals = [self._sender.refusal_of(item) for item in items]
            except DamagedSpool:
                raise
            except (StillhereError, sqlite3.Error) as error:
                raise SpoolError("Neither the disk nor the server took this save.") from error
        for refusal in refusals:
            if refusal is not None:
                raise StillhereError(**refusal)


def _refuses_key(error: Exception | None) -> bool:
    return isinstance(error, StillhereError) and error.status in _KEY_REFUSED
