"""Saves of an answer: ordinary saves, of a writer that each generation has for itself."""

from collections.abc import Sequence
from typing import Any

import orjson
from django.db import transaction

from generation_app.models import Generation
from sessions_app.chats.saving.receipts import seq_of_now
from sessions_app.chats.saving.services import Changes, save_changes
from sessions_app.core.errors import Conflict
from sessions_app.core.public_names import Caller, Status
from sessions_app.models import Message

# Nobody repeats these requests, so nothing distinguishes one that is repeated.
_BODY = "generation"


class SessionCleared(Conflict):
    code, message = "session_cleared", "The session was cleared while its answer was made."


def writer_of(generation: Generation) -> str:
    return f"generation:{generation.id}"


def save(
    caller: Caller, generation: Generation, ops: list[dict[str, Any]], *, epoch: int = 0, seq: int = 0, **changed: Any
) -> Any:
    """The answer of the save. `epoch` 0: that of the question. `seq`: of a request that is repeated, or 0. `changed`: more of
    `Changes`. Raises SessionCleared, SessionNotFound, SessionDeleted."""
    changes = Changes(
        epoch=epoch or generation.epoch, writer_id=writer_of(generation), seq=seq or next_seq(generation), body_sha256=_BODY,
        ops=ops, **changed,
    )  # fmt: skip
    answer = save_changes(caller=caller, session_id=generation.session_id, changes=changes)
    if answer.status != 200:
        raise SessionCleared
    return orjson.loads(answer.body)


def save_end(caller: Caller, generation: Generation, tries: Sequence[list[dict[str, Any]]], status: str, **sent: Any) -> None:
    """The last save, in the caller's transaction: the first of these requests that is taken whole. Others may have changed the
    message, and another form can fit what they made of it. If none fits, the last one leaves a copy of its text; the message
    keeps theirs, and gets the status unless they completed it. `sent`: as of `save`. Raises as `save` does.
    """
    told = next((told for ops in tries[:-1] if (told := _taken(caller, generation, ops, **sent)) is not None), None)
    told = told or save(caller, generation, tries[-1], **sent)
    if _is_open(generation, status):
        op = {"op": "patch", "id": generation.message_id, "status": status}
        save(caller, generation, [op], **{**sent, "base_rev": told["rev"]})


def _taken(caller: Caller, generation: Generation, ops: list[dict[str, Any]], **sent: Any) -> Any:
    """The answer. None if it was not taken: then it leaves nothing behind, no copy of a text that the next request may store."""
    cleared: SessionCleared | None = None
    told: Any = None
    with transaction.atomic():
        try:
            told = save(caller, generation, ops, **sent)
        except SessionCleared as error:  # What this one left is kept.
            cleared = error
        if told is not None and (told["conflicts"] or told["rejected"]):
            told = None
            transaction.set_rollback(True)
    if cleared is not None:
        raise cleared
    return told


def _is_open(generation: Generation, status: str) -> bool:
    """Has nobody completed the message, nor given it this status?"""
    rows = Message.objects.filter(session_id=generation.session_id, message_id=generation.message_id, removed="")
    return rows.exclude(status__in={Status.COMPLETE.value, status}).exists()


def next_seq(generation: Generation) -> int:
    """Rises from save to save, also from one process to the next that ends what it left."""
    return seq_of_now(session_id=generation.session_id, writer_id=writer_of(generation))
