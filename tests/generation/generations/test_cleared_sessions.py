"""Answers whose session is cleared while they are made: they end, and keep what they have."""

from typing import Any

import pytest

from generation_app.generations.claims import finish
from generation_app.generations.queries import caller_of_generation, question_of
from generation_app.models import GenerationState
from generation_app.streams.services import append_chunks
from sessions_app.core.storage.transactions import write
from tests.generation.generations.steps import claimed, started, step
from tests.support.chat import Chat
from tests.support.saves import refusal

pytestmark = pytest.mark.django_db


def test_after_a_clear_nothing_is_continued(chat: Chat) -> None:
    made = started(chat)
    step(chat, made, "stop")
    chat.clear()
    assert refusal(step(chat, made, "continue")) == (409, "nothing_to_continue")


def test_a_queued_one_of_a_cleared_session_can_be_stopped(chat: Chat) -> None:
    made = started(chat)
    chat.clear()
    stopped = step(chat, made, "stop")
    assert (stopped.status_code, stopped.json()["state"]) == (200, "interrupted")
    assert ended_events(chat) == [(made["generation"], "interrupted")]
    assert started(chat, "another")["state"] == "queued"


def ended_events(chat: Chat) -> list[tuple[str, str]]:
    """Generation and state of each end that the project's listeners heard of."""
    project = chat.read()["session"]["project_id"]
    events = chat.api.get(f"/projects/{project}/events?since=0").json()["items"]
    return [(one["data"]["generation"], one["data"]["state"]) for one in events if one["type"] == "GENERATION_ENDED"]


def cut_off(chat: Chat, *, undone: bool, chunks: tuple[str, ...] = ('"one "', '"two"')) -> Any:
    """A running answer of these chunks, of which the message has none yet, after a clear."""
    made = started(chat)
    generation = claimed()
    assert generation.stream_id is not None
    if chunks:
        append_chunks(caller=caller_of_generation(generation), stream_id=generation.stream_id, offset=0, chunks=[*chunks])
    chat.clear()
    if undone:
        chat.undo(of=1, epoch=2)
    write(lambda: finish(generation, GenerationState.INTERRUPTED))
    return made


def test_an_undo_takes_in_what_an_answer_got_after_the_clear(chat: Chat) -> None:
    made = cut_off(chat, undone=False)
    assert ended_events(chat) == [(made["generation"], "interrupted")]
    assert [copy["text"] for copy in chat.conflicts()] == ["one two"]
    chat.undo(of=1, epoch=2)
    assert (chat.texts()[-1], chat.conflicts()) == ("one two", [])
    assert step(chat, made, "continue").json()["state"] == "queued"
    assert question_of(claimed()).text == "one two"


@pytest.mark.parametrize("chunks", [(), ('"one "', '"two"')])
def test_an_answer_whose_clear_was_undone_before_it_noticed_is_stored(chat: Chat, chunks: tuple[str, ...]) -> None:
    cut_off(chat, undone=True, chunks=chunks)
    assert (chat.texts()[-1], chat.conflicts()) == ("one two" if chunks else "", [])
    assert chat.read()["messages"][-1]["status"] == "interrupted"
