"""Stored answers to writers' requests, kept for a day, so that a client can retry a request whose answer was lost."""

import threading
import time
import uuid
from dataclasses import dataclass
from typing import Any

from sessions_app.core.errors import Invalid
from sessions_app.core.storage.sql import db_time, db_uuid, fetch_row, fetch_rows, table_of, write_later
from sessions_app.core.storage.statement_batch import Batch
from sessions_app.models.times import now

_FIND = "SELECT body_sha256, status, answer FROM sessions_app_savereceipt WHERE session_id = %s AND writer_id = %s AND seq = %s"
_FIND_MANY = (
    "SELECT r.session_id, r.body_sha256, r.status, r.answer FROM {given} CROSS JOIN sessions_app_savereceipt r "
    "WHERE r.session_id = given.c0 AND r.writer_id = given.c1 AND r.seq = given.c2"
)
_NEWEST = "SELECT max(seq) FROM sessions_app_savereceipt WHERE session_id = %s AND writer_id = %s"
_KEEP = (
    "INSERT INTO sessions_app_savereceipt (session_id, writer_id, seq, body_sha256, status, answer, created_at) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s)"
)


class SeqReused(Invalid):
    code = "seq_reused"
    message = (
        "This writer has sent another request under this seq. Increase seq for every new request; every other writer needs "
        "its own `writer_id`."
    )


class KeyReused(Invalid):
    code = "idempotency_key_reused"
    message = "Another request to this session was sent under this `Idempotency-Key`. Use a new key for every new request."


# Prefix of the writer id of a request with an `Idempotency-Key`; such a writer has one request.
KEYED = "key:"


@dataclass(frozen=True, slots=True)
class Answer:
    """A save's answer, ready to send."""

    status: int
    body: bytes
    etag: str
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """What identifies a request, so that a retry is recognised."""

    session_id: uuid.UUID
    writer_id: str
    seq: int
    body_sha256: str


def _key(request: Request) -> list[Any]:
    return [db_uuid(request.session_id), request.writer_id, request.seq]


def find(request: Request) -> Answer | None:
    """The stored answer to this request; a different body under its seq is refused."""
    found = fetch_row(_FIND, _key(request))
    if found is None:
        return None
    body_sha256, status, stored = found
    if body_sha256 != request.body_sha256:
        raise KeyReused if request.writer_id.startswith(KEYED) else SeqReused
    etag, _, body = stored.partition("\n")
    return Answer(status, body.encode(), etag, replayed=True)


def many(requests: list[Request]) -> tuple[str, list[Any]]:
    """A query for the answers to requests of one session each: rows for `put_ahead`."""
    given, parameters = table_of(("uuid", "text", "bigint"), [_key(request) for request in requests])
    return _FIND_MANY.format(given=given), parameters


def put_ahead(batch: Batch, requests: list[Request], rows: list[Any]) -> None:
    """Prefetch rows for `find`."""
    found = {session: rest for session, *rest in rows}
    for request in requests:
        session, *_ = key = _key(request)
        batch.put(session, _FIND, key, [found[session]] if session in found else [])


class _Clock:
    """Microseconds; each is given once."""

    def __init__(self) -> None:
        self._lock, self._last = threading.Lock(), 0

    def next_after(self, seq: int) -> int:
        with self._lock:
            self._last = max(self._last, seq, time.time_ns() // 1_000 - 1) + 1
            return self._last


_clock = _Clock()


def seq_of_now(*, session_id: uuid.UUID, writer_id: str) -> int:
    """For a writer that several processes are, so that none can count: the time, or more than its newest request has if the
    clock was set back since."""
    [(newest,)] = fetch_rows(_NEWEST, [db_uuid(session_id), writer_id])
    return _clock.next_after(newest or 0)


def keep(request: Request, answer: Answer) -> Answer:
    stored = f"{answer.etag}\n{answer.body.decode()}"
    parameters = [request.writer_id, request.seq, request.body_sha256, answer.status, stored, db_time(now())]
    write_later(_KEEP, [[db_uuid(request.session_id), *parameters]])
    return answer
