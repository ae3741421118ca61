"""Makes the answers: one runner a process, a thread with an event loop of its own, so that neither saves nor sockets wait for it.

Each answer is a task that reads from the endpoint; what it received goes to the stream at least every 0.1 s, and into the message
at least every 2 s. The database is only touched in a few threads.
"""

import asyncio
import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import aclosing, suppress
from functools import partial
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import DatabaseError

from generation_app.generations import claims, services
from generation_app.generations.answer import Answer, AnswerOvertaken
from generation_app.generations.answer_saving import SessionCleared
from generation_app.generations.model.pieces import EndpointFailed
from generation_app.generations.queries import Question, caller_of_generation, question_of
from generation_app.generations.stream_writer import StreamWriter
from generation_app.models import Generation, GenerationState
from generation_app.streams.queries import find_stream
from sessions_app.core.errors import AppError, Conflict, Gone, NotFound, TooLarge, Unavailable
from sessions_app.core.storage.database_threads import DatabaseThreads
from sessions_app.core.storage.sql import on_postgresql
from sessions_app.core.storage.transactions import write

if TYPE_CHECKING:
    from generation_app.generations.model.endpoint import Endpoint

# Each keeps a database connection, beside those of requests.
THREADS = 2
LOOK_SECONDS = 1.0
STREAM_EVERY_SECONDS = 0.1
SAVE_EVERY_SECONDS = 1.5
# A database that is away for longer ends the answer.
PATIENCE_SECONDS = 30.0
# Of that the log is told at most once in this time.
TOLD_SECONDS = 60.0
TOO_LONG = "The answer was longer than a message can be."
STORE_AWAY = "The answer could not be stored."
FAULT = "The server could not make the answer."
logger = logging.getLogger(__name__)


class _Stopped(Exception):
    """Ends an answer early, as this."""

    def __init__(self, state: GenerationState, error: str = "") -> None:
        self.state, self.error = state, error
        super().__init__(error)


