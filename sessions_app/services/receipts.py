"""The answer to a writer's request, kept for a day, so that a request whose answer got lost can simply be sent again."""

import uuid
from dataclasses import dataclass

from sessions_app.errors import Invalid
from sessions_app.models.sql import db_time, db_uuid, execute, fetch_row, now

_FIND = "SELECT body_sha256, status, answer FROM sessions_app_savereceipt WHERE session_id = %s AND writer_id = %s AND seq = %s"
_KEEP = (
    "INSERT INTO sessions_app_savereceipt (session_id, writer_id, seq, body_sha256, status, answer, created_at) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s)"
)


class SeqReused(Invalid):
    code = "seq_reused"
    message = (
        "This writer has sent another request under this seq. Count seq up for every new request; whoever else writes takes "
        "a `writer_id` of its own."
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """A save's answer, ready to send."""

    status: int
    body: bytes
    etag: str | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """What makes a request the same one when it comes again."""

    session_id: uuid.UUID
    writer_id: str
    seq: int
    body_sha256: str


def find(request: Request) -> Answer | None:
    """The answer already given to this request; another body under its seq is refused."""
    found = fetch_row(_FIND, [db_uuid(request.session_id), request.writer_id, request.seq])
    if found is None:
        return None
    body_sha256, status, stored = found
    if body_sha256 != request.body_sha256:
        raise SeqReused
    etag, _, body = stored.partition("\n")
    return Answer(status, body.encode(), etag or None, replayed=True)


def keep(request: Request, answer: Answer) -> Answer:
    stored = f"{answer.etag or ''}\n{answer.body.decode()}"
    parameters = [request.writer_id, request.seq, request.body_sha256, answer.status, stored, db_time(now())]
    execute(_KEEP, [db_uuid(request.session_id), *parameters])
    return answer
