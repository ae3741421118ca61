"""Transcripts as sessions of a project."""

import asyncio
import hashlib
import json
import logging
import os
import sqlite3
import time
import uuid
import weakref
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from claude_agent_sdk import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
    fold_session_summary,
)

from stillhere.claude_agent.entries import FORMAT, as_message
from stillhere.client import Client
from stillhere.connection import Operation, Request
from stillhere.errors import StillhereError
from stillhere.operations import memory, sessions
from stillhere.operations.long_objects import FIELDS, LONGEST_ID, objects_in, upserts_of
from stillhere.operations.recent import Recent
from stillhere.operations.records import Entry, Session
from stillhere.operations.saving import SEEN_ALL
from stillhere.spool import Spool, SpoolError

NAMESPACE = TAG = "claude-agent"
SUBAGENT_TAG = "claude-subagent"
LONGEST_EXTERNAL_ID, MOST_OPS = 128, 500
FLUSH_SECONDS = 30.0
# Of the transcripts that appends go to. To make a name takes as long as to write a line.
KEPT_NAMES = 1_000
# An append looks so often whether entries were refused: what was refused is read as a whole.
SECONDS_BETWEEN_LOOKS = 10.0
_log = logging.getLogger("stillhere")


class StillhereSessionStore(SessionStore):
    """Each transcript is a session of the project, with its key as external id and its entries as messages; those of subagents
    are sessions of their own. `append` returns when the entries are on the disk, in the file `spool` (by default one for the
    user). A thread sends them, or the next process with this file. Reads wait up to 30 seconds for what was appended here
    before, to this transcript or, for a list, to all but those at whose saves the server fails; they raise SpoolError, at once
    if the server refuses the key (`__cause__`: why it took nothing), or StillhereError.
    A delete erases for good. The logger `stillhere` warns once of each request that the server refused, and of a session in
    the trash."""

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        project: str | None = None,
        *,
        spool: str | os.PathLike[str] | None = None,
    ) -> None:
        self.client = Client(url, key, project)
        self.spool = Spool(spool or _own_file(), url, key, project)
        # Of what was read before, by external id.
        self._session_ids = Recent[str]()
        # Ids of entries that neither the disk nor the server took: the SDK sends them again, and some may be stored.
        self._ids_of_failed: dict[str, list[str]] = {}
        self._warned_of: set[int] = set()
        self._looks_at = 0.0
        self._close = weakref.finalize(self, _close, self.spool, self.client)

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        if entries:
            await asyncio.to_thread(self._append, key, entries)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        name = _external_id(key)
        await self._settled(name)
        return await self._read(self._load(name))

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        await self._settled()
        found = await self._read(_main_sessions(project_key))
        return [{"session_id": name, "mtime": _milliseconds(session)} for name, session in found.items()]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Sessions that changed since the last call are read; the results are kept in the project's memory."""
        await self._settled()
        return await self._read(self._summaries(project_key))

    async def delete(self, key: SessionKey) -> None:
        await self._settled()
        await self._settled(_external_id(key))
        await asyncio.to_thread(self._warn_of_refused)
        await self.client.connection.run_in_thread(_delete(key))  # It goes on if it is cancelled: half of it is no deletion.

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        await self._settled()
        found = await self._read(sessions.list_all_sessions([SUBAGENT_TAG, _of_session(key)]))
        return [name for session in found if (name := _named(session, "subpath"))]

    def close(self) -> None:
        """Tries for some seconds to send what waits; the rest stays in the file. The end of the program does it too."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, key: SessionKey, entries: Sequence[Any]) -> None:
        if time.monotonic() >= self._looks_at:
            self._warn_of_refused()
        name = _external_id(key)
        batch = _digest(name, json.dumps(entries)) if self._ids_of_failed else ""
        ids = self._ids_of_failed.pop(batch, None) or [_id_of(entry) for entry in entries]
        # The newest append counts: an entry that comes again replaces the former one, also one of another process.
        ops = [op for own_id, entry in zip(ids, entries, strict=True) for op in upserts_of(as_message(own_id, entry))]
        try:
            self.spool.change(ops, external_id=name, opening=_opening(key), base_rev=SEEN_ALL)
        except Exception:
            self._ids_of_failed[_digest(name, json.dumps(entries))] = ids
            raise

    async def _settled(self, name: str | None = None) -> None:
        """`name`: of one transcript; without it a transcript at which the server fails is passed over. Raises SpoolError."""
        if await self.spool.aflush(FLUSH_SECONDS, external_id=name) or (name is None and self.spool.is_held_up):
            return
        error = self.spool.error
        raise SpoolError(f"The server has not taken everything that was appended: {error or 'it is slow.'}") from error

    async def _read[T](self, operation: Operation[T]) -> T:
        await asyncio.to_thread(self._warn_of_refused)
        return await self.client.connection.run_in_any_loop(operation)

    def _warn_of_refused(self) -> None:
        self._looks_at = time.monotonic() + SECONDS_BETWEEN_LOOKS
        try:
            refused = self.spool.refused()
        except sqlite3.Error:  # An append does without the disk.
            return
        for each in refused:
            if each.number not in self._warned_of:
                self._warned_of.add(each.number)
                why = each.error["message"]
                _log.warning("Entries of %s are not stored, they are in spool.refused(): %s", each.external_id, why)

    def _load(self, name: str) -> Operation[list[SessionStoreEntry] | None]:
        known = self._session_ids.get(name)
        if known is not None:
            try:
                return (yield from _entries(known))
            except StillhereError as error:
                if error.status not in {404, 410}:
                    raise
                self._session_ids.pop(name, None)  # Another load may have met it too.
        try:
            found: str = (yield Request("GET", sessions.by_external(name)))["id"]
        except StillhereError as error:
            if error.status not in {404, 410}:
                raise
            if error.status == 410:  # To the SDK it is as if there were none.
                _log.warning("The session %s is in the trash. Restore it on its page to continue it.", name)
            return None
        self._session_ids[name] = found
        return (yield from _entries(found))

    def _summaries(self, project_key: str) -> Operation[list[SessionSummaryEntry]]:
        found = yield from _main_sessions(project_key)
        place = [NAMESPACE, _digest(project_key)]
        known = yield from _all_values(place)
        made: list[SessionSummaryEntry] = []
        new: list[dict[str, Any]] = []
        for name, session in found.items():
            stored = known.get(name)
            if not isinstance(stored, dict) or stored.get("as_of") != _as_of(session):
                stored = yield from _folded({"project_key": project_key, "session_id": name}, session)
                new.append({"op": "put", "namespace": place, "key": name, "value": stored})
            made.append({"session_id": name, "mtime": _milliseconds(session), "data": stored["data"]})
        gone = [{"op": "purge", "namespace": place, "key": name} for name in known.keys() - found.keys()]
        yield from self._keep([*new, *gone])
        return made

    def _keep(self, ops: Sequence[dict[str, Any]]) -> Operation[None]:
        """What the server refuses, as where the project's memory is full, is made again at the next call."""
        try:
            if ops:
                yield from memory.keep_exactly(self.client.connection, NAMESPACE)
            for start in range(0, len(ops), MOST_OPS):
                yield from memory.batch(ops[start : start + MOST_OPS])
        except StillhereError as error:
            if error.status not in {403, 413, 422, 507}:
                raise


