"""A session of the OpenAI Agents SDK."""

import json
import uuid
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from agents import TResponseInputItem
from agents.memory import SessionSettings

from stillhere.client import Client
from stillhere.connection import Operation
from stillhere.errors import StillhereError
from stillhere.operations.records import Saved
from stillhere.operations.saving import change_once, clear_once
from stillhere.operations.sessions import find_session, open_session, read_as

FORMAT = "openai.responses"
MOST_READ, PREVIEW_CHARACTERS = 500, 1_000
# The item itself is stored all the same, with a text that the client writes.
_UNREADABLE = {"unreadable_raw", "text_too_long"}
_ROLES = {"user", "assistant", "system"}


class StillhereSession:
    """Keeps a conversation in the project's session with `session_id` as its external id, created by its first item. Items come
    back as they were; messages that others save in this session are read as items. Runs in any number of processes, threads
    and event loops may share one. `client`: whose connections it uses; left out, all sessions with the same url, key and project
    share one. Methods raise StillhereError."""

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
        self.session_id = session_id
        self.session_settings: SessionSettings | None = _settings(session_settings)
        self._client = client or _shared(url, key, project)
        self._opening: dict[str, Any] = {"title": title, "current": current}
        self._id: str | None = None

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The newest `limit` ones, oldest first; None: the settings' limit, or all."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        return await self._run(self._in_session(lambda session: _items(session, limit), []))

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        if items:
            await self._run(self._add(items))

    async def pop_item(self) -> TResponseInputItem | None:
        """The newest one, removed."""
        return await self._run(self._in_session(_pop, None))

    async def clear_session(self) -> None:
        """The session stays, and so does what it had, for 30 days: its page can undo this."""
        await self._run(self._in_session(clear_once, None))

    async def _run[T](self, operation: Operation[T]) -> T:
        # In a thread: connections of an event loop would end with it, and `Runner.run_sync` makes a new one each time.
        return await self._client.connection.run_in_thread(operation)

    def _in_session[T](self, operation: Any, otherwise: T) -> Operation[T]:
        """`otherwise`: where there is no session."""
        if self._id is None:
            found = yield from find_session(self.session_id)
            if found is None:
                return otherwise
            self._id = found.id
        result: T = yield from operation(self._id)
        return result

    def _add(self, items: Sequence[Any]) -> Operation[None]:
        if self._id is None:
            self._id = (yield from open_session(self.session_id, **self._opening)).id
        ops = [{"op": "upsert", "id": str(uuid.uuid4()), "format": FORMAT, "raw": item} for item in items]
        saved = yield from change_once(self._id, ops)
        if saved.rejected:
            yield from _add_again(self._id, ops, saved)


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


def _pop(session: str) -> Operation[Any]:
    popped = (yield from change_once(session, [{"op": "pop"}])).popped
    if not popped:
        return None
    message = popped[0]
    return message["raw"] if message.get("format") == FORMAT else {"role": message["role"], "content": message["text"]}


def _add_again(session: str, ops: list[dict[str, Any]], saved: Saved) -> Operation[None]:
    """The rest from the first rejected item on, in its order, with a role and a text beside what the server cannot read. Raises
    StillhereError for what it cannot store, and then none of the items is stored."""
    reasons = {each["id"]: each for each in saved.rejected}
    hopeless = [each for each in saved.rejected if each["reason"] not in _UNREADABLE]
    first = 0 if hopeless else next(number for number, op in enumerate(ops) if op["id"] in reasons)
    undone = [{"op": "delete", "id": op["id"]} for op in ops[first:] if op["id"] not in reasons]
    again = [] if hopeless else [_readable(op) if op["id"] in reasons else op for op in ops[first:]]
    again = [{**op, "id": str(uuid.uuid4())} for op in again]
    yield from change_once(session, [*undone, *again], base_rev=saved.rev)
    if hopeless:
        raise StillhereError(422, "rejected", hopeless[0]["message"], {"rejected": hopeless})


def _readable(op: dict[str, Any]) -> dict[str, Any]:
    raw = op["raw"]
    kind, role = (raw.get("type"), raw.get("role")) if isinstance(raw, dict) else (None, None)
    default = "tool" if isinstance(kind, str) and kind.endswith("_output") else "assistant"
    return {**op, "role": role if role in _ROLES else default, "text": json.dumps(raw, ensure_ascii=False)[:PREVIEW_CHARACTERS]}


def _settings(given: SessionSettings | dict[str, Any] | None) -> SessionSettings:
    """Raises TypeError for a name that is unknown."""
    if isinstance(given, SessionSettings):
        return given
    return SessionSettings().resolve(given) if given else SessionSettings()


@lru_cache(maxsize=32)
def _shared(url: str | None, key: str | None, project: str | None) -> Client:
    return Client(url, key, project)
