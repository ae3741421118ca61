"""Raw SQL in a pool of long-lived threads, each message's JSON stored as text and joined in the database."""

import asyncio
import os
import sqlite3
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import orjson

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
WINDOW = 200
TABLES = """
CREATE TABLE IF NOT EXISTS message (id INTEGER PRIMARY KEY, session TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS session_messages ON message (session, id);
"""
NEWEST = """
SELECT coalesce(CAST(group_concat(body, ',') AS BLOB), x'') FROM (
    SELECT body FROM (SELECT id, body FROM message WHERE session = ? ORDER BY id DESC LIMIT ?) ORDER BY id
)
"""
_pool = ThreadPoolExecutor(max_workers=8)
_local = threading.local()


def _connection() -> sqlite3.Connection:
    found: sqlite3.Connection | None = getattr(_local, "connection", None)
    if found is None:
        found = sqlite3.connect(os.environ["BENCH_DATABASE"], timeout=20, isolation_level=None)
        found.execute("PRAGMA journal_mode=WAL")
        found.execute("PRAGMA synchronous=FULL")
        found.executescript(TABLES)
        _local.connection = found
    return found


def _save(session: str, raw: bytes) -> bytes:
    body = orjson.dumps({**orjson.loads(raw), "created_at": datetime.now(UTC)})
    _connection().execute("INSERT INTO message (session, body) VALUES (?, ?)", (session, body.decode()))
    return body


def _load(session: str) -> bytes:
    """Joined by SQLite in one step: fetched row by row, threads spend their time passing the interpreter lock."""
    body: bytes = _connection().execute(NEWEST, (session, WINDOW)).fetchone()[0]
    return b"[" + body + b"]"


async def application(scope: Message, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        return await _lifespan(receive, send)
    session = scope["path"].split("/")[2]
    loop = asyncio.get_running_loop()
    if scope["method"] == "POST":
        raw = (await receive())["body"]
        status, body = 201, await loop.run_in_executor(_pool, _save, session, raw)
    else:
        status, body = 200, await loop.run_in_executor(_pool, _load, session)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
    return None


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        event = (await receive())["type"]
        await send({"type": f"{event}.complete"})
        if event == "lifespan.shutdown":
            return
