"""Generations as their callers see them: start, stop, continue. The answer itself is made by the runner."""

import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson
from django.db import IntegrityError, transaction

from generation_app.generations import queries
from generation_app.generations.answer_saving import SessionCleared, save, save_end, writer_of
from generation_app.generations.queries import active_of, as_json, find_generation
from generation_app.models import Generation, GenerationState
from generation_app.streams.services import append_chunks, begin_stream, end_stream
from sessions_app.chats.locking import lock_session
from sessions_app.chats.reading.sessions import SessionDeleted, SessionNotFound, get_session
from sessions_app.core.errors import AppError, Conflict, Invalid
from sessions_app.core.public_names import Caller, Status, now
from sessions_app.core.serialization.json_text import json_text
from sessions_app.core.storage.transactions import StaleRead, write
from sessions_app.events.event_log import publish

# Called after the commit with each generation that waits for a runner or has to be stopped; set by the runner of this process.
on_change: list[Callable[[uuid.UUID], None]] = []
# Types of events.
STARTED, ENDED = "GENERATION_STARTED", "GENERATION_ENDED"
NO_SUCH_MESSAGE = "The session does not show a message with this id."


class GenerationRunning(Conflict):
    """One answer at a time. The details have the one that is made."""

    code, message = "generation_running", "This session's answer is being made already. Read its stream, or stop it first."


class IdTaken(Conflict):
    code, message = "id_taken", "Another generation has this id. Use a random UUID."


class GenerationTaken(Exception):
    """It was claimed or ended by somebody else since it was read: nothing of this transaction may stay."""


class NothingToContinue(Conflict):
    code = "nothing_to_continue"
    message = "Only a generation that was interrupted, stopped or failed can be continued, in the session as it was."


class NothingToAnswer(Invalid):
    code, message = "nothing_to_answer", "The session has no message to answer. Send `message`."


@dataclass(frozen=True, slots=True)
class Asked:
    """`message`: the question as in an upsert, if it is not saved yet. `question`: a stored one; nothing starts if an answer
    took it into account. `parent_id`: a stored one, to answer once more. `after`: messages behind this one are removed first.
    `id`: of the generation; the same id again starts nothing."""

    message: dict[str, Any] | None = None
    id: uuid.UUID | None = None
    question: str | None = None
    parent_id: str | None = None
    model: str = ""
    instructions: str = ""
    after: str | None = None


def start_generation(*, caller: Caller, session_id: uuid.UUID, asked: Asked) -> Generation:
    """Save the question and an empty answer, and leave the rest to a runner. The same `id` again returns the same generation,
    and so does the same question while it is answered.

    Raises SessionNotFound, SessionDeleted, GenerationRunning, IdTaken, NothingToAnswer, Invalid (a message that cannot be saved),
    and TooManyOpen.
    """
    question = _question_of(asked)

    def work() -> Generation:
        session = lock_session(caller=caller, session_id=session_id)
        if (started := _started(caller, session_id, asked, question)) is not None:
            return started
        made = Generation(
            id=asked.id or uuid.uuid4(), session_id=session_id, owner_id=caller.user_id, key_id=caller.key_id,
            key_name=caller.key_name, epoch=session.epoch, message_id=f"a-{uuid.uuid4()}", model=asked.model,
            instructions=asked.instructions,
        )  # fmt: skip
        _save_question(caller, made, question, asked.after, rev=session.rev)
        made.last_message_id = _answered(caller, made, asked, question)
        save(caller, made, [_empty_answer(made, asked.parent_id)], base_rev=session.rev)
        stream, _ = begin_stream(caller=caller, session_id=session_id, message_id=made.message_id)
        made.stream_id = stream.id
        _insert(made)
        _tell(made.id)
        _publish(caller, made, session.project_id, STARTED)
        return made

    return write(work)


