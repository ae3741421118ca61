"""The database is away for a while, or the clock is set, while answers are made: none that goes on is ended, none is doubled."""

import asyncio
import itertools
import time
from datetime import timedelta
from typing import Any
from unittest.mock import AsyncMock

import pytest
from django.db import OperationalError

from generation_app.generations import answer as answers
from generation_app.generations import claims, runner, services
from generation_app.generations.answer import Answer
from generation_app.generations.answer_saving import save
from generation_app.generations.claims import renew
from generation_app.generations.model.pieces import Piece
from generation_app.generations.queries import question_of
from generation_app.models import Generation, GenerationState, StreamPiece
from generation_app.streams.services import StreamTooLarge
from sessions_app.chats.saving import receipts
from sessions_app.core.public_names import now
from sessions_app.models import ConflictCopy
from tests.generation.generations.steps import Looking, claimed, started, step
from tests.support.chat import Chat

pytestmark = pytest.mark.django_db
PATIENCE_SECONDS = 30.0


def the_time_is(monkeypatch: pytest.MonkeyPatch, **later: float) -> None:
    monkeypatch.setattr(claims, "now", lambda: now() + timedelta(**later))


def test_an_outage_that_is_longer_than_a_lease_ends_no_other_worker_s_answer(chat: Chat) -> None:
    started(chat)
    generation = claimed()
    other = Looking()
    assert other.look() == 0
    other.seconds += 60  # Nobody reached the database.
    assert other.look_for(5) == 0
    renew(worker="w", held={generation.id})
    assert other.look_for(9) == 0
    assert other.look_for(1) == 1


