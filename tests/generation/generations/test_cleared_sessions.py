"""Answers whose session is cleared or deleted while they are made: they end, and keep what they have."""

import uuid
from typing import Any

import pytest

from generation_app.generations.claims import finish, renew
from generation_app.generations.queries import caller_of_generation, question_of
from generation_app.models import Generation, GenerationState
from generation_app.streams.queries import find_stream
from generation_app.streams.services import append_chunks
from sessions_app.core.storage.transactions import write
from tests.generation.generations.steps import Looking, claimed, started, step
from tests.generation.generations.test_changed_answers import begun, call, end, text, thought
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


def thrown_away(chat: Chat, address: str = "") -> None:
    answer = chat.api.delete(address or f"/sessions/{chat.id}")
    assert answer.status_code == 204, answer.content


def brought_back(chat: Chat, address: str = "") -> None:
    answer = chat.api.post(f"{address or f'/sessions/{chat.id}'}/undelete")
    assert answer.status_code == 200, answer.content


@pytest.mark.parametrize("what", ["sessions", "projects"])
@pytest.mark.parametrize("killed", [False, True])
def test_what_the_trash_brings_back_has_all_that_was_shown(chat: Chat, what: str, killed: bool) -> None:
    started(chat)
    answer = begun(chat, text("half "))
    session = chat.read()["session"]
    address = f"/{what}/{session['id' if what == 'sessions' else 'project_id']}"
    for piece in (text("and more"), thought("hm"), call("c1")):
        answer.add(piece)
    answer.stream()
    thrown_away(chat, address)
    answer.add(text(", never shown"))
    if killed:
        assert Looking().look_for() == 1
    else:
        end(answer, GenerationState.INTERRUPTED)
    assert Generation.objects.get().state == GenerationState.INTERRUPTED
    brought_back(chat, address)
    message = chat.read()["messages"][-1]
    said = "half and more" if killed else "half and more, never shown"
    assert (message["text"], message["status"], chat.conflicts()) == (said, "interrupted", [])
    assert [part["type"] for part in message["parts"]] == ["reasoning", "text", "tool_call"]


def test_what_came_after_a_clear_goes_to_the_trash_too(chat: Chat) -> None:
    started(chat)
    answer = begun(chat, text("half "))
    answer.add(text("and more"))
    chat.clear()
    thrown_away(chat)
    end(answer, GenerationState.INTERRUPTED)
    brought_back(chat)
    chat.undo(of=1, epoch=2)
    assert (chat.texts()[-1], chat.conflicts()) == ("half and more", [])


@pytest.mark.parametrize("gone", ["cleared", "session", "project"])
def test_an_answer_of_which_nothing_comes_ends_with_its_session(chat: Chat, gone: str) -> None:
    """A model may think for minutes: nothing is saved meanwhile that could be refused."""
    started(chat)
    generation = claimed()
    assert renew(worker="w", held={generation.id}) == ({generation.id}, set())
    if gone == "cleared":
        chat.clear()
    else:
        thrown_away(chat, "" if gone == "session" else f"/projects/{chat.read()['session']['project_id']}")
    assert renew(worker="w", held={generation.id}) == ({generation.id}, {generation.id})


def test_what_is_continued_after_the_trash_has_a_stream_of_its_own(chat: Chat) -> None:
    made = started(chat)
    answer = begun(chat, text("half "), thought("hm"))
    answer.stream()
    thrown_away(chat)
    end(answer, GenerationState.INTERRUPTED)
    brought_back(chat)
    again = step(chat, made, "continue").json()
    assert again["stream"] != made["stream"]
    assert (again["state"], find_stream(caller=answer._caller, stream_id=uuid.UUID(again["stream"])).count) == ("queued", 1)
    assert not find_stream(caller=answer._caller, stream_id=uuid.UUID(made["stream"])).is_open