def stop_generation(*, caller: Caller, session_id: uuid.UUID, generation_id: uuid.UUID) -> Generation:
    """Idempotent: one that has ended stays as it ended. A running one ends shortly after, with its text."""

    def work() -> Generation:
        lock_session(caller=caller, session_id=session_id)
        generation = find_generation(caller=caller, session_id=session_id, generation_id=generation_id)
        if generation.state == GenerationState.QUEUED:
            try:
                end_generation(caller=caller, generation=generation, state=GenerationState.STOPPED)
            except GenerationTaken:  # By a runner, a moment ago.
                raise StaleRead from None
            except SessionCleared as cleared:
                end_overtaken(caller=caller, generation=generation, error=cleared.message)
        elif generation.ended_at is None:
            generation.stop_requested = True
            generation.save(update_fields=["stop_requested"])
            _tell(generation.id)
        return generation

    return write(work)


def continue_generation(*, caller: Caller, session_id: uuid.UUID, generation_id: uuid.UUID) -> Generation:
    """Queue it again: the model continues the stored text, in a new stream that begins with that text."""

    def work() -> Generation:
        locked = lock_session(caller=caller, session_id=session_id)
        if (running := active_of(session_id)) is not None:
            if running.id == generation_id:
                return running
            raise GenerationRunning(details=as_json(running))
        generation = find_generation(caller=caller, session_id=session_id, generation_id=generation_id)
        present = queries.has_message(get_session(caller=caller, session_id=session_id), generation.message_id)
        if generation.state == GenerationState.COMPLETE or not present:
            raise NothingToContinue
        generation.epoch = locked.epoch  # A clear that was undone.
        again = {"op": "patch", "id": generation.message_id, "status": Status.STREAMING.value}
        again |= queries.metadata_with_model(get_session(caller=caller, session_id=session_id), generation)
        save(caller, generation, [again], base_rev=locked.rev)
        if generation.stream_id is not None:  # One that ended in the trash, where its stream could not be ended.
            end_stream(caller=caller, stream_id=generation.stream_id, state="interrupted")
        stream, _ = begin_stream(caller=caller, session_id=session_id, message_id=generation.message_id)
        text, _ = queries.stored_answer(generation)
        if text and not stream.count:
            append_chunks(caller=caller, stream_id=stream.id, offset=0, chunks=[json_text(text)])
        generation.stream_id, generation.state, generation.continues = stream.id, GenerationState.QUEUED.value, True
        generation.stop_requested, generation.ended_at, generation.error, generation.worker = False, None, "", ""
        generation.save()
        _tell(generation.id)
        _publish(caller, generation, locked.project_id, STARTED)
        return generation

    return write(work)


def end_generation(
    *,
    caller: Caller,
    generation: Generation,
    state: GenerationState,
    error: str = "",
    tries: Sequence[list[dict[str, Any]]] | None = None,
) -> None:
    """In the caller's transaction: the answer's last save (`tries`: see `save_end`), and the ends of its stream and of itself.
    Raises GenerationTaken."""
    complete = state == GenerationState.COMPLETE
    status = Status.COMPLETE.value if complete else Status.INTERRUPTED.value
    save_end(caller, generation, tries or [[{"op": "patch", "id": generation.message_id, "status": status}]], status)
    if generation.stream_id is not None:
        end_stream(caller=caller, stream_id=generation.stream_id, state="complete" if complete else "interrupted")
    close(generation, state, error)
    _publish(caller, generation, get_session(caller=caller, session_id=generation.session_id).project_id, ENDED)


def end_overtaken(*, caller: Caller, generation: Generation, error: str) -> None:
    """One whose session was cleared or deleted: there is no message to save. Raises GenerationTaken."""
    with suppress(AppError):  # It went with its session.
        if generation.stream_id is not None:
            end_stream(caller=caller, stream_id=generation.stream_id, state="interrupted")
    close(generation, GenerationState.INTERRUPTED, error)
    with suppress(SessionNotFound, SessionDeleted):  # Of that its listeners heard.
        _publish(caller, generation, get_session(caller=caller, session_id=generation.session_id).project_id, ENDED)


def close(generation: Generation, state: GenerationState, error: str = "") -> None:
    """Raises GenerationTaken."""
    ended = {"state": state.value, "error": error[:200], "ended_at": now(), "leased_until": None, "worker": ""}
    as_read = Generation.objects.filter(id=generation.id, state=generation.state, worker=generation.worker)
    if not as_read.update(**ended):
        raise GenerationTaken
    for name, value in ended.items():
        setattr(generation, name, value)


