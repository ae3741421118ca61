"""Where a project removes secrets, one that an answer spells out piece by piece is removed as a whole."""

import pytest

from generation_app.models import GenerationState
from sessions_app.models import Message, Project
from tests.generation.generations.steps import Looking, started, step
from tests.generation.generations.test_changed_answers import begun, call, end, text, thought
from tests.support.chat import Chat

pytestmark = pytest.mark.django_db
# The first half is one already, by itself.
FIRST, SECOND = "sk-ant-api03-" + "Ab1" * 12, "Cd2" * 12
SHOWN = "My key: [REDACTED:anthropic_key]"


@pytest.fixture(autouse=True)
def project(chat: Chat) -> None:
    Project.objects.update(settings={"redaction": "redact"})


def stored(chat: Chat) -> str:
    """The answer as it is read; the second half is nowhere in its row."""
    (row,) = Message.objects.filter(role="assistant")
    assert SECOND not in str(vars(row))
    return str(chat.read()["messages"][-1]["text"])


@pytest.mark.parametrize("state", [GenerationState.COMPLETE, GenerationState.INTERRUPTED])
def test_a_key_that_is_saved_in_two_halves(chat: Chat, state: GenerationState) -> None:
    started(chat)
    answer = begun(chat, text(f"My key: {FIRST}"))
    assert stored(chat) == SHOWN
    answer.add(text(SECOND))
    answer.save()
    assert stored(chat) == SHOWN
    answer.add(text(SECOND))
    answer.add(text(" Keep it."))
    end(answer, state)
    assert stored(chat) == f"{SHOWN} Keep it."
    assert chat.conflicts() == []


def test_a_key_whose_second_half_comes_last(chat: Chat) -> None:
    started(chat)
    answer = begun(chat, text(f"My key: {FIRST}"))
    answer.add(text(f"{SECOND} Keep it."))
    end(answer)
    assert stored(chat) == f"{SHOWN} Keep it."


def test_an_answer_of_others_words_goes_on_behind_a_key(chat: Chat) -> None:
    started(chat)
    answer = begun(chat, text(f"My key: {FIRST}. "))
    for number in range(3):
        answer.add(text(f"{number} "))
        answer.save()
    end(answer)
    assert stored(chat) == f"{SHOWN}. 0 1 2 "
    assert chat.conflicts() == []


def test_a_continued_answer_goes_on_behind_what_is_shown(chat: Chat) -> None:
    made = started(chat)
    end(begun(chat, text(f"My key: {FIRST}. ")), GenerationState.INTERRUPTED)
    step(chat, made, "continue")
    answer = begun(chat, text(f"Another: {FIRST}"))
    answer.add(text(SECOND))
    end(answer)
    assert stored(chat) == f"{SHOWN}. Another: [REDACTED:anthropic_key]"


def test_what_a_dead_server_left_behind_a_short_secret(chat: Chat) -> None:
    """What replaces the secret is longer, so the message looks longer than the stream."""
    started(chat)
    answer = begun(chat, text("PASSWORD=hunter2 "))
    answer.add(text("Keep it."))
    answer.stream()
    Looking().look_for()
    assert stored(chat) == "PASSWORD=[REDACTED:password] Keep it."


def test_what_a_dead_server_left(chat: Chat) -> None:
    started(chat)
    answer = begun(chat, text(f"My key: {FIRST}"))
    answer.add(text(SECOND))
    answer.stream()
    Looking().look_for()
    assert stored(chat) == SHOWN


def test_what_a_dead_server_left_beside_its_thoughts(chat: Chat) -> None:
    started(chat)
    answer = begun(chat, text(f"My key: {FIRST}"))
    for piece in (thought(f"{FIRST}{SECOND}"), text(SECOND), call("c1")):
        answer.add(piece)
    answer.stream()
    Looking().look_for()
    assert stored(chat) == SHOWN
    parts = chat.read()["messages"][-1]["parts"]
    assert [part.get("text") for part in parts] == ["[REDACTED:anthropic_key]", SHOWN, None]
