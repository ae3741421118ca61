"""The chunks of a stream: append-only, repeatable, in order; what it reads as; when it ends and when it is dropped."""

import uuid
from datetime import timedelta
from typing import Any

import orjson
import pytest

from generation_app.models import Stream, StreamPiece
from generation_app.streams.queries import chunks_from
from generation_app.streams.services import append_chunks
from generation_app.streams.silent_streams import interrupt_silent
from sessions_app.chats.lifecycle.pruning import prune
from sessions_app.core.callers import caller_of_user
from sessions_app.core.public_names import now
from sessions_app.models import Project
from tests.support.chat import Chat
from tests.support.saves import refusal

pytestmark = pytest.mark.django_db


@pytest.fixture
def stream(chat: Chat) -> str:
    made = chat.post_plain("streams", {"message": "m1"})
    assert made.status_code == 201, made.content
    return str(made.json()["stream"])


def append(chat: Chat, stream: str, offset: int, *chunks: Any) -> Any:
    return chat.api.post(f"/streams/{stream}/chunks", {"offset": offset, "chunks": list(chunks)})


def end(chat: Chat, stream: str, **body: Any) -> Any:
    return chat.api.post(f"/streams/{stream}/end", body)


def events(answer: Any) -> list[dict[str, str]]:
    """The events of a response, each as its fields."""
    assert answer.headers["Content-Type"] == "text/event-stream"
    blocks = answer.content.decode().split("\n\n")[:-1]
    return [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]


def datas(answer: Any) -> list[Any]:
    return [event["data"] if event["data"] == "[DONE]" else orjson.loads(event["data"]) for event in events(answer)]


def test_chunks_come_back_in_order_under_their_numbers(chat: Chat, stream: str) -> None:
    odd = {"type": "data-x", "n": [1.10, 10**30], "z": "\u2028\n\0"}
    assert append(chat, stream, 0, "a", "b").json() == {"stream": stream, "offset": 2}
    assert append(chat, stream, 2, odd).json()["offset"] == 3
    end(chat, stream)
    read = events(chat.api.get(f"/streams/{stream}"))
    assert [(event.get("id"), event.get("event")) for event in read] == [("0", None), ("1", None), ("2", None), (None, "end")]
    assert read[3]["data"] == '{"state":"complete"}'
    assert '"n":[1.1' in read[2]["data"]
    assert str(10**30) in read[2]["data"]


def test_a_reader_continues_behind_the_last_event_it_has(chat: Chat, stream: str) -> None:
    for number in range(4):
        append(chat, stream, 2 * number, f"{number}a", f"{number}b")

    def ids(query: str = "", **headers: str) -> list[str]:
        return [event["id"] for event in events(chat.api.get(f"/streams/{stream}{query}", **headers))]

    assert ids("?offset=3") == ids(**{"Last-Event-ID": "2"}) == ["3", "4", "5", "6", "7"]
    assert ids("?offset=0", **{"Last-Event-ID": "6"}) == ["7"]
    assert ids("?offset=8") == ids("?offset=1000") == []


def test_the_same_again_is_accepted_and_anything_else_is_not(chat: Chat, stream: str) -> None:
    append(chat, stream, 0, "a", "b")
    append(chat, stream, 2, "c")
    assert append(chat, stream, 0, "a", "b").json()["offset"] == 3
    assert append(chat, stream, 1, "b", "c", "d").json()["offset"] == 4
    for offset, chunks in ((1, ["x"]), (1, ["b", "x"]), (5, ["e"]), (5, []), (3, ["x", "y"])):
        answer = append(chat, stream, offset, *chunks)
        assert refusal(answer) == (409, "offset_conflict")
        assert answer.json()["error"]["details"] == {"offset": 4}
    assert [event["data"] for event in events(chat.api.get(f"/streams/{stream}"))] == ['"a"', '"b"', '"c"', '"d"']
    assert Stream.objects.get().size_bytes == 12


def test_an_ended_stream_takes_nothing_new(chat: Chat, stream: str) -> None:
    append(chat, stream, 0, "a")
    assert end(chat, stream, interrupted=True).json()["state"] == "interrupted"
    assert end(chat, stream).json()["state"] == "interrupted"
    assert append(chat, stream, 0, "a").json()["offset"] == 1
    assert refusal(append(chat, stream, 1, "b")) == (409, "stream_ended")
    assert refusal(append(chat, stream, 1)) == (409, "stream_ended")