def _question_of(asked: Asked) -> dict[str, Any] | None:
    """As it is saved. Raises Invalid."""
    if sum(one is not None for one in (asked.message, asked.question, asked.parent_id)) > 1:
        raise Invalid("Send one of `message`, `question` and `parent_id`.", details={"field": "parent_id"})
    if asked.message is None:
        return None
    question = {"role": "user", **asked.message}
    if not question.get("text") and not question.get("parts"):
        raise Invalid("A question has `text` or `parts`.", details={"field": "message"})
    question.setdefault("id", f"q-{uuid.uuid4()}")
    return question


def _started(caller: Caller, session_id: uuid.UUID, asked: Asked, question: dict[str, Any] | None) -> Generation | None:
    """The generation that answers the same request already. Raises GenerationRunning, IdTaken, NothingToAnswer."""
    found = None if asked.id is None else Generation.objects.filter(id=asked.id).first()
    if found is not None:
        if found.session_id != session_id:
            raise IdTaken
        return found
    if asked.question is not None:
        session = get_session(caller=caller, session_id=session_id)
        if not queries.has_message(session, asked.question):
            raise NothingToAnswer(NO_SUCH_MESSAGE, details={"field": "question"})
        if (covering := queries.generation_covering(session, asked.question)) is not None:
            return covering
    running = active_of(session_id)
    if running is None:
        return None
    if question is not None and running.last_message_id == question["id"]:
        return running
    raise GenerationRunning(details=as_json(running))


def _insert(made: Generation) -> None:
    """Raises StaleRead."""
    try:
        made.save(force_insert=True)
    except IntegrityError:  # Another session got a generation with this id since it was looked for.
        raise StaleRead from None


def _save_question(caller: Caller, made: Generation, question: dict[str, Any] | None, after: str | None, *, rev: int) -> None:
    ops = [] if after is None else [{"op": "truncate", "after": after}]
    ops += [] if question is None else [{**question, "op": "upsert"}]
    if not ops:
        return
    rejected = save(caller, made, ops, base_rev=rev)["rejected"]
    if rejected:
        raise Invalid(rejected[0]["message"], details={"field": "message" if question else "after", "rejected": rejected})


def _newest(caller: Caller, made: Generation) -> str:
    found = queries.newest_message(get_session(caller=caller, session_id=made.session_id))
    if found is None:
        raise NothingToAnswer
    return found


def _answered(caller: Caller, made: Generation, asked: Asked, question: dict[str, Any] | None) -> str:
    """The id of the last message that the model is given."""
    session = get_session(caller=caller, session_id=made.session_id)
    # A question that was removed before is not restored by a save, and one of another branch is not shown.
    named = asked.parent_id if question is None else str(question["id"])
    if named is not None and not queries.has_message(session, named):
        raise NothingToAnswer(NO_SUCH_MESSAGE, details={"field": "parent_id" if question is None else "message"})
    return named or asked.after or _newest(caller, made)


def _empty_answer(made: Generation, parent_id: str | None) -> dict[str, Any]:
    """With its model from the start: whatever others write beside the text later is not written over at the end."""
    beside: dict[str, Any] = {} if parent_id is None else {"parent_id": parent_id}
    beside |= {"metadata": {"model": made.model}} if made.model else {}
    return {"op": "upsert", "id": made.message_id, "role": "assistant", "text": "", **beside, "status": Status.STREAMING.value}


def _tell(generation_id: uuid.UUID) -> None:
    for listener in on_change:
        transaction.on_commit(lambda tell=listener: tell(generation_id), robust=True)  # type: ignore[misc]


def _publish(caller: Caller, generation: Generation, project_id: uuid.UUID, type: str) -> None:
    data = {"generation": str(generation.id), "message": generation.message_id, "state": generation.state}
    if type == STARTED:
        data["stream"] = str(generation.stream_id)
    publish(
        project_id=project_id, type=type, caller=caller, session_id=generation.session_id,
        writer_id=writer_of(generation), data=data,
    )  # fmt: skip


def reply_of(generation: Generation) -> bytes:
    return orjson.dumps(as_json(generation))