def test_a_clock_that_jumps_ends_no_living_worker_s_answer_and_keeps_no_dead_one_s(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    started(chat)
    generation = claimed()
    other = Looking()
    for days in (1, 0, -1):
        the_time_is(monkeypatch, days=days)
        assert other.look_for(5) == 0
        renew(worker="w", held={generation.id})
    the_time_is(monkeypatch, days=-2)
    assert other.look_for() == 1


def an_answer(chat: Chat, text: str) -> Answer:
    started(chat)
    answer = Answer(claimed(), text="", chunk_count=0)
    answer.add(Piece("text", text))
    return answer


def lost_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next save is stored, and its answer is lost."""
    numbers = itertools.count()

    def saving(*arguments: Any, **named: Any) -> Any:
        told = save(*arguments, **named)
        if next(numbers) == 0:
            raise OperationalError("server closed the connection unexpectedly")
        return told

    monkeypatch.setattr(answers, "save", saving)


@pytest.mark.parametrize("more", ["", "and more"])
def test_a_save_whose_answer_was_lost_is_not_taken_for_somebody_else_s(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    answer = an_answer(chat, "half ")
    lost_once(monkeypatch)
    with pytest.raises(OperationalError):
        answer.save()
    answer.add(Piece("text", more))
    answer.save()
    assert chat.texts()[-1] == f"half {more}"
    assert not ConflictCopy.objects.exists()


def test_nor_at_the_end(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = an_answer(chat, "half ")
    lost_once(monkeypatch)
    with pytest.raises(OperationalError):
        answer.save()
    answer.add(Piece("text", "and more"))
    runner._finish(Generation.objects.select_related("owner").get(), answer, GenerationState.COMPLETE, "")
    message = chat.read()["messages"][-1]
    assert (message["text"], message["status"]) == ("half and more", "complete")
    assert not ConflictCopy.objects.exists()


def test_nor_keeps_it_an_answer_running_whose_session_is_deleted(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = an_answer(chat, "half ")
    lost_once(monkeypatch)
    with pytest.raises(OperationalError):
        answer.save()
    chat.api.delete(f"/sessions/{chat.id}")
    runner._finish(Generation.objects.select_related("owner").get(), answer, GenerationState.COMPLETE, "")
    assert Generation.objects.get().state == GenerationState.INTERRUPTED


def test_an_answer_goes_on_after_the_clock_went_back(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = an_answer(chat, "half ")
    answer.save()
    Looking().look_for()
    # Another process, an hour earlier.
    monkeypatch.setattr(receipts, "_clock", receipts._Clock())
    hour = 3_600 * 10**9
    monkeypatch.setattr(time, "time_ns", lambda now=time.time_ns: now() - hour)
    step(chat, {"generation": Generation.objects.get().id}, "continue")
    generation = claimed()
    again = Answer(generation, text=question_of(generation).text, chunk_count=1)
    again.add(Piece("text", "and more"))
    again.save()
    assert chat.texts()[-1] == "half and more"


def made() -> Generation:
    """The queued one, by a runner."""
    making = runner.Runner()
    making.start()
    until = time.monotonic() + PATIENCE_SECONDS
    try:
        while Generation.objects.get().ended_at is None and time.monotonic() < until:
            time.sleep(0.02)
    finally:
        making.stop()
    return Generation.objects.get()


@pytest.mark.django_db(transaction=True)
def test_what_nobody_foresaw_ends_its_answer_and_says_so(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(generation: Generation) -> Any:
        raise ValueError("a text of the chat")

    monkeypatch.setattr(runner, "_prepare", failing)
    started(chat, "hello")
    found = made()
    assert (found.state, found.error) == ("failed", "The server could not make the answer.")
    assert "an answer failed: ValueError" in caplog.messages
    assert "a text of the chat" not in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_database_that_goes_away_as_an_answer_begins_is_waited_for(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.CHAT_WORD_MS = 1
    numbers = itertools.count()
    prepare = runner._prepare

    def preparing(generation: Generation) -> Any:
        if next(numbers) == 0:
            raise OperationalError("server closed the connection unexpectedly")
        return prepare(generation)

    monkeypatch.setattr(runner, "_prepare", preparing)
    monkeypatch.setattr(runner, "LOOK_SECONDS", 0.05)
    started(chat, "hello")
    assert made().state == "complete"


def test_a_damaged_stream_leaves_what_stands_before_the_damage(chat: Chat) -> None:
    answer = an_answer(chat, "One. ")
    answer.stream()
    answer.add(Piece("text", "Two."))
    answer.stream()
    last = StreamPiece.objects.order_by("first").last()
    assert last is not None
    last.chunks = last.chunks[:-1]
    last.save()
    assert Looking().look_for() == 1
    message = chat.read()["messages"][-1]
    assert (message["text"], message["status"]) == ("One. ", "interrupted")


@pytest.mark.parametrize("told", [True, False])
def test_a_stream_that_is_full_does_not_end_its_answer(
    chat: Chat, settings: Any, monkeypatch: pytest.MonkeyPatch, told: bool
) -> None:
    settings.STREAM_BYTES = 10
    answer = an_answer(chat, "Longer than that.")

    with pytest.raises(StreamTooLarge) as full:
        answer.stream()
    if told:
        made = runner.Runner()
        monkeypatch.setattr(made._writer, "write", AsyncMock(side_effect=full.value))
        asyncio.run(made._stream(answer))
        answer.add(Piece("reasoning", "hm"))
        assert (answer.waits, answer._waiting) == (False, []), "thoughts without an end would fill the memory"
    runner._finish(Generation.objects.select_related("owner").get(), answer, GenerationState.COMPLETE, "")
    message = chat.read()["messages"][-1]
    assert (message["text"], message["status"]) == ("Longer than that.", "complete")


def test_a_left_answer_that_cannot_be_ended_keeps_no_other_one_waiting(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    for one in (chat, Chat(chat.api)):
        started(one)
        claimed()
    first = Generation.objects.order_by("created_at")[0]
    rescue = claims._rescue

    def rescued(generation: Generation) -> Any:
        if generation.id == first.id:
            raise ValueError("damaged")
        return rescue(generation)

    monkeypatch.setattr(claims, "_rescue", rescued)
    assert Looking().look_for() == 1
    assert list(Generation.objects.order_by("created_at").values_list("state", flat=True)) == ["running", "interrupted"]
    monkeypatch.undo()
    assert Looking().look_for() == 1


def test_an_end_that_was_not_committed_is_repeated(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = an_answer(chat, "All of it.")
    generation = Generation.objects.select_related("owner").get()
    publish = services._publish
    numbers = itertools.count()

    def published(*arguments: Any) -> None:
        publish(*arguments)
        if next(numbers) == 0:
            raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(services, "_publish", published)
    with pytest.raises(OperationalError):
        runner._finish(generation, answer, GenerationState.COMPLETE, "")
    runner._finish(generation, answer, GenerationState.COMPLETE, "")
    assert Generation.objects.get().state == GenerationState.COMPLETE
    message = chat.read()["messages"][-1]
    assert (message["text"], message["status"]) == ("All of it.", "complete")
