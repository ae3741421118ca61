"""What is sent or changed beside a message's parts or its framework's own form, when it is read as a framework's."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.support.chat import Chat
from tests.support.saves import Writer, append, patch, upsert

PNG = "data:image/png;base64,AAAA"
FILE = {"type": "file", "url": "https://example.com/a.png", "mediaType": "image/png"}
SEE: list[dict[str, Any]] = [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": PNG}}]
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
FORMATS = ["openai.chat", "openai.responses", "anthropic", "ai-sdk", "langchain", "pydantic-ai", "gemini"]


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    return Chat(api(alice))


@pytest.fixture
def tab(chat: Chat) -> Writer:
    return Writer(chat)


def own(raw: Any, form: str = "openai.chat", **more: Any) -> dict[str, Any]:
    return {"op": "upsert", "id": "m", "format": form, "raw": raw, **more}


def read_as(chat: Chat, form: str = "openai.chat", **more: Any) -> Any:
    answer = chat.get("messages?" + "&".join(f"{name}={value}" for name, value in {"as": form, **more}.items()))
    assert answer.status_code == 200, answer.content
    return answer.json()


def reasons(found: Any) -> list[str]:
    return [loss["reason"] for loss in found["losses"]]


@pytest.mark.parametrize("form", FORMATS)
def test_a_text_that_is_in_no_part_is_written(chat: Chat, tab: Writer, form: str) -> None:
    tab.save(upsert("u", "Look at this", parts=[FILE]))
    tab.save(
        upsert("a", "The answer", role="assistant", parts=[{"type": "reasoning", "text": "Hm"}, {"type": "text", "text": ""}])
    )
    found = str(read_as(chat, form)["items"])
    assert found.index("example.com") < found.index("Look at this") < found.index("The answer")


def test_of_a_text_and_parts_that_differ_the_parts_are_written(chat: Chat, tab: Writer) -> None:
    tab.save(upsert("m", "In short", parts=[{"type": "text", "text": "At length"}]))
    found = read_as(chat)
    assert found["items"] == [{"role": "user", "content": "At length"}]
    assert reasons(found) == ["Its text and its parts differ: the parts are written."]


@pytest.mark.parametrize("form", ["openai.chat", "anthropic"])
def test_a_changed_text_is_written_in_place_of_the_old_one(chat: Chat, tab: Writer, form: str) -> None:
    raw = {"role": "user", "content": "old words"}
    tab.save(own(raw))
    tab.save(patch("m", text="NEW words"))
    found = read_as(chat, form)
    assert (found["items"], found["losses"]) == ([{"role": "user", "content": "NEW words"}], [])
    assert chat.read()["messages"][0]["raw"] == raw
    tab.save(patch("m", text="old words"))
    assert read_as(chat)["items"] == [raw]


@pytest.mark.parametrize(
    "raw",
    [
        {"role": "user", "content": [{"type": "text", "text": "old"}, {"type": "text", "text": " words"}]},
        {"role": "user", "content": "old words", "name": "old"},
        {"role": "user", "content": "old words", "metadata": {"text": "old", "role": "old"}},
        {"role": "user", "content": "old words", "metadata": {"content": ["old"]}},
        {"content": "old words", "role": "user", "metadata": {"content": "old"}},
    ],
)
def test_no_other_text_in_raw_is_taken_for_the_message_s(chat: Chat, tab: Writer, raw: dict[str, Any]) -> None:
    """What is returned in its own format is not always parsed."""
    tab.save(own(raw))
    assert read_as(chat)["items"] == [raw]
    tab.save(patch("m", text="old"))
    [found] = read_as(chat)["items"]
    assert found["content"] == "old"


def test_an_answer_that_grows_is_written_as_far_as_it_is(chat: Chat, tab: Writer) -> None:
    tab.save(own({"role": "assistant", "content": "He"}, status="streaming"))
    tab.save(append("m", 2, "llo world"))
    assert read_as(chat)["items"] == [{"role": "assistant", "content": "Hello world"}]


def test_a_text_sent_beside_counts_and_files_stay(chat: Chat, tab: Writer) -> None:
    tab.save(own({"role": "user", "content": SEE, "name": "eve"}, text="SENT BESIDE"))
    found = read_as(chat)
    assert found["items"] == [{"role": "user", "content": [{"type": "text", "text": "SENT BESIDE"}, SEE[1]]}]
    assert reasons(found) == ["`name` is not kept between formats."]


def test_parts_that_are_changed_keep_the_content_of_a_file(chat: Chat, tab: Writer) -> None:
    tab.save(own({"role": "user", "content": SEE}))
    [message] = chat.read()["messages"]
    source = {"type": "source", "url": "https://example.com"}
    tab.save(patch("m", parts=[message["parts"][1], {"type": "text", "text": "Seen?"}, source]))
    found = read_as(chat)
    assert found["items"] == [{"role": "user", "content": [SEE[1], {"type": "text", "text": "Seen?"}]}]
    assert reasons(found) == ["This format has no place for a source part of user messages."]


def test_a_role_sent_beside_counts(chat: Chat, tab: Writer) -> None:
    tab.save(own({"role": "user", "content": "hi"}, role="assistant"))
    assert read_as(chat)["items"] == [{"role": "assistant", "content": "hi"}]


def test_parts_alone_that_differ_are_reported(chat: Chat, tab: Writer) -> None:
    raw = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    tab.save(own(raw))
    tab.save(patch("m", parts=[{"type": "tool_call", "id": "c", "name": "other", "input": {}}]))
    found = read_as(chat)
    assert found["items"] == [raw]
    assert reasons(found) == ["What was stored beside `raw` differs from it and has no place in it: `raw` is written."]


def test_what_only_stands_for_the_message_changes_nothing(chat: Chat, tab: Writer) -> None:
    """A long text is cut, and clients store the beginning of the JSON of what they cannot send otherwise."""
    long = "😀" * 99_999
    ui = {"id": "u", "role": "user", "parts": [{"type": "text", "text": long}]}
    result = {"type": "function_call_output", "call_id": "c", "output": "x" * 2_000}
    said = {"type": "message", "role": "user", "content": "y" * 2_000}
    tab.save({**own(ui, "ai-sdk"), "id": "u", "role": "user", "text": long[:50_000]})
    for number, item in enumerate((result, said)):
        preview = str(item).replace("'", '"')[:1_000]
        tab.save({**own(item, "openai.responses"), "id": f"r{number}", "role": "user", "text": preview})
    assert read_as(chat, "openai.responses")["items"][1:] == [result, said]
    found = read_as(chat, "ai-sdk")
    assert (found["items"][0], [loss for loss in found["losses"] if loss["id"] == "u"]) == (ui, [])


def test_the_text_beside_a_tool_s_result_is_no_message_of_its_own(chat: Chat, tab: Writer) -> None:
    raw = {"role": "tool", "tool_call_id": "c", "content": "7"}
    tab.save(own(raw, text="seven"))
    found = read_as(chat)
    assert (found["items"], len(found["losses"])) == ([raw], 1)


def step(number: int) -> list[dict[str, Any]]:
    """A call, its result and the answer. The id of the call is used again in each."""
    call = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    result = {"role": "tool", "tool_call_id": "c", "content": f"result {number}"}
    return [call, result, {"role": "assistant", "content": f"answer {number}"}]


def save_steps(tab: Writer, count: int) -> list[dict[str, Any]]:
    raws = [raw for number in range(count) for raw in step(number)]
    tab.save(*({**own(raw), "id": f"m{number}"} for number, raw in enumerate(raws)))
    return raws


def test_pages_that_are_repaired_part_no_call_from_its_result(chat: Chat, tab: Writer) -> None:
    raws = save_steps(tab, 3)
    for form in ("openai.chat", "anthropic", "ai-sdk"):
        pages, before = list[Any](), dict[str, str]()
        while True:
            found = read_as(chat, form, repair=1, limit=2, **before)
            pages.insert(0, found)
            assert found["losses"] == []
            if found["next"] is None:
                break
            before = {"before": found["next"]}
        assert [page["ids"][0] for page in pages] == [["m0"], ["m3"], ["m6"]] or form == "ai-sdk"
        items = [item for page in pages for item in page["items"]]
        assert "interrupted" not in str(items)
        assert [str(items).count(f"result {number}") for number in range(3)] == [1, 1, 1]
        assert form != "openai.chat" or items == raws


def test_a_page_that_ends_at_a_call_has_its_result(chat: Chat, tab: Writer) -> None:
    raws = save_steps(tab, 2)
    found = read_as(chat, repair=1, limit=2, before="m1")
    assert (found["items"], found["losses"], found["next"]) == (raws[:2], [], None)
    forwards = read_as(chat, repair=1, limit=1, after="m2")
    assert (forwards["items"], forwards["next"]) == (raws[3:5], "m4")
    last = read_as(chat, repair=1, limit=5, after="m4")
    assert (last["items"], last["next"]) == (raws[5:], None)
    rev = chat.read()["session"]["rev"]
    tab.save(patch("m1", metadata={"a": 1}))
    assert read_as(chat, repair=1, since_rev=rev)["items"] == raws[:2]
    assert read_as(chat, limit=2, before="m1")["items"] == raws[:1]


def test_a_path_that_is_repaired_parts_no_call_from_its_result(chat: Chat, tab: Writer) -> None:
    raws = save_steps(tab, 1)
    tab.save({**own({"role": "user", "content": "other"}), "id": "n", "parent_id": None})
    found = read_as(chat, repair=1, limit=2, head="m2")
    assert (found["items"], found["next"]) == (raws, None)
    assert read_as(chat, repair=1, limit=2, head="m2", before="m1")["items"] == raws[:2]


def test_a_call_without_a_result_is_interrupted_whatever_follows(chat: Chat, tab: Writer) -> None:
    tab.save({**own(step(0)[0]), "id": "open"})
    save_steps(tab, 1)
    found = read_as(chat, repair=1, limit=1, before="m0")
    assert [item["content"] for item in found["items"]] == [None, "interrupted"]


def test_a_window_that_is_repaired_begins_with_a_call(chat: Chat, tab: Writer, settings: Any) -> None:
    raws = save_steps(tab, 2)
    settings.WINDOW_MESSAGES = 2
    found = chat.api.get(f"/resume?project={chat.project}&as=openai.chat&repair=1").json()
    assert (found["messages"], found["more"], found["losses"]) == (raws[3:], True, [])
