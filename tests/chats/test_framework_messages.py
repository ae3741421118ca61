"""A framework's own message, saved as it is: it comes back unchanged, says what it says, and can be read as another's."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.support.chat import Chat
from tests.support.saves import Writer, reasons, refusal, upsert

CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
HISTORY: list[dict[str, Any]] = [
    {"role": "developer", "content": "Answer briefly."},
    {"role": "user", "content": [{"type": "text", "text": "How warm is it in Oslo?"}]},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "7 degrees"},
    {"role": "assistant", "content": "It is 7 degrees.", "x_of_a_provider": 1},
]


@pytest.fixture
def chat(api: Callable[..., Any], alice: User) -> Chat:
    return Chat(api(alice))


@pytest.fixture
def tab(chat: Chat) -> Writer:
    return Writer(chat)


def raws(*messages: Any, form: str = "openai.chat") -> list[dict[str, Any]]:
    return [{"op": "upsert", "id": f"m{number}", "format": form, "raw": raw} for number, raw in enumerate(messages)]


def read_as(chat: Chat, form: str, **more: Any) -> Any:
    query = "&".join(f"{name}={value}" for name, value in {"as": form, **more}.items())
    answer = chat.get(f"messages?{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_a_message_of_a_framework_comes_back_as_it_was_and_says_what_it_says(chat: Chat, tab: Writer) -> None:
    assert tab.save(*raws(*HISTORY))["rejected"] == []
    messages = chat.read()["messages"]
    assert [message["raw"] for message in messages] == HISTORY
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert [message["text"] for message in messages] == [
        "Answer briefly.", "How warm is it in Oslo?", "", "", "It is 7 degrees.",
    ]  # fmt: skip
    assert messages[1]["parts"] == [{"type": "text", "text": "How warm is it in Oslo?"}]
    assert messages[2]["parts"] == [{"type": "tool_call", "id": "call_1", "name": "weather", "input": {"city": "Oslo"}}]
    assert messages[3]["parts"] == [{"type": "tool_result", "id": "call_1", "output": "7 degrees", "is_error": False}]


def test_the_same_message_again_changes_nothing(chat: Chat, tab: Writer) -> None:
    tab.save(*raws(*HISTORY))
    again = Writer(chat).save(*raws(*HISTORY))
    assert [entry["reason"] for entry in again["ignored"]] == ["same"] * len(HISTORY)


def test_text_and_parts_that_are_sent_beside_raw_count(chat: Chat, tab: Writer) -> None:
    [op] = raws({"role": "user", "content": "of raw"})
    tab.save({**op, "text": "sent"}, {**op, "id": "n", "role": "assistant", "parts": [{"type": "text", "text": "in parts"}]})
    first, second = chat.read()["messages"]
    assert (first["text"], first["role"]) == ("sent", "user")
    assert (second["text"], second["role"]) == ("in parts", "assistant")


def test_what_a_role_may_be_depends_on_the_format(chat: Chat, tab: Writer) -> None:
    answer = tab.save(
        {"op": "upsert", "id": "plain", "role": "tool", "text": "no"},
        {"op": "upsert", "id": "named", "role": "developer", "text": "yes", "format": "openai.chat"},
        {"op": "upsert", "id": "other", "role": "model", "text": "no", "format": "openai.chat"},
        {"op": "upsert", "id": "own", "role": "model", "text": "yes", "format": "my.own", "raw": {"any": 1}},
        {"op": "upsert", "id": "none", "text": "no", "format": "my.own", "raw": {"any": 1}},
        {"op": "upsert", "id": "no text", "role": 1, "text": "no", "format": "my.own", "raw": {"any": 1}},
    )
    rejected = {"plain": "bad_role", "other": "bad_role", "none": "unknown_format", "no text": "bad_role"}
    assert reasons(answer["rejected"]) == rejected
    assert "openai.chat" in answer["rejected"][2]["message"]
    assert [message["role"] for message in chat.read()["messages"]] == ["developer", "model"]


@pytest.mark.parametrize("raw", ["text", 1, [], {"role": "nobody"}, {"role": "user", "content": 7}, True])
def test_raw_that_is_not_of_its_format_is_rejected_with_the_reason(chat: Chat, tab: Writer, raw: Any) -> None:
    answer = tab.save(*raws(raw, HISTORY[1]))
    [rejected] = answer["rejected"]
    assert (rejected["id"], rejected["reason"]) == ("m0", "unreadable_raw")
    assert rejected["message"].startswith("`raw` is not a message of this `format`. ")
    assert [message["id"] for message in chat.read()["messages"]] == ["m1"]


def test_raw_need_not_be_readable_if_role_and_text_are_sent(chat: Chat, tab: Writer) -> None:
    raw = {"role": "assistant", "tool_calls": [{"id": "unfinished"}]}
    tab.save({"op": "upsert", "id": "m1", "role": "assistant", "text": "said", "format": "openai.chat", "raw": raw})
    [message] = chat.read()["messages"]
    assert (message["text"], message["raw"]) == ("said", raw)
    assert read_as(chat, "anthropic")["items"][0]["content"]


def test_of_a_very_long_text_the_beginning_is_searched_and_all_of_it_kept(chat: Chat, tab: Writer) -> None:
    long = "word " * 30_000
    tab.save(*raws({"role": "user", "content": long}))
    [message] = chat.read()["messages"]
    assert message["text"] == long[:100_000]
    assert message["parts"] == [{"type": "text", "text": long}]


def test_answers_of_two_clients_of_one_stream_are_merged_however_their_format_calls_the_role(chat: Chat, tab: Writer) -> None:
    def ai(text: str) -> dict[str, Any]:
        return {"op": "upsert", "id": "a", "role": "ai", "format": "langchain", "text": text, "status": "streaming"}

    tab.save(ai("One"))
    assert Writer(chat).save(ai("One two"))["conflicts"] == []
    assert chat.texts() == ["One two"]


def test_a_secret_in_a_framework_s_message_is_removed_from_all_of_it_and_counted_once(chat: Chat, tab: Writer) -> None:
    project = chat.read()["session"]["project_id"]
    assert chat.api.patch(f"/projects/{project}", {"settings": {"redaction": "redact"}}).status_code == 200
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3
    answer = tab.save(*raws({"role": "user", "content": f"my key is {key}"}))
    assert sum(answer["redacted"].values()) == 1
    assert key not in chat.api.get(f"/sessions/{chat.id}").content.decode()


@pytest.mark.parametrize("form", ["anthropic", "ai-sdk", "openai.responses", "langchain", "pydantic-ai", "gemini"])
def test_a_history_is_read_as_another_framework_s(chat: Chat, tab: Writer, form: str) -> None:
    tab.save(*raws(*HISTORY))
    found = read_as(chat, form)
    assert found["items"]
    assert len(found["items"]) == len(found["ids"])
    assert {message for ids in found["ids"] for message in ids} == {f"m{number}" for number in range(5)}
    text = json.dumps(found["items"])
    assert "7 degrees" in text
    assert "Oslo" in text
    assert {loss["id"] for loss in found["losses"]} >= {"m4"}
    assert [message["raw"] for message in chat.read()["messages"]] == HISTORY


def test_in_its_own_format_a_message_is_returned_as_it_was_sent(chat: Chat, tab: Writer) -> None:
    tab.save(*raws(*HISTORY))
    tab.save({"op": "upsert", "id": "plain", "role": "user", "text": "And tomorrow?"})
    found = read_as(chat, "openai.chat")
    assert found["items"] == [*HISTORY, {"role": "user", "content": "And tomorrow?"}]
    assert found["ids"] == [["m0"], ["m1"], ["m2"], ["m3"], ["m4"], ["plain"]]
    assert found["losses"] == []


def test_repair_closes_calls_without_an_output(chat: Chat, tab: Writer) -> None:
    tab.save(*raws(*HISTORY[:3]))
    assert [item["role"] for item in read_as(chat, "openai.chat")["items"]] == ["developer", "user", "assistant"]
    *_, closed = read_as(chat, "openai.chat", repair=1)["items"]
    assert (closed["role"], closed["tool_call_id"], closed["content"]) == ("tool", "call_1", "interrupted")
    assert len(chat.read()["messages"]) == 3


def test_pages_and_changes_are_read_as_a_format_too(chat: Chat, tab: Writer) -> None:
    tab.save(*raws(*HISTORY))
    newest = read_as(chat, "openai.chat", limit=2)
    assert (newest["items"], newest["next"]) == (HISTORY[3:], "m3")
    changes = read_as(chat, "openai.chat", since_rev=0)
    assert (changes["items"], changes["removed"], changes["more"]) == (HISTORY, [], False)


def test_resume_returns_the_messages_in_a_format(chat: Chat, tab: Writer) -> None:
    tab.save(*raws(*HISTORY))
    plain = chat.api.get(f"/resume?project={chat.project}&quiet=1")
    found = chat.api.get(f"/resume?project={chat.project}&quiet=1&as=openai.chat")
    assert found.json()["messages"] == HISTORY
    assert found.json()["ids"] == [[f"m{number}"] for number in range(5)]
    assert found.headers["ETag"] != plain.headers["ETag"]
    again = chat.api.get(f"/resume?project={chat.project}&as=openai.chat", **{"If-None-Match": found.headers["ETag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("name", ["morse", "%0a"])
def test_a_format_that_does_not_exist_is_never_unchanged(chat: Chat, name: str) -> None:
    at = f"/resume?project={chat.project}&as="
    etag = chat.api.get(f"{at}openai.chat").headers["ETag"].replace("openai.chat", unquote(name))
    assert refusal(chat.api.get(at + name, **{"If-None-Match": etag})) == (422, "unknown_format")


@pytest.mark.parametrize("path", ["/sessions/{id}/messages?as=morse", "/resume?project={project}&as=morse"])
def test_a_format_that_does_not_exist_is_named(chat: Chat, path: str) -> None:
    answer = chat.api.get(path.format(id=chat.id, project=chat.project))
    assert refusal(answer) == (422, "unknown_format")
    assert "openai.chat" in answer.json()["error"]["details"]["formats"]


def test_on_its_page_a_tool_s_result_is_in_its_call(chat: Chat, tab: Writer, client: Client, alice: User) -> None:
    tab.save(*raws(*HISTORY))
    client.force_login(alice)
    page = client.get(f"/sessions/{chat.id}/").content.decode()
    articles = page.split("<article")[1:]
    assert len(articles) == 4
    assert "Instructions" in articles[0]
    assert "weather" in articles[2]
    assert re.search(r">Output</p>\s*<pre[^>]*>7 degrees<", articles[2])


def test_a_result_that_comes_later_is_shown_by_itself(chat: Chat, tab: Writer, client: Client, alice: User) -> None:
    tab.save(*raws(*HISTORY[:3]))
    rev = chat.read()["session"]["rev"]
    tab.save({"op": "upsert", "id": "m3", "format": "openai.chat", "raw": HISTORY[3]})
    client.force_login(alice)
    article = client.get(f"/sessions/{chat.id}/changes/?since={rev}", headers={"HX-Request": "true"}).content.decode()
    assert "7 degrees" in article


def test_a_patch_of_raw_changes_what_the_message_says(chat: Chat, tab: Writer) -> None:
    tab.save(*raws(HISTORY[1]))
    changed = {"role": "assistant", "content": "It is 8 degrees.", "tool_calls": [CALL]}
    assert tab.save({"op": "patch", "id": "m0", "raw": changed})["rejected"] == []
    [message] = chat.read()["messages"]
    assert (message["raw"], message["role"], message["text"]) == (changed, "assistant", "It is 8 degrees.")
    assert [part["type"] for part in message["parts"]] == ["text", "tool_call"]


def test_a_large_message_can_be_patched(chat: Chat, tab: Writer) -> None:
    """Its parts, which follow from `raw`, do not count as sent."""
    call = {**CALL, "function": {"name": "write", "arguments": json.dumps({"text": "x" * 600_000})}}
    tab.save(*raws({"role": "assistant", "content": None, "tool_calls": [call]}))
    answer = tab.save({"op": "patch", "id": "m0", "metadata": {"a": 1}, "status": "interrupted"})
    assert (answer["rejected"], answer["applied"]) == ([], [{"id": "m0", "ver": 2}])
    answer = tab.save({"op": "patch", "id": "m0", "metadata": "x" * 500_000})
    assert reasons(answer["rejected"]) == {"m0": "too_large"}


def test_a_message_of_very_many_parts_is_refused(chat: Chat, tab: Writer) -> None:
    many = {"role": "user", "content": [{}] * 10_001}
    assert reasons(tab.save(*raws(many))["rejected"]) == {"m0": "unreadable_raw"}
    tab.save(*raws(HISTORY[1]))
    assert reasons(tab.save({"op": "patch", "id": "m0", "raw": many})["rejected"]) == {"m0": "unreadable_raw"}


@pytest.mark.parametrize("form", ["openai.chat", "openai.responses", "anthropic", "ai-sdk", "langchain", "pydantic-ai", "gemini"])
def test_a_schema_in_an_output_is_read_and_shown(chat: Chat, tab: Writer, client: Client, alice: User, form: str) -> None:
    call = {"type": "tool-f", "toolCallId": "c", "state": "output-available", "input": {}}
    schema = [{"type": ["string", "null"], "title": "Of a schema"}]
    tab.save(upsert("m1", "The answer", role="assistant", parts=[{**call, "output": schema}]))
    assert "Of a schema" in json.dumps(read_as(chat, form)["items"])
    client.force_login(alice)
    assert "Of a schema" in client.get(f"/sessions/{chat.id}/").content.decode()


@pytest.mark.parametrize("part", [{"type": []}, {"type": {}}, {"type": "data", "name": []}, {"type": "data", "name": {}}])
def test_a_page_shows_a_message_whose_parts_are_not_as_expected(
    chat: Chat, tab: Writer, client: Client, alice: User, part: dict[str, Any]
) -> None:
    tab.save(upsert("m1", "The answer", parts=[part]))
    client.force_login(alice)
    assert "The answer" in client.get(f"/sessions/{chat.id}/").content.decode()


def test_a_patch_of_raw_and_text_keeps_the_text_as_sent(chat: Chat, tab: Writer) -> None:
    tab.save(*raws(HISTORY[1]))
    tab.save({"op": "patch", "id": "m0", "raw": {"role": "assistant", "content": "of raw"}, "text": "sent"})
    [message] = chat.read()["messages"]
    assert (message["text"], message["role"]) == ("sent", "assistant")


def test_a_save_changes_the_session_s_metadata_and_tags(chat: Chat, tab: Writer) -> None:
    tab.save(session={"metadata": {"a": 1, "b": {"c": 2}}, "tags": ["x"]})
    answer = tab.save(session={"metadata": {"a": None, "b": {"d": 3}}, "title": "Named"})
    session = chat.read()["session"]
    assert (session["metadata"], session["tags"], session["title"]) == ({"b": {"c": 2, "d": 3}}, ["x"], "Named")
    assert session["rev"] == answer["rev"] == 2
    assert chat.api.get("/sessions?tag=x").json()["items"][0]["id"] == chat.id
    assert tab.save(session={"metadata": None})["rev"] == 3
    assert chat.read()["session"]["metadata"] == {}
    assert refusal(tab.send(session={"tags": ["y", "y"]})) == (422, "invalid")


def test_reasoning_without_text_is_not_shown(chat: Chat, tab: Writer, client: Client, alice: User) -> None:
    content = [{"type": "redacted_thinking", "data": "opaque"}, {"type": "text", "text": "The answer"}]
    [op] = raws({"role": "assistant", "content": content}, form="anthropic")
    tab.save(op)
    client.force_login(alice)
    page = client.get(f"/sessions/{chat.id}/").content.decode()
    assert "The answer" in page
    assert "Reasoning" not in page
    assert chat.read()["messages"][0]["raw"]["content"] == content
