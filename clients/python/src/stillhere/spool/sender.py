"""Sends requests of a file, each time to the same place."""

import json
import sqlite3
from contextlib import suppress
from typing import Any

import httpx

from stillhere.connection import Connection, Operation, Request
from stillhere.errors import StillhereError
from stillhere.operations.projects import get_project, session_path
from stillhere.operations.recent import Recent
from stillhere.operations.records import Session
from stillhere.operations.saving import Op
from stillhere.operations.sessions import get_session, open_session
from stillhere.spool.items import Item, ops_in
from stillhere.spool.leftovers import Leftovers, left_of, refusal_by, refusal_for, together, too_large
from stillhere.spool.storage import Storage

# Until somebody signs in, frees the quota, or the server is back. Other refusals do not pass by waiting.
_PASSING = {401, 403, 408, 429}
# Also as a page of a proxy, which has no more to say about the request.
_OF_PROXIES = {401, 407, 408, 429}
TOO_LARGE, BY_PROXY = 413, "refused_by_proxy"
# The server, or one behind a proxy, failed at it. Where it works besides, this request is the reason.
_FAILURES = {500, 502, 504}
# Between the numbers of two saves: for each of 500 operations the sizes of the piece that it may begin.
LEVELS, SEQ_STEP = 16, 8_192


class Sender:
    """`writer_id`: of this process."""

    def __init__(self, connection: Connection, storage: Storage, writer_id: str) -> None:
        self._connection, self._storage, self._writer_id = connection, storage, writer_id
        self._epochs = Recent[tuple[str, int]]()
        # Where requests without an answer were sent, by number: each is the same each time.
        self._tried: dict[int, tuple[str, int]] = {}

    def known_place(self, session: str | None, external_id: str | None) -> tuple[str | None, int | None]:
        """The session's id and present epoch, as far as they are known."""
        return self._epochs.get(_name(session, external_id), (session, None))

    def refusal_of(self, item: Item) -> dict[str, Any] | None:
        """Sends it. None: it is done. Raises StillhereError for what passes by waiting."""
        refusal = self._refusal_of(item)
        self._tried.pop(item.number, None)
        return refusal

    def _refusal_of(self, item: Item) -> dict[str, Any] | None:
        try:
            ops: list[Op] = [*ops_in(item.ops)]
            return refusal_for(self._sent_past_proxies(item, ops))
        except (KeyError, TypeError) as error:  # Something else answers instead of the server.
            raise StillhereError(0, "unreadable", "This is no answer to a save.", {}) from error
        except (ValueError, RecursionError) as error:  # No request can be made of it, now or later.
            return {"status": 0, "code": "unsendable", "message": f"This cannot be sent: {error}", "details": {}}
        except StillhereError as error:
            if _passes(error):
                raise
            if error.code == "stale_epoch":
                self._epochs.clear()
            return refusal_by(error)

    def fails_alone(self, error: StillhereError) -> bool:
        """Is it this request at which the server fails, or takes too long, while others reach it?"""
        is_failure = error.status in _FAILURES or isinstance(error.__cause__, httpx.ReadTimeout)
        return is_failure and self._reaches_the_server()

    def _sent_past_proxies(self, item: Item, ops: list[Op]) -> Leftovers:
        """A proxy's own page refuses this save, or everything while the server is away. Which of both shows if another request
        reaches the server, and this one still does not."""
        try:
            return self._sent(item, ops)
        except StillhereError as error:
            if not _is_page(error) or not self._reaches_the_server():
                raise
        try:
            return self._sent(item, ops)
        except StillhereError as error:
            if not _is_page(error):
                raise
            raise StillhereError(error.status, BY_PROXY, error.message, {}) from error

    def _sent(self, item: Item, ops: list[Op], start: int = 0, level: int = 0) -> Leftovers:
        """In halves, where a proxy takes no request of this size. Each has a number of its own, the same each time."""
        try:
            return left_of(ops, self._answer_to(item._replace(seq=item.seq + start * LEVELS + level), ops), start)
        except StillhereError as error:
            # An earlier version left no room between the numbers.
            if error.status != TOO_LARGE or not ops or item.seq % SEQ_STEP or (start, level, len(ops)) == (0, 0, 1):
                raise
            if len(ops) == 1:
                return too_large(ops[0], start, error)
        half = (len(ops) + 1) // 2
        first = self._sent(item, ops[:half], start, level + 1)
        return together(first, self._sent(item, ops[half:], start + half, level + 1))

    def _reaches_the_server(self) -> bool:
        try:
            self._connection.run(get_project())
        except (StillhereError, KeyError, TypeError):
            return False
        return True

    def _answer_to(self, item: Item, ops: list[Op]) -> dict[str, Any]:
        try:
            return self._connection.run(self._save(item, ops))
        except StillhereError as error:
            if item.external_id is None or error.status != 404 or error.code == "unreadable":
                raise
        # The session was erased for good since this spool knows it: there is a new one of this name.
        self._epochs.pop(_name(None, item.external_id), None)
        self._tried.pop(item.number, None)
        return self._connection.run(self._save(item._replace(session=None, epoch=None), ops))

    def _save(self, item: Item, ops: list[Op]) -> Operation[dict[str, Any]]:
        session, epoch = yield from self._place_of(item)
        body = {"epoch": epoch, "writer_id": item.writer_id, "seq": item.seq, "ops": ops}
        if item.base_rev:  # A request from before there was one is sent again as it was.
            body["base_rev"] = item.base_rev
        answer: dict[str, Any] = yield Request("POST", f"{session_path(session)}/changes", body)
        return answer

    def _place_of(self, item: Item) -> Operation[tuple[str, int]]:
        """Where it goes, each time the same: written down before it is sent, unless that was the place when it was saved."""
        if item.number in self._tried:
            return self._tried[item.number]
        is_new = item.number and item.writer_id == self._writer_id
        if item.session is not None and item.epoch is not None and not is_new:
            return item.session, item.epoch
        place = yield from self._present_place(item)
        if item.number:
            self._tried[item.number] = place
            if place != (item.session, item.epoch):
                with suppress(sqlite3.Error):
                    self._storage.freeze(item.number, *place)
        return place

    def _present_place(self, item: Item) -> Operation[tuple[str, int]]:
        """The session's id and present epoch."""
        name = _name(item.session, item.external_id)
        if name not in self._epochs:
            found: Session
            if item.external_id is not None:
                found = yield from _opening(item.external_id, json.loads(item.opening))
            else:
                found = yield from get_session(item.session or "")
            self._epochs[name] = found.id, found.epoch
        return self._epochs[name]


def _is_page(error: StillhereError) -> bool:
    """A refusal that is none of the API, and may be because of what the request has."""
    return error.code == "unreadable" and 400 <= error.status < 500 and error.status not in {TOO_LARGE, *_OF_PROXIES}


def _passes(error: StillhereError) -> bool:
    if error.code == BY_PROXY or error.status == TOO_LARGE:
        return False
    return error.status in _PASSING or error.status >= 500 or error.code in {"no_answer", "unreadable"}


def _opening(external_id: str, fields: dict[str, Any]) -> Operation[Session]:
    """Raises ValueError for fields that no session has, as an earlier version may have written them down."""
    try:
        return open_session(external_id, **fields)
    except TypeError as error:
        raise ValueError(str(error)) from error


def _name(session: str | None, external_id: str | None) -> str:
    return session or "" if external_id is None else f"external {external_id}"
