"""A session of the OpenAI Agents SDK."""

import asyncio
import json
import threading
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from agents import TResponseInputItem
from agents.memory import SessionSettings

from stillhere.client import Client
from stillhere.connection import Operation, Request
from stillhere.errors import StillhereError
from stillhere.http.forks import renew_in_forks
from stillhere.http.json_texts import as_json
from stillhere.http.settings import named
from stillhere.http.turns import Turns
from stillhere.operations.projects import checked_id
from stillhere.operations.records import Saved
from stillhere.operations.saving import SEEN_ALL, Op, change_once, clear_once, pieces
from stillhere.operations.sessions import by_external, get_session, in_trash, open_session, read_as, read_items
from stillhere.operations.unanswered import Unanswered
from stillhere.operations.whole_saves import save_whole, shown

FORMAT = "openai.responses"
TAG = "openai-agents"
MOST_READ = 500
# The server takes so many characters of text in a message, and so many bytes of an item.
MOST_CHARACTERS, MOST_BYTES = 100_000, 1_000_000
TOO_LARGE = "What is left of the message has an item of more than 1,000,000 bytes. Nothing was removed."
_ROLES = {"user", "assistant", "system"}


class StillhereSession:
    """Keeps a conversation in the project's session with `session_id` as its external id, created by its first item. Items come
    back as they were, except halves of characters (lone surrogates), which become U+FFFD; messages that others save in this
    session are read as items. Runs in any number of processes, threads and event loops may share one. `client`: whose
    connections it uses; left out, all sessions with the same url, key and project share one. Methods raise StillhereError;
    while the session is in the trash, all of them do (410 `session_deleted`)."""

    def __init__(
        self,
        session_id: str,
        url: str | None = None,
        key: str | None = None,
        project: str | None = None,
        *,
        client: Client | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        title: str = "",
        current: bool = False,
    ) -> None:
        self.session_id = checked_id(session_id)
        self.session_settings: SessionSettings | None = _settings(session_settings)
        self._client = client or _shared(*named(url, key, project))
        self._opening: dict[str, Any] = {"title": title, "current": current, "tags": [TAG]}
        self._id: str | None = None
        self._newest = _Newest()
        # Ids of failed additions that are, or may be, stored: they are removed before anything else is done.
        self._left: set[str] = set()
        # Of cancelled additions.
        self._unanswered = Unanswered()
        self.renew()
        renew_in_forks(self)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The newest `limit` ones, oldest first; None: the settings' limit, or all."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        return await self._run(lambda: self._in_session(lambda session: _items(session, limit), []), in_thread=False)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """All of them or none, also where it takes several requests: what is stored when one fails is removed, at the latest by
        the next call of this object. If it is cancelled the next call completes it, or waits until it is completed."""
        if not isinstance(items, list | tuple):
            raise TypeError("Pass a list of items: [{…}].")
        if not items:
            return
        ops = [{"op": "upsert", "id": str(uuid.uuid4()), "format": FORMAT, "raw": item} for item in items]
        requests = list(pieces(ops))
        in_loop = len(requests) == 1 and self._client.connection.wires_of_any_loop is not None
        await self._run(lambda: self._add(requests), in_thread=not in_loop)

    async def pop_item(self) -> TResponseInputItem | None:
        """The newest one of `get_items`, removed. Of a message that is several items the others stay, as messages."""
        async with self._pops.turn():  # Of several at once each would find that another one was first, and ask again.
            return await self._run(lambda: self._in_session(self._pop, None), in_thread=False)

    async def clear_session(self) -> None:
        """The session stays, and so does what it had, for 30 days: its page can undo this."""
        await self._run(lambda: self._in_session(clear_once, None))

    async def _run[T](self, operation: Callable[[], Operation[T]], *, in_thread: bool = True) -> T:
        # Connections of an event loop would end with it, and `Runner.run_sync` makes a new one each time.
        connection = self._client.connection
        if self._turn.locked():  # By a call that is not awaited any more, or that others await.
            await asyncio.to_thread(self._wait)
        try:
            if in_thread:
                return await connection.run_in_thread(self._in_turn(self._retried_if_erased(operation)))
            return await connection.run_in_any_loop(self._retried_if_erased(operation))
        except StillhereError as error:
            raise in_trash(error, self.session_id) from error

    def _in_turn[T](self, operation: Operation[T]) -> Operation[T]:
        """In a thread: what takes several requests is done before anything else begins, also if its caller has gone."""
        with self._turn:
            return (yield from operation)

    def _wait(self) -> None:
        with self._turn:
            pass

    def renew(self) -> None:
        """In a forked process: the thread whose turn it was is not in it."""
        self._turn, self._pops = threading.Lock(), Turns()

    def _retried_if_erased[T](self, operation: Callable[[], Operation[T]]) -> Operation[T]:
        """Once more, if the session was erased since it was found: then there is none, and an item begins another one."""
        known = self._id
        try:
            return (yield from operation())
        except StillhereError as error:
            if known is None or (error.status, error.details.get("kind")) != (404, "session"):
                raise
        self._id, self._newest = None, _Newest()
        return (yield from operation())

    def _in_session[T](self, operation: Any, otherwise: T) -> Operation[T]:
        """`otherwise`: where there is no session."""
        if self._id is None:
            self._id = yield from _found(self.session_id)
            if self._id is None:
                return otherwise
        yield from self._unanswered.complete()
        yield from self._take_back(self._id)
        result: T = yield from operation(self._id)
        return result

    def _add(self, requests: Sequence[Sequence[Op]]) -> Operation[None]:
        if self._id is None:
            self._id = (yield from open_session(self.session_id, **self._opening)).id
        yield from self._unanswered.complete()
        yield from self._take_back(self._id)
        stored: list[Op] = []
        for some in requests:
            try:
                saving = save_whole(self._id, some, {}, _role_of)
                saved = yield from (self._unanswered.noting(saving) if len(requests) == 1 else saving)
            except StillhereError as error:
                self._left.update(op["id"] for op in [*stored, *(some if _may_be_done(error) else [])])
                if stored or error.status:  # Else nothing is known to be stored, and the server is away.
                    with suppress(StillhereError):
                        yield from self._take_back(self._id)
                raise
            self._newest.changed(saved, len(some))
            stored += some

    def _take_back(self, session: str) -> Operation[None]:
        """A later arrival of what is not stored yet stores nothing either: its ids count as removed."""
        if left := list(self._left):
            yield from change_once(session, [{"op": "delete", "id": own_id} for own_id in left], base_rev=SEEN_ALL)
            self._left.difference_update(left)

    def _pop(self, session: str) -> Operation[Any]:
        rev, count = self._newest.known
        if count:  # One request, if nobody has changed the session meanwhile.
            try:
                saved = yield from change_once(session, [{"op": "pop"}], base_rev=rev, if_rev=rev)
            except StillhereError as error:
                if error.code != "rev_changed":
                    raise
            else:
                self._newest.changed(saved, -1)
                return saved.popped[0]["raw"]
        return (yield from _pop_any(session))


class _Newest:
    """`known`: a revision of the session, and how many of its newest messages are then items that were added here. Threads may
    share it."""

    def __init__(self) -> None:
        self.known = (0, 0)
        self._lock = threading.Lock()

    def changed(self, saved: Saved, by: int) -> None:
        with self._lock:
            rev, count = self.known
            if saved.rev > rev:  # Else it was answered after a later one.
                self.known = (saved.rev, max(0, (count if saved.prev_rev == rev else 0) + by))


def _found(external_id: str) -> Operation[str | None]:
    """Its id. Raises StillhereError if it is in the trash: it would look empty, but could not be continued."""
    try:
        found: str = (yield Request("GET", by_external(external_id)))["id"]
    except StillhereError as error:
        if error.status != 404:
            raise
        return None
    return found


def _items(session: str, limit: int | None) -> Operation[list[Any]]:
    found: list[list[Any]] = []
    left, before = limit, None
    while left is None or left > 0:
        page = yield from read_as(session, FORMAT, limit=min(MOST_READ, left or MOST_READ), before=before)
        found.append(page.items)
        before = page.next
        if before is None:
            break
        left = None if left is None else left - len(page.items)
    items = [item for some in reversed(found) for item in some]
    return items if limit is None else items[max(0, len(items) - limit) :]


def _pop_any(session: str) -> Operation[Any]:
    """Of whatever format the newest message is."""
    while True:  # Each time that somebody changed the session meanwhile.
        newest = (yield from read_items(session, limit=1))["items"]
        if not newest:
            return None
        if newest[0].get("format") != FORMAT:
            if_rev: int | None = (yield from get_session(session)).rev
            item, ops = yield from _taken(session)
        else:
            item, if_rev = newest[0]["raw"], None
            ops = [{"op": "delete", "id": newest[0]["id"], "if_ver": newest[0]["ver"]}]
        try:
            if not ops or (yield from change_once(session, ops, base_rev=if_rev or 0, if_rev=if_rev)).applied:
                return item
        except StillhereError as error:
            if error.code != "rev_changed":
                raise


def _taken(session: str) -> Operation[tuple[Any, list[dict[str, Any]]]]:
    """The newest item of a session whose newest message is of another format, and the operations that remove it: of its messages
    the other items are stored again. Without any item None, and none."""
    page = yield from read_as(session, FORMAT)
    while not page.items and page.next is not None:
        page = yield from read_as(session, FORMAT, before=page.next)
    if not page.items:
        return None, []
    removed = set(page.ids[-1])
    left: list[Any] = []
    for item, own_ids in reversed(list(zip(page.items[:-1], page.ids[:-1], strict=True))):
        if removed.intersection(own_ids):
            removed.update(own_ids)
            left.insert(0, item)
    if any(len(as_json(item)) > MOST_BYTES for item in left):
        raise StillhereError(413, "too_large", TOO_LARGE, {})
    again = [{"op": "upsert", "id": str(uuid.uuid4()), "format": FORMAT, "raw": item} for item in left]
    again = [
        {**op, **shown(op["raw"], _role_of(op["raw"]))} if len(json.dumps(op["raw"])) > MOST_CHARACTERS else op for op in again
    ]
    return page.items[-1], [*({"op": "delete", "id": own_id} for own_id in sorted(removed)), *again]


def _may_be_done(error: StillhereError) -> bool:
    return error.status >= 500 or error.status == 408 or error.code in {"no_answer", "unreadable"}


def _role_of(raw: Any) -> str:
    kind, role = (raw.get("type"), raw.get("role")) if isinstance(raw, dict) else (None, None)
    default = "tool" if isinstance(kind, str) and kind.endswith("_output") else "assistant"
    return role if role in _ROLES else default


def _settings(given: SessionSettings | dict[str, Any] | None) -> SessionSettings:
    """Raises TypeError for a name that is unknown."""
    if isinstance(given, SessionSettings):
        return given
    return SessionSettings().resolve(given) if given else SessionSettings()


@lru_cache(maxsize=32)
def _shared(url: str, key: str, project: str) -> Client:
    return Client(url, key, project)
