"""The steps that every request with `{epoch, writer_id, seq}` passes before its own work: lock, stored answer, epoch."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

from sessions_app.chats.locking import LockedSession, lock_session
from sessions_app.chats.saving import receipts
from sessions_app.chats.saving.receipts import Answer, Request
from sessions_app.core.storage.transactions import write
from sessions_app.models import Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The writer and the number of its request. `body_sha256` distinguishes a retry from a different request.

    `epoch` None: the current one.
    """

    epoch: int | None
    writer_id: str
    seq: int
    body_sha256: str


def once(
    *,
    caller: Caller,
    session_id: uuid.UUID,
    step: Step,
    act: Callable[[LockedSession], dict[str, Any]],
    refuse_stale: Callable[[LockedSession], int] = lambda session: 0,
    lock: Callable[..., LockedSession] = lock_session,
) -> Answer:
    """Run `act` on the locked session and store the answer, 200 with what it returns; a retry gets the stored answer.

    For any other epoch nothing is applied: 409 `stale_epoch`. `refuse_stale` may keep the request's text and returns the
    number of copies. `lock` may create the session. Raises NotFound, Gone, SeqReused, and what these raise.
    """
    request = Request(session_id, step.writer_id, step.seq, step.body_sha256)

    def work() -> Answer:
        session = lock(caller=caller, session_id=session_id)
        if (answered := receipts.find(request)) is not None:
            return answered
        if step.epoch is not None and step.epoch != session.epoch:
            return receipts.keep(request, stale(session, step.epoch, refuse_stale(session)))
        return receipts.keep(request, answer(session, **act(session)))

    return write(work)


def answer(session: LockedSession, **body: Any) -> Answer:
    """200 with the session's current numbers."""
    content = {"session": str(session.id), "epoch": session.epoch, "rev": session.rev, **body}
    return Answer(200, orjson.dumps(content), etag(session))


def etag(session: LockedSession) -> str:
    return session.etag


def stale(session: LockedSession, epoch: int, kept_copies: int = 0) -> Answer:
    """409: the request is for an epoch that has ended, or for one that this session never had."""
    if epoch < session.epoch:
        why = f"Epoch {epoch} is over: the session was started over, or its store restored. It is in epoch {session.epoch} now."
    else:
        why = f"This session never had an epoch {epoch}: it is in epoch {session.epoch}."
    advice = "Read it again and continue from there; do not send this again"
    kept = f"{advice}: its text is kept as conflict copies." if kept_copies else f"{advice}."
    error = {
        "code": "stale_epoch",
        "message": f"{why} {kept}",
        "details": {"epoch": session.epoch, "rev": session.rev, "kept_copies": kept_copies},
    }
    return Answer(409, orjson.dumps({"error": error}), etag(session))
