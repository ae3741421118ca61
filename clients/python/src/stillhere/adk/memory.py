"""Memories of users, in the project's memory."""

import json
import re
import unicodedata
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session

from stillhere.adk.events import text_of
from stillhere.adk.scopes import Store, digest, place_of_memories, put
from stillhere.client import Client
from stillhere.connection import Operation
from stillhere.http.json_texts import as_json

MOST_FOUND, MOST_BYTES = 10, 900_000


class StillhereMemoryService(BaseMemoryService):
    """Events with content, found by their words: the ten that have most of those in the query. A search reads all memories of the
    user. The arguments are those of `stillhere.Client`; `client` is used instead of a new one."""

    def __init__(
        self, url: str | None = None, key: str | None = None, project: str | None = None, *, client: Client | None = None
    ) -> None:
        self.client = client or Client(url, key, project)
        self._store = Store(self.client.connection)

    async def add_session_to_memory(self, session: Session) -> None:
        """What an earlier call stored of this session is replaced."""
        place, prefix = place_of_memories(session.app_name, session.user_id), digest(session.id)
        old = {"op": "purge", "namespace": place, "prefix": prefix}
        await self._run(self._store.change([old, *_puts(place, prefix, session.events)]))

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        place = place_of_memories(app_name, user_id)
        await self._run(self._store.change(list(_puts(place, digest(session_id or ""), events))))

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        place = place_of_memories(app_name, user_id)
        named = [entry.model_copy(update={"id": entry.id or str(uuid.uuid4())}) for entry in memories]
        puts = [_put(place, f"memory {entry.id}", entry, 0.0) for entry in named]
        await self._run(self._store.change(puts))

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        reading = self._store.values([place_of_memories(app_name, user_id)], "memory", "at")
        (found,) = await self.client.connection.run_in_any_loop(reading)
        wanted = _words(query)
        memories = [value["memory"] for value in sorted(found, key=lambda value: float(value["at"]))]
        scored = [(score, memory) for memory in memories if (score := _score(text_of(memory["content"]), wanted))]
        scored.sort(key=lambda pair: -pair[0])
        return SearchMemoryResponse(memories=[_memory_of(memory) for _, memory in scored[:MOST_FOUND]])

    async def _run[T](self, operation: Operation[T]) -> T:
        return await self.client.connection.run_in_thread(operation)


def _puts(place: Sequence[str], prefix: str, events: Iterable[Event]) -> Iterable[dict[str, Any]]:
    for event in events:
        if event.content and event.content.parts:
            at = datetime.fromtimestamp(event.timestamp).isoformat()  # noqa: DTZ006 - as ADK's own services write it
            entry = MemoryEntry(id=event.id, content=event.content, author=event.author, timestamp=at)
            yield _put(place, f"{prefix} {event.id}", entry, event.timestamp)


def _put(place: Sequence[str], name: str, entry: MemoryEntry, at: float) -> dict[str, Any]:
    memory = json.loads(entry.model_dump_json(exclude_none=True))
    if len(as_json(memory)) > MOST_BYTES:  # Of files only what was said about them.
        memory["content"]["parts"] = [{"text": text_of(memory["content"])[: MOST_BYTES // 4]}]
    return put(place, name, {"memory": memory, "at": at})


def _memory_of(value: Any) -> MemoryEntry:
    return MemoryEntry.model_validate_json(json.dumps(value))


def _score(text: str, wanted: set[str]) -> int:
    """How many of these words a text has. Words of scripts without spaces may be a part of one."""
    words = _words(text)
    for word in [word for word in words if not word.isascii()]:
        words.update("".join(run) for _, run in groupby(word, _is_latin))
    lower = unicodedata.normalize("NFC", text).lower()
    return sum(1 for word in wanted if word in words or (not word.isascii() and word in lower))


def _words(text: str) -> set[str]:
    """Whether an accent is a character of its own or not."""
    return {word.lower() for word in re.findall(r"\w+", unicodedata.normalize("NFC", text))}


def _is_latin(character: str) -> bool:
    return character.isascii() or unicodedata.name(character, "").startswith("LATIN ")
