"""Saves of an answer: ordinary saves, of a writer that each generation has for itself."""

from typing import Any

import orjson

from generation_app.models import Generation
from sessions_app.chats.saving.receipts import seq_of_now
from sessions_app.chats.saving.services import Changes, save_changes
from sessions_app.core.errors import Conflict
from sessions_app.core.public_names import Caller

# Nobody repeats these requests, so nothing distinguishes one that is repeated.
_BODY = "generation"


class SessionCleared(Conflict):
    code, message = "session_cleared", "The session was cleared while its answer was made."


def writer_of(generation: Generation) -> str:
    return f"generation:{generation.id}"


def save(
    caller: Caller, generation: Generation, ops: list[dict[str, Any]], *, base_rev: int = 0, epoch: int = 0, seq: int = 0
) -> Any:
    """The answer of the save. `epoch` 0: that of the question. `seq`: of a request that is repeated, or 0. Raises
    SessionCleared, SessionNotFound, SessionDeleted."""
    changes = Changes(
        epoch=epoch or generation.epoch, writer_id=writer_of(generation), seq=seq or next_seq(generation), body_sha256=_BODY,
        base_rev=base_rev, ops=ops,
    )  # fmt: skip
    answer = save_changes(caller=caller, session_id=generation.session_id, changes=changes)
    if answer.status != 200:
        raise SessionCleared
    return orjson.loads(answer.body)


def next_seq(generation: Generation) -> int:
    """Rises from save to save, also from one process to the next that ends what it left."""
    return seq_of_now(session_id=generation.session_id, writer_id=writer_of(generation))
