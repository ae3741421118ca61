"""Answers that others change while they are made, and answers that are continued: nothing of either side is lost."""

from typing import Any

import pytest

from generation_app.generations import runner
from generation_app.generations.answer import THOUGHTS_LENGTH, Answer
from generation_app.generations.model.pieces import Piece
from generation_app.models import Generation, GenerationState
from sessions_app.models import Message
from tests.generation.generations.steps import Looking, claimed, started, step
from tests.support.chat import Chat
from tests.support.suite import first_of

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


def test_of_long_thoughts_the_message_has_what_fits_beside_its_text(chat: Chat) -> None:
    """What is too large would be refused as a whole, with the calls of tools."""
    started(chat)
    answer = begun(chat, text("Yes."))
    for _ in range(30):
        answer.add(thought("\N{MUSICAL SYMBOL G CLEF}" * 10_000))
    answer.add(call("c1"))
    end(answer)
    message = chat.read()["messages"][-1]
    thoughts, said, called = message["parts"]
    assert (len(thoughts["text"]), said["text"], called["id"]) == (THOUGHTS_LENGTH, "Yes.", "c1")
    assert (message["text"], message["status"]) == ("Yes.", "complete")


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
    calls: list[Any] = [{"type": "tool_call", "id": name, "name": "find", "input": {}} for name in ("c1", "c2")]
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


@pytest.mark.parametrize("pieces", [(), (text("and more"),), (thought("hm"),), (thought("hm"), text("and more"), call("c1"))])
@pytest.mark.parametrize("change", [{"metadata": {"rating": 5}}, {"status": "interrupted"}])
@pytest.mark.parametrize("model", first_of(["large", ""], 1))
def test_what_others_note_on_a_message_does_not_keep_its_end_out(
    chat: Chat, pieces: tuple[Piece, ...], change: dict[str, Any], model: str
) -> None:
    started(chat, model=model)
    answer = begun(chat, text("half "))
    patch(chat, **change)
    for piece in pieces:
        answer.add(piece)
    end(answer)
    message = chat.read()["messages"][-1]
    said = "".join(piece.value for piece in pieces if piece.kind == "text")
    assert (message["text"], message["status"]) == (f"half {said}", "complete")
    assert [part["type"] for part in message["parts"]] == [
        *(["reasoning"] if len(pieces) > 1 or pieces == (thought("hm"),) else []), "text", *["tool_call"][: len(pieces) // 3]
    ]  # fmt: skip
    assert chat.conflicts() == []
    if "metadata" in change:
        assert message["metadata"] == change["metadata"]


@pytest.mark.parametrize("rest", ["", "and more"])
def test_nor_does_it_leave_a_stopped_one_open(chat: Chat, rest: str) -> None:
    started(chat)
    answer = begun(chat, text("half "))
    patch(chat, metadata={"rating": 5})
    answer.add(text(rest))
    end(answer, INTERRUPTED)
    assert Message.objects.get(message_id=chat.read()["messages"][-1]["id"]).status == "interrupted"


@pytest.mark.parametrize("theirs", ["theirs, and longer than that", "th"])
@pytest.mark.parametrize("status", ["streaming", "complete"])
def test_a_text_that_somebody_wrote_stays_and_the_answer_s_is_a_copy(chat: Chat, theirs: str, status: str) -> None:
    started(chat)
    answer = begun(chat, text("half "))
    patch(chat, text=theirs, status=status)
    answer.add(text("and more"))
    end(answer, INTERRUPTED)
    message = chat.read()["messages"][-1]
    assert (message["text"], message["status"]) == (theirs, "complete" if status == "complete" else "interrupted")
    assert [copy["text"] for copy in chat.conflicts()] == ["half and more"]


def test_parts_that_somebody_wrote_keep_no_text_out(chat: Chat) -> None:
    started(chat)
    answer = begun(chat, text("half "))
    patch(chat, parts=[{"type": "text", "text": "ha"}, {"type": "text", "text": "lf "}])
    answer.add(text("and more"))
    end(answer)
    message = chat.read()["messages"][-1]
    assert (message["text"], message["status"]) == ("half and more", "complete")


def test_a_rescued_one_that_somebody_changed_is_not_left_open(chat: Chat) -> None:
    started(chat)
    begun(chat, text("half ")).stream()
    patch(chat, metadata={"rating": 5})
    assert Looking().look_for() == 1
    message = chat.read()["messages"][-1]
    assert (message["text"], message["status"]) == ("half ", "interrupted")
    stored = Message.objects.get(message_id=message["id"])
    assert stored.status == "interrupted"