def test_who_has_all_of_an_ended_stream_is_told_to_stop(chat: Chat, stream: str) -> None:
    append(chat, stream, 0, "a")
    end(chat, stream)
    assert chat.api.get(f"/streams/{stream}", **{"Last-Event-ID": "0"}).status_code == 204
    assert chat.api.get(f"/streams/{stream}?as=ai-sdk").status_code == 204
    assert chat.api.get(f"/streams/{stream}?offset=1").content == b'event: end\ndata: {"state":"complete"}\n\n'


def test_the_session_s_stream_is_the_open_one(chat: Chat, stream: str) -> None:
    append(chat, stream, 0, "a")
    assert chat.post_plain("streams", {"message": "m1"}).json() == {
        "stream": stream, "session": chat.id, "message": "m1", "state": "open", "offset": 1,
    }  # fmt: skip
    assert [event["data"] for event in events(chat.get("stream"))] == ['"a"']
    end(chat, stream)
    assert chat.get("stream").status_code == 204
    again = chat.post_plain("streams", {"message": "m1"})
    assert (again.status_code, again.json()["offset"]) == (201, 0)


def test_as_the_ai_sdk_s_stream(chat: Chat, stream: str) -> None:
    chunks = [
        {"type": "reasoning", "text": "hm"},
        "He",
        "llo",
        {"type": "tool_call", "id": "c1", "name": "find", "input": {"q": 1}},
    ]
    append(
        chat,
        stream,
        0,
        *chunks,
        {"type": "data-weather", "data": 1},
        {"type": "unheard-of"},
        {"choices": [{"delta": {"content": "!"}}]},
    )
    answer = chat.get("stream?as=ai-sdk")
    assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert datas(answer) == [
        {"type": "start", "messageId": "m1"},
        {"type": "reasoning-start", "id": "reasoning-1"},
        {"type": "reasoning-delta", "id": "reasoning-1", "delta": "hm"},
        {"type": "reasoning-end", "id": "reasoning-1"},
        {"type": "text-start", "id": "text-2"},
        {"type": "text-delta", "id": "text-2", "delta": "He"},
        {"type": "text-delta", "id": "text-2", "delta": "llo"},
        {"type": "text-end", "id": "text-2"},
        {"type": "tool-input-available", "toolCallId": "c1", "toolName": "find", "input": {"q": 1}},
        {"type": "data-weather", "data": 1},
        {"type": "text-start", "id": "text-3"},
        {"type": "text-delta", "id": "text-3", "delta": "!"},
    ]