class Runner:
    """`start` and `stop` may be called from any thread."""

    def __init__(self) -> None:
        self._worker, self._watch = uuid.uuid4().hex, claims.LeaseWatch()
        self._loop: asyncio.AbstractEventLoop
        self._endpoint: Endpoint | None = None
        self._database = DatabaseThreads(THREADS, "generations")
        self._thread = threading.Thread(target=self._run, name="generations", daemon=True)
        self._writer = StreamWriter(self._in_database)
        self._tasks: dict[uuid.UUID, asyncio.Task[None]] = {}
        self._ending: set[uuid.UUID] = set()
        self._owners: Counter[int] = Counter()
        self._woken, self._stopping = asyncio.Event(), False
        self._told_until = 0.0

    def start(self) -> None:
        self._loop = asyncio.new_event_loop()
        services.on_change.append(self.wake)
        self._thread.start()

    def stop(self) -> None:
        """What is being made is marked interrupted with its text."""
        services.on_change.remove(self.wake)
        self._loop.call_soon_threadsafe(self._end)
        self._thread.join()
        self._database.close()

    def wake(self, generation_id: uuid.UUID) -> None:
        """There is something to begin or to stop. Callable from any thread."""
        self._loop.call_soon_threadsafe(self._woken.set)

    def _end(self) -> None:
        self._stopping = True
        self._woken.set()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._work())

    def _tell(self, error: Exception) -> None:
        """Once in a time: a database that is away fails every round."""
        if time.monotonic() >= self._told_until:
            self._told_until = time.monotonic() + TOLD_SECONDS
            logger.warning("generations wait: %s", type(error).__name__)

    async def _work(self) -> None:
        while not self._stopping:
            self._woken.clear()
            try:
                await self._look()
                await self._begin_some()
            except Exception as error:
                self._tell(error)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._woken.wait()
        for generation_id in self._tasks:
            self._cancel(generation_id)
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        if self._endpoint is not None:
            await self._endpoint.close()

    async def _look(self) -> None:
        """Renew what is held, stop what has to be stopped, end what dead workers left."""
        held = set(self._tasks)
        own, stopped = await self._in_database(partial(claims.renew, worker=self._worker, held=held))
        for generation_id in held - own | stopped:
            self._cancel(generation_id)
        ending = partial(claims.end_abandoned, worker=self._worker, watch=self._watch, only_worker=not on_postgresql())
        await self._in_database(ending)

    def _cancel(self, generation_id: uuid.UUID) -> None:
        """Once: one that is already ending must not be cancelled before it has stored its end."""
        task = self._tasks.get(generation_id)
        if task is not None and not task.cancelling() and generation_id not in self._ending:
            task.cancel()

    async def _begin_some(self) -> None:
        share = max(1, settings.GENERATIONS // 2)
        while len(self._tasks) < settings.GENERATIONS and not self._stopping:
            claiming = partial(claims.claim, worker=self._worker, running=dict(self._owners), share=share)
            generation = await self._in_database(claiming)
            if generation is None:
                return
            self._owners[generation.owner_id] += 1
            task = self._tasks[generation.id] = self._loop.create_task(self._make(generation, self._ready_endpoint()))
            task.add_done_callback(partial(self._done, generation))

    def _ready_endpoint(self) -> "Endpoint":
        """Loaded and made when it is needed: a server that makes no answers starts without it."""
        if self._endpoint is None:
            from generation_app.generations.model.endpoint import Endpoint

            self._endpoint = Endpoint()
        return self._endpoint

    def _done(self, generation: Generation, task: asyncio.Task[None]) -> None:
        self._tasks.pop(generation.id, None)
        self._ending.discard(generation.id)
        self._owners[generation.owner_id] -= 1
        self._owners += Counter()  # Without zeros.
        self._woken.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("an answer was not ended: %s", type(error).__name__)

    async def _make(self, generation: Generation, endpoint: "Endpoint") -> None:
        """From the claim to the end. Whatever happens, it ends with what was received."""
        answer: Answer | None = None
        state: GenerationState | None = GenerationState.COMPLETE
        error = ""
        try:
            question, begun = await self._patiently(partial(_prepare, generation))
            answer = begun
            await self._receive(question, begun, endpoint)
        except asyncio.CancelledError:
            state, error = await self._why_cancelled(generation)
        except _Stopped as stopped:
            state, error = stopped.state, stopped.error
        except EndpointFailed as failed:
            state, error = _broken_off(answer), str(failed)
        except (AnswerOvertaken, SessionCleared, AppError) as overtaken:
            state, error = GenerationState.INTERRUPTED, str(overtaken)
        except Exception as unforeseen:
            logger.error("an answer failed: %s", type(unforeseen).__name__)
            state, error = _broken_off(answer), FAULT
        if state is not None:
            self._ending.add(generation.id)
            await self._patiently(partial(_finish, generation, answer, state, error))

    async def _receive(self, question: Question, answer: Answer, endpoint: "Endpoint") -> None:
        writing = asyncio.ensure_future(self._write_on(answer))
        reading = asyncio.ensure_future(_read(question, answer, endpoint))
        try:
            await asyncio.wait([writing, reading], return_when=asyncio.FIRST_COMPLETED)
            for task in (writing, reading):
                if task.done():
                    task.result()
        finally:
            for task in (writing, reading):
                task.cancel()
            await asyncio.gather(writing, reading, return_exceptions=True)

    async def _write_on(self, answer: Answer) -> None:
        saved_at = stored_at = self._loop.time()
        while True:
            await asyncio.sleep(STREAM_EVERY_SECONDS)
            try:
                await self._stream(answer)
                if self._loop.time() - saved_at >= SAVE_EVERY_SECONDS:
                    await self._in_database(answer.save)
                    saved_at = self._loop.time()
                stored_at = self._loop.time()
            except (DatabaseError, Unavailable) as error:
                if self._loop.time() - stored_at > PATIENCE_SECONDS:
                    raise _Stopped(GenerationState.INTERRUPTED, STORE_AWAY) from error

    async def _stream(self, answer: Answer) -> None:
        """A stream that somebody else ended or wrote to, or that is full, does not end the answer: the message matters."""
        try:
            await self._writer.write(answer)
        except (Conflict, TooLarge):
            answer.leave_stream()

    async def _why_cancelled(self, generation: Generation) -> tuple[GenerationState | None, str]:
        """The server ends, somebody stops it, or another worker has taken it: then it is not ours to end."""
        if self._stopping:
            return GenerationState.INTERRUPTED, claims.LEFT
        own, stopped = await self._patiently(partial(claims.renew, worker=self._worker, held={generation.id}))
        if stopped:
            return GenerationState.STOPPED, ""
        return (GenerationState.INTERRUPTED, claims.LEFT) if own else (None, "")

    async def _patiently[T](self, work: Callable[[], T]) -> T:
        """Until the database does it. If it is away for too long, or the server ends, the next worker that looks finds the
        generation, and ends it with what its stream has."""
        until = self._loop.time() + PATIENCE_SECONDS
        while True:
            try:
                return await self._in_database(work)
            except (DatabaseError, Unavailable):
                if self._stopping or self._loop.time() > until:
                    raise
                await asyncio.sleep(LOOK_SECONDS)

    async def _in_database[T](self, work: Callable[[], T]) -> T:
        """A write that has begun is not abandoned: a caller that is cancelled meanwhile waits for it."""
        running = asyncio.wrap_future(self._database.submit(work))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait([running])
            raise


async def _read(question: Question, answer: Answer, endpoint: "Endpoint") -> None:
    async with aclosing(endpoint.ask(model=question.model, messages=question.messages)) as pieces:
        async for piece in pieces:
            answer.add(piece)
            if answer.is_full:
                raise _Stopped(GenerationState.INTERRUPTED, TOO_LONG)


def _broken_off(answer: Answer | None) -> GenerationState:
    return GenerationState.INTERRUPTED if answer is not None and answer.has_text else GenerationState.FAILED


def _prepare(generation: Generation) -> tuple[Question, Answer]:
    question = question_of(generation)
    count = 0
    if generation.stream_id is not None:
        count = find_stream(caller=caller_of_generation(generation), stream_id=generation.stream_id).count
    return question, Answer(generation, text=question.text, parts=question.parts, chunk_count=count)


def _finish(generation: Generation, answer: Answer | None, state: GenerationState, error: str) -> None:
    tries = None
    if answer is not None:
        with suppress(Conflict, TooLarge, NotFound):  # As `_stream`, or it is gone.
            answer.stream()
        with suppress(AnswerOvertaken, SessionCleared, NotFound, Gone):  # So is what comes of it: the last save tells.
            answer.save_unanswered()
        tries = answer.last_tries(complete=state == GenerationState.COMPLETE)
    with suppress(services.GenerationTaken):  # Another worker took this one for dead, and ended it.
        write(partial(claims.finish, generation, state, error, tries=tries))
