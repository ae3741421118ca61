"""Answers whose server was killed: the message gets all that the stream has, thoughts and calls of tools too."""

from typing import Any

import pytest

from generation_app.generations.model.pieces import Piece
from generation_app.models import GenerationState
from sessions_app.models import Message
from tests.generation.generations.steps import Looking, started, step
from tests.generation.generations.test_changed_answers import begun, call, end, patch, text, thought
from tests.support.chat import Chat

pytestmark = pytest.mark.django_db
LARGE = 10**30


def left(chat: Chat, saved: tuple[Piece, ...], *streamed: Piece) -> None:
    """The queued answer's server saves some of it, streams more, and is killed."""
    answer = begun(chat, *saved)
    for piece in streamed:
        answer.add(piece)
    answer.stream()
    assert Looking().look_for() == 1


def last(chat: Chat) -> Any:
    message = chat.read()["messages"][-1]
    assert Message.objects.get(message_id=message["id"]).status == "interrupted"
    assert chat.conflicts() == []
    return message


def called(name: str) -> dict[str, Any]:
    return {"type": "tool_call", "id": name, "name": "find", "input": {}}


def thoughts(value: str) -> dict[str, Any]:
    return {"type": "reasoning", "text": value}


@pytest.mark.parametrize("saved", [(), (text("half "),), (thought("hm"), text("half "))])
def test_thoughts_and_calls_are_kept(chat: Chat, saved: tuple[Piece, ...]) -> None:
    started(chat)
    exact = Piece("tool_call", {"id": "c1", "name": "find", "input": {"n": LARGE}})
    rest = tuple(piece for piece in (thought("hm"), text("half ")) if piece not in saved)
    left(chat, saved, *rest, text("and more"), exact)
    message = last(chat)
    assert message["text"] == "half and more"
    assert message["parts"] == [
        thoughts("hm"),
        {"type": "text", "text": "half and more"},
        {**called("c1"), "input": {"n": LARGE}},
    ]


def test_what_was_only_thought_is_kept(chat: Chat) -> None:
    started(chat)
    left(chat, (), thought("hm"))
    assert (last(chat)["text"], last(chat)["parts"]) == ("", [thoughts("hm")])


def test_text_alone_stays_without_parts(chat: Chat) -> None:
    started(chat)
    left(chat, (text("half "),), text("and more"))
    assert (last(chat)["text"], last(chat)["parts"]) == ("half and more", [{"type": "text", "text": "half and more"}])


def test_a_continued_answer_keeps_what_it_had(chat: Chat) -> None:
    made = started(chat)
    end(begun(chat, thought("first"), text("half "), call("c1")), GenerationState.INTERRUPTED)
    step(chat, made, "continue")
    left(chat, (text("and "),), thought("second"), text("more"), call("c2"))
    message = last(chat)
    assert message["text"] == "half and more"
    said = {"type": "text", "text": "half and more"}
    assert message["parts"] == [thoughts("first"), thoughts("second"), said, called("c1"), called("c2")]


def test_one_that_had_only_thought_before_keeps_what_it_said(chat: Chat) -> None:
    made = started(chat)
    end(begun(chat, thought("first")), GenerationState.INTERRUPTED)
    step(chat, made, "continue")
    left(chat, (text("half "),), thought("second"), text("and more"))
    message = last(chat)
    assert message["text"] == "half and more"
    assert message["parts"] == [thoughts("first"), thoughts("second"), {"type": "text", "text": "half and more"}]


def test_several_parts_of_text_stay_as_they_are(chat: Chat) -> None:
    made = started(chat)
    end(begun(chat, text("half ")), GenerationState.INTERRUPTED)
    parts = [{"type": "text", "text": "ha"}, {"type": "text", "text": "lf "}]
    patch(chat, parts=parts)
    step(chat, made, "continue")
    left(chat, (), text("and more"), call("c1"))
    message = last(chat)
    assert (message["text"], message["parts"]) == ("half and more", [parts[0], {**parts[1], "text": "lf and more"}, called("c1")])


def test_a_rating_that_was_given_meanwhile_stays(chat: Chat) -> None:
    started(chat)
    answer = begun(chat, text("half "))
    patch(chat, metadata={"rating": 5})
    for piece in (thought("hm"), text("and more"), call("c1")):
        answer.add(piece)
    answer.stream()
    assert Looking().look_for() == 1
    message = last(chat)
    assert (message["text"], message["metadata"]) == ("half and more", {"rating": 5})
    assert message["parts"] == [thoughts("hm"), {"type": "text", "text": "half and more"}, called("c1")]


@pytest.mark.parametrize("theirs", ["theirs", "theirs, which is longer than all that the answer had until then"])
def test_what_somebody_wrote_stays_and_is_not_mixed_with_the_rest(chat: Chat, theirs: str) -> None:
    started(chat)
    answer = begun(chat, text("half "))
    patch(chat, text=theirs)
    for piece in (text("and more"), call("c1")):
        answer.add(piece)
    answer.stream()
    assert Looking().look_for() == 1
    message = chat.read()["messages"][-1]
    assert (message["text"], message["status"]) == (theirs, "interrupted")
    assert [copy["text"] for copy in chat.conflicts()] == ["half and more"]


def test_a_text_of_which_the_stream_has_only_the_beginning_stays(chat: Chat) -> None:
    """Somebody ended the stream, or it was full: the message went on."""
    started(chat)
    answer = begun(chat)
    answer.add(text("half "))
    answer.stream()
    answer.leave_stream()
    answer.add(text("and more"))
    answer.save()
    assert Looking().look_for() == 1
    assert last(chat)["text"] == "half and more"


@pytest.mark.parametrize("removed", [True, False])
def test_an_undo_takes_in_thoughts_and_calls_too(chat: Chat, removed: bool) -> None:
    made = started(chat)
    answer = begun(chat, text("half "))
    for piece in (thought("hm"), text("and more"), call("c1")):
        answer.add(piece)
    answer.stream()
    if removed:
        rev = chat.read()["session"]["rev"]
        assert chat.ops({"op": "delete", "id": made["message"]}, base_rev=rev)["applied"]
    else:
        chat.clear()
    assert Looking().look_for() == 1
    if removed:
        assert chat.post_plain(f"removed/{made['message']}/restore", {}).status_code == 200
    else:
        chat.undo(of=1, epoch=2)
    message = last(chat)
    assert (message["text"], message["status"]) == ("half and more", "interrupted")
    assert message["parts"] == [thoughts("hm"), {"type": "text", "text": "half and more"}, called("c1")]