def test_as_openai_s_chunks(chat: Chat, stream: str) -> None:
    append(
        chat,
        stream,
        0,
        "He",
        {"type": "text-delta", "id": "t", "delta": "llo"},
        {"type": "tool_call", "id": "c", "name": "f", "input": {}},
    )
    end(chat, stream)
    *chunks, done = datas(chat.api.get(f"/streams/{stream}?as=openai"))
    assert done == "[DONE]"
    assert {(chunk["object"], chunk["id"]) for chunk in chunks} == {("chat.completion.chunk", f"chatcmpl-{stream}")}
    (first,), *_, (last,) = (chunk["choices"] for chunk in chunks)
    assert first == {"index": 0, "delta": {"role": "assistant", "content": "He"}, "finish_reason": None}
    assert last == {"index": 0, "delta": {}, "finish_reason": "tool_calls"}
    assert chunks[2]["choices"][0]["delta"]["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}


def test_the_end_of_a_converted_stream_says_how_it_ended(chat: Chat, stream: str) -> None:
    append(chat, stream, 0, "He")
    end(chat, stream, interrupted=True)
    assert datas(chat.api.get(f"/streams/{stream}?as=openai"))[-1]["error"]["type"] == "interrupted"


@pytest.mark.parametrize("query", ["as=xml", "as=openai&offset=1", "offset=-1", "since=1"])
def test_what_it_does_not_know_is_refused(chat: Chat, stream: str, query: str) -> None:
    assert chat.api.get(f"/streams/{stream}?{query}").status_code == 422


@pytest.mark.parametrize("chunk", [1, None, ["a"], True])
def test_a_chunk_is_a_text_or_an_object(chat: Chat, stream: str, chunk: Any) -> None:
    assert append(chat, stream, 0, chunk).status_code == 422


def test_its_sizes_are_limited(chat: Chat, stream: str, settings: Any) -> None:
    assert refusal(append(chat, stream, 0, "x" * 64_000)) == (413, "too_large")
    assert append(chat, stream, 0, *["x"] * 1_001).status_code == 422
    settings.STREAM_BYTES = 10
    assert refusal(append(chat, stream, 0, "12345", "1234")) == (413, "stream_too_large")
    assert append(chat, stream, 0, "12345").status_code == 200
    settings.ACCOUNT_STREAMS = 1
    assert refusal(chat.post_plain("streams", {"message": "m2"})) == (429, "too_many_streams")
    assert chat.post_plain("streams", {"message": "m1"}).status_code == 200
    end(chat, stream)
    assert chat.post_plain("streams", {"message": "m2"}).status_code == 201


def test_a_silent_producer_s_stream_is_interrupted(chat: Chat, stream: str) -> None:
    append(chat, stream, 0, "a")
    assert interrupt_silent() == 0
    Stream.objects.update(written_at=now() - timedelta(seconds=61))
    assert append(chat, stream, 1).status_code == 200  # A sign of life.
    assert interrupt_silent() == 0
    Stream.objects.update(written_at=now() - timedelta(seconds=61))
    assert interrupt_silent() == 1
    assert refusal(append(chat, stream, 1, "b")) == (409, "stream_ended")
    assert datas(chat.api.get(f"/streams/{stream}"))[-1] == {"state": "interrupted"}


def test_it_is_dropped_a_day_after_its_end(chat: Chat, stream: str) -> None:
    append(chat, stream, 0, "a")
    end(chat, stream)
    Stream.objects.update(ended_at=now() - timedelta(hours=23))
    prune()
    assert chat.api.get(f"/streams/{stream}").status_code == 200
    Stream.objects.update(ended_at=now() - timedelta(hours=25))
    prune()
    assert (Stream.objects.count(), StreamPiece.objects.count()) == (0, 0)
    assert refusal(chat.api.get(f"/streams/{stream}")) == (404, "not_found")


def test_where_secrets_are_removed_its_chunks_go_soon_after_its_end(chat: Chat, stream: str) -> None:
    append(chat, stream, 0, "the key is ", "sk-ant-api03-abc")
    Project.objects.update(settings={"redaction": "redact"})
    prune()
    assert StreamPiece.objects.exists(), "it is still open"
    end(chat, stream)
    prune()
    assert StreamPiece.objects.exists(), "readers may not have the end yet"
    Stream.objects.update(ended_at=now() - timedelta(minutes=2))
    Project.objects.update(settings={"redaction": "flag"})
    prune()
    assert StreamPiece.objects.exists()
    Project.objects.update(settings={"redaction": "redact"})
    prune()
    assert not StreamPiece.objects.exists()


def test_it_goes_with_its_session(chat: Chat, stream: str) -> None:
    append(chat, stream, 0, "a")
    chat.api.delete(f"/sessions/{chat.id}")
    assert chat.api.get(f"/streams/{stream}").status_code == 404
    assert append(chat, stream, 1, "b").status_code == 404
    assert refusal(chat.post_plain("streams", {"message": "m1"})) == (410, "session_deleted")


def test_the_cost_of_a_chunk_does_not_grow(chat: Chat, stream: str, django_assert_max_num_queries: Any) -> None:
    owner, name = caller_of_user(Stream.objects.select_related("owner").get().owner), Stream.objects.get().id
    for number in range(50):
        append_chunks(caller=owner, stream_id=name, offset=number, chunks=['"x"'])
    with django_assert_max_num_queries(5):  # Three, in a savepoint.
        append_chunks(caller=owner, stream_id=name, offset=50, chunks=['"x"'])


def test_a_reader_is_given_a_little_at_a_time_whatever_one_request_brought(chat: Chat, stream: str) -> None:
    """What it was given stays in memory until it has read it."""
    sent = [f"{number} {'x' * 50_000}" for number in range(40)]
    assert append(chat, stream, 0, *sent).status_code == 200
    found: list[str] = []
    while more := chunks_from(uuid.UUID(stream), len(found)):
        assert sum(map(len, more)) <= 150_000
        found += more
    assert [orjson.loads(chunk) for chunk in found] == sent
    repeated = append(chat, stream, 3, *sent[3:])
    assert (repeated.status_code, repeated.json()["offset"]) == (200, 40)
