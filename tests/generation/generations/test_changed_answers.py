"""Answers that others change while they are made, and answers that are continued: nothing of either side is lost."""

from typing import Any

import pytest

from generation_app.generations import runner
from generation_app.generations.answer import Answer
from generation_app.generations.model.pieces import Piece
from generation_app.models import Generation, GenerationState
from tests.generation.generations.steps import claimed, started, step
from tests.support.chat import Chat

pytestmark = pytest.mark.django_db
COMPLETE, INTERRUPTED = GenerationState.COMPLETE, GenerationState.INTERRUPTED


def begun(chat: Chat, *pieces: Piece) -> Answer:
    """The answer of the generation that waits, with these pieces in its message as far as they are text."""
    _, answer = runner._prepare(claimed())
    for piece in pieces:
        answer.add(piece)
    answer.save()
    return answer


def end(answer: Answer, state: GenerationState = COMPLETE) -> None:
    runner._finish(Generation.objects.select_related("owner").get(), answer, state, "")


def patch(chat: Chat, **fields: Any) -> None:
    """By somebody who has seen the answer as it is."""
    session = chat.read()
    op = {"op": "patch", "id": session["messages"][-1]["id"], **fields}
    assert chat.ops(op, base_rev=session["session"]["rev"])["applied"]


def text(value: str) -> Piece:
    return Piece("text", value)


@pytest.mark.parametrize("rest", ["", "and more"])
def test_a_rating_stays_that_was_given_while_the_answer_was_made(chat: Chat, rest: str) -> None:
    started(chat, model="large")
    answer = begun(chat, text("half "))
    assert chat.read()["messages"][-1]["metadata"] == {"model": "large"}
    patch(chat, metadata={"rating": 5})
    answer.add(text(rest))
    end(answer)
    message = chat.read()["messages"][-1]
    assert (message["metadata"], message["text"]) == ({"rating": 5}, f"half {rest}")
    assert chat.conflicts() == []


def test_a_rating_stays_that_was_given_before_the_answer_is_continued(chat: Chat) -> None:
    made = started(chat, model="large")
    end(begun(chat, text("half ")), INTERRUPTED)
    patch(chat, metadata={"rating": 1.10, "seen": 10**30})
    step(chat, made, "continue")
    end(begun(chat, text("and more")))
    assert chat.read()["messages"][-1]["metadata"] == {"rating": 1.10, "seen": 10**30, "model": "large"}


def test_metadata_that_is_no_object_stays_as_it_is(chat: Chat) -> None:
    made = started(chat, model="large")
    end(begun(chat, text("half ")), INTERRUPTED)
    patch(chat, metadata=["mine"])
    step(chat, made, "continue")
    assert chat.read()["messages"][-1]["metadata"] == ["mine"]


def thought(value: str) -> Piece:
    return Piece("reasoning", value)


def call(name: str) -> Piece:
    return Piece("tool_call", {"id": name, "name": "find", "input": {}})


def test_a_continued_answer_keeps_what_it_thought_and_called_before(chat: Chat) -> None:
    made = started(chat)
    end(begun(chat, thought("first"), text("half "), call("c1")), INTERRUPTED)
    step(chat, made, "continue")
    end(begun(chat, text("and more, ")), INTERRUPTED)
    step(chat, made, "continue")
    end(begun(chat, thought("second"), text("to the end"), call("c2")))
    message = chat.read()["messages"][-1]
    first, second = ({"type": "reasoning", "text": value} for value in ("first", "second"))
    calls = [{"type": "tool_call", "id": name, "name": "find", "input": {}} for name in ("c1", "c2")]
    whole = "half and more, to the end"
    assert message["parts"] == [first, second, {"type": "text", "text": whole}, *calls]
    assert (message["text"], message["status"]) == (whole, "complete")


def test_what_was_only_thought_is_kept_too(chat: Chat) -> None:
    made = started(chat)
    end(begun(chat, thought("first")), INTERRUPTED)
    step(chat, made, "continue")
    end(begun(chat, thought("second"), text("said")))
    thoughts = [{"type": "reasoning", "text": value} for value in ("first", "second")]
    assert chat.read()["messages"][-1]["parts"] == [*thoughts, {"type": "text", "text": "said"}]