def _entries(session: str) -> Operation[list[SessionStoreEntry]]:
    return list(objects_in((yield from sessions.read_all_items(session, fields=FIELDS)), FORMAT))


def _main_sessions(project_key: str) -> Operation[dict[str, Session]]:
    """By their ids in the SDK."""
    found = yield from sessions.list_all_sessions([TAG, _of_project(project_key)])
    return {name: session for session in found if (name := _named(session, "session_id"))}


def _delete(key: SessionKey) -> Operation[None]:
    for state in [] if key.get("subpath") else [None, "trash"]:
        for session in (yield from sessions.list_all_sessions([SUBAGENT_TAG, _of_session(key)], state=state)):
            if _named(session, "subpath"):
                yield from sessions.erase_session(session.id)
    yield from sessions.erase_by_external(_external_id(key))


def _folded(key: SessionKey, session: Session) -> Operation[dict[str, Any]]:
    summary = fold_session_summary(None, key, (yield from _entries(session.id)))
    return {"data": summary["data"], "as_of": _as_of(session)}


def _all_values(namespace: list[str]) -> Operation[dict[str, Any]]:
    found: list[Entry] = []
    cursor: str | None = None
    while True:
        page = yield from memory.list_values(namespace, limit=MOST_OPS, cursor=cursor)
        found += page.items
        cursor = page.next
        if cursor is None:
            return {entry.key: entry.value for entry in found}


def _named(session: Session, part: str) -> str:
    """A part of its key. Empty in a session that somebody else gave our tags, and in a copy that a person made of ours."""
    key: Any = session.metadata.get(TAG)
    try:
        return str(key.get(part) or "") if session.external_id == _external_id(key) else ""
    except (AttributeError, KeyError, TypeError):
        return ""


def _as_of(session: Session) -> list[int]:
    """Changes with the messages of the session, not with its title."""
    return [session.epoch, session.message_count, session.size_bytes]


def _milliseconds(session: Session) -> int:
    return int(datetime.fromisoformat(session.updated_at).timestamp() * 1000)


def _opening(key: SessionKey) -> dict[str, Any]:
    if key.get("subpath"):
        return {"metadata": {TAG: dict(key)}, "tags": [SUBAGENT_TAG, _of_session(key)], "current": False}
    return {"metadata": {TAG: dict(key)}, "tags": [TAG, _of_project(key["project_key"])], "current": False}


def _external_id(key: SessionKey) -> str:
    subpath = key.get("subpath")
    return _name_of(key["project_key"], key["session_id"], *([subpath] if subpath else []))


@lru_cache(KEPT_NAMES)
def _name_of(*names: str) -> str:
    readable = f"{TAG}:{json.dumps(names, ensure_ascii=False)}"
    return readable if len(readable) <= LONGEST_EXTERNAL_ID else f"{TAG}:sha256:{_digest(*names)}"


@lru_cache(KEPT_NAMES)
def _of_project(project_key: str) -> str:
    return f"project:{_digest(project_key)}"


def _of_session(key: SessionKey | SessionListSubkeysKey) -> str:
    return f"of:{_digest(key['project_key'], key['session_id'])}"


def _digest(*names: str) -> str:
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()[:40]


def _id_of(entry: Any) -> str:
    own = entry.get("uuid")
    if not isinstance(own, str) or not own:
        return str(uuid.uuid4())
    return own if len(own) <= LONGEST_ID else str(uuid.uuid5(uuid.NAMESPACE_OID, own))


def _own_file() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state") / "stillhere" / "claude-agent.db"


def _close(spool: Spool, client: Client) -> None:
    spool.close()
    client.close()
