"""Sends requests of a file, each time to the same place."""

import json
import sqlite3
from contextlib import suppress
from typing import Any

from stillhere.connection import Connection, Operation, Request
from stillhere.errors import StillhereError
from stillhere.operations.projects import session_path
from stillhere.operations.records import Session
from stillhere.operations.sessions import get_session, open_session
from stillhere.spool.leftovers import Leftovers, left_of, refusal_by, refusal_for
from stillhere.spool.storage import Item, Storage

# Until somebody signs in, frees the quota, or the server is back. Other refusals do not pass by waiting.
_PASSING = {401, 403, 408, 429}


class Sender:
    """`writer_id`: of this process."""

    def __init__(self, connection: Connection, storage: Storage, writer_id: str) -> None:
        self._connection, self._storage, self._writer_id = connection, storage, writer_id
        self._epochs: dict[str, tuple[str, int]] = {}
        # The last request that was sent for the first time, and as what: it is the same each time.
        self._tried, self._tried_as = 0, ("", 0)

    def known_place(self, session: str | None, external_id: str | None) -> tuple[str | None, int | None]:
        """The session's id and present epoch, as far as they are known."""
        return self._epochs.get(_name(session, external_id), (session, None))

    def refusal_of(self, item: Item) -> dict[str, Any] | None:
        """Sends it. None: it is done. Raises StillhereError for what passes by waiting."""
        try:
            return refusal_for(self._sent(item))
        except (KeyError, TypeError) as error:  # Something else answers instead of the server.
            raise StillhereError(0, "unreadable", "This is no answer to a save.", {}) from error
        except (ValueError, RecursionError) as error:  # No request can be made of it, now or later.
            return {"status": 0, "code": "unsendable", "message": f"This cannot be sent: {error}", "details": {}}
        except StillhereError as error:
            if error.status in _PASSING or error.status >= 500 or error.code in {"no_answer", "unreadable"}:
                raise
            if error.code == "stale_epoch":
                self._epochs.clear()
            return refusal_by(error)

    def _sent(self, item: Item) -> Leftovers:
        return left_of(json.loads(item.ops), self._answer_to(item))

    def _answer_to(self, item: Item) -> dict[str, Any]:
        try:
            return self._connection.run(self._save(item))
        except StillhereError as error:
            if item.external_id is None or error.status != 404:
                raise
        # The session was erased for good since this spool knows it: there is a new one of this name.
        self._epochs.pop(_name(None, item.external_id), None)
        self._tried = 0
        return self._connection.run(self._save(item._replace(session=None, epoch=None)))

    def _save(self, item: Item) -> Operation[dict[str, Any]]:
        session, epoch = yield from self._place_of(item)
        numbered = {"epoch": epoch, "writer_id": item.writer_id, "seq": item.seq}
        if item.base_rev:  # A request from before there was one is sent again as it was.
            numbered["base_rev"] = item.base_rev
        answer: dict[str, Any] = yield Request(
            "POST", f"{session_path(session)}/changes", {**numbered, "ops": json.loads(item.ops)}
        )
        return answer

    def _place_of(self, item: Item) -> Operation[tuple[str, int]]:
        """Where it goes, each time the same: written down before it is sent, unless that was the place when it was saved."""
        if item.number and item.number == self._tried:
            return self._tried_as
        is_new = item.writer_id == self._writer_id and item.number > self._tried
        if item.session is not None and item.epoch is not None and not is_new:
            return item.session, item.epoch
        place = yield from self._present_place(item)
        if item.number:
            self._tried, self._tried_as = item.number, place
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


def _opening(external_id: str, fields: dict[str, Any]) -> Operation[Session]:
    """Raises ValueError for fields that no session has, as an earlier version may have written them down."""
    try:
        return open_session(external_id, **fields)
    except TypeError as error:
        raise ValueError(str(error)) from error


def _name(session: str | None, external_id: str | None) -> str:
    return session or "" if external_id is None else f"external {external_id}"
