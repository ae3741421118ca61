"""Conversations of Pydantic AI that are kept as sessions."""

import asyncio
import itertools
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict, ConversationEntry
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.test import TestModel

from stillhere import StillhereError
from stillhere.pydantic_ai import StillhereConversationStore

AT = datetime(2026, 1, 1, tzinfo=UTC)


def test_an_agent_continues_in_another_process(new_store: Callable[[], StillhereConversationStore]) -> None:
    async def talk(prompt: str, answer: str) -> list[ModelMessage]:
        store = new_store()
        conversation = await store.load("t") or Conversation(conversation_id="t")
        result = await Agent(TestModel(custom_output_text=answer)).run(prompt, conversation=conversation)
        await store.save(result)
        return result.all_messages()

    asyncio.run(talk("one", "first"))
    assert len(asyncio.run(talk("two", "second"))) == 4
    session = new_store().client.find_session("t")
    assert session is not None
    shown = new_store().client.read_messages(session.id).items
    assert [each.text for each in shown] == ["one", "first", "two", "second"]
    assert session.head is None


def test_of_two_writers_one_is_told(new_store: Callable[[], StillhereConversationStore]) -> None:
    async def both() -> None:
        stores = [new_store(), new_store()]
        await stores[0].save(Conversation(conversation_id="t", messages=[ModelResponse(parts=[TextPart("0")])]))
        held = [await store.load("t") for store in stores]
        saves = []
        for store, conversation in zip(stores, held, strict=True):
            assert conversation is not None
            conversation.messages.append(ModelResponse(parts=[TextPart("more")]))
            saves.append(store.save(conversation))
        done = await asyncio.gather(*saves, return_exceptions=True)
        assert [isinstance(each, ConversationConflict) for each in done].count(True) == 1
        loaded = await stores[0].load("t")
        assert loaded is not None
        assert len(loaded.messages) == 2

    asyncio.run(both())


def test_a_session_with_messages_of_others_is_told(
    new_store: Callable[[], StillhereConversationStore], caplog: pytest.LogCaptureFixture
) -> None:
    """As where two frameworks use one id in one project."""
    store = new_store()
    others = store.client.open_session("shared").id
    store.client.save(others, [{"id": "m1", "role": "user", "text": "of another framework"}])
    for _ in range(2):
        conversation = asyncio.run(store.load("shared")) or Conversation(conversation_id="shared")
        conversation.messages.append(ModelResponse(parts=[TextPart("mine")]))
        asyncio.run(store.save(conversation))
    [told] = [record.getMessage() for record in caplog.records if record.name == "stillhere"]
    assert "'shared' has messages, but no conversation of Pydantic AI" in told
    kept = store.client.read_message(others, "m1")
    assert kept is not None
    assert kept.text == "of another framework"
    asyncio.run(new_store().save(Conversation(conversation_id="own", messages=[ModelResponse(parts=[TextPart("0")])])))
    assert len([record for record in caplog.records if record.name == "stillhere"]) == 1


def test_a_changed_title_is_no_conflict(new_store: Callable[[], StillhereConversationStore]) -> None:
    async def renamed() -> None:
        store = new_store()
        conversation = Conversation(conversation_id="t", messages=[ModelResponse(parts=[TextPart("0")])])
        await store.save(conversation)
        session = store.client.find_session("t")
        assert session is not None
        store.client.update_session(session.id, title="By a person", metadata={"mine": 1})
        conversation.messages.append(ModelResponse(parts=[TextPart("1")]))
        await store.save(conversation)
        after = store.client.get_session(session.id)
        assert (after.title, after.metadata["mine"], after.message_count) == ("By a person", 1, 2)

    asyncio.run(renamed())


def test_long_texts_and_what_waits_for_a_person(new_store: Callable[[], StillhereConversationStore]) -> None:
    waits = DeferredToolRequests(approvals=[ToolCallPart(tool_name="deploy", args={"to": "x" * 30_000}, tool_call_id="c2")])
    long = ModelResponse(parts=[TextPart("x" * 150_000)])
    conversation = Conversation(conversation_id="n" * 200, messages=[long], deferred_tool_requests=waits)
    entries = asyncio.run(new_store().save(conversation))
    loaded = asyncio.run(new_store().load("n" * 200))
    assert loaded is not None
    assert (loaded.messages, loaded.deferred_tool_requests) == ([long], waits)
    assert [each.deferred_tool_requests for each in asyncio.run(new_store().list_conversations())] == [waits]
    assert asyncio.run(new_store().read_entry(entries[0].id)) == replace(entries[0])
    with pytest.raises(LookupError):
        asyncio.run(new_store().read_entry("unknown"))
    again = replace(loaded, deferred_tool_requests=None)
    asyncio.run(new_store().save(again))
    assert (asyncio.run(new_store().load("n" * 200)) or loaded).deferred_tool_requests is None


@pytest.mark.slow
def test_long_messages_are_whole_and_on_the_path(new_store: Callable[[], StillhereConversationStore]) -> None:
    file = BinaryContent(data=b"z" * 1_500_000, media_type="application/pdf")
    asked = ModelRequest(parts=[UserPromptPart(content=["Look", file, file, file], timestamp=AT)], timestamp=AT)
    answered = ModelResponse(parts=[TextPart("A cat")], timestamp=AT)
    found = ModelRequest(
        parts=[ToolReturnPart(tool_name="t", content='"' * 1_200_000, tool_call_id="c", timestamp=AT)], timestamp=AT
    )

    async def run() -> None:
        store = new_store()
        conversation = Conversation(conversation_id="t", messages=[asked, answered])
        await store.save(conversation)
        loaded = await new_store().load("t")
        assert loaded is not None
        assert loaded.messages == [asked, answered]
        loaded.messages = [*loaded.messages, found, answered]
        entries = await store.save(loaded)
        assert (await store.read_entry(entries[-2].id)).message == found
        for name in ["t", (await new_store().fork("t", new_conversation_id="fork")).conversation_id]:
            again = await new_store().load(name)
            assert again is not None
            assert again.messages == [asked, answered, found, answered]
            session = store.client.find_session(name)
            assert session is not None
            shown = [(each.role, each.text[:5]) for each in store.client.read_messages(session.id).items]
            assert shown == [("user", "Look"), ("assistant", "A cat"), ("tool", '"' * 5), ("assistant", "A cat")]

    asyncio.run(run())


def test_what_is_nested_too_deeply_and_halves_of_characters_are_read(new_store: Callable[[], StillhereConversationStore]) -> None:
    def messages(character: str) -> list[ModelMessage]:
        deep: Any = character
        for _ in range(100):
            deep = [deep]
        found = ModelRequest(parts=[ToolReturnPart(tool_name="t", content=deep, tool_call_id="c", timestamp=AT)], timestamp=AT)
        texts = [character, character + "x" * 1_000_000]
        return [found, *(ModelResponse(parts=[TextPart(text)], timestamp=AT) for text in texts)]

    asyncio.run(new_store().save(Conversation(conversation_id="t", messages=messages("\ud83d"))))
    loaded = asyncio.run(new_store().load("t"))
    assert loaded is not None
    assert loaded.messages == messages("\ufffd")


def test_of_a_save_that_is_refused_nothing_is_stored(new_store: Callable[[], StillhereConversationStore]) -> None:
    waits = DeferredToolRequests(approvals=[ToolCallPart(tool_name="t", args={"to": "x" * 1_200_000}, tool_call_id="c")])
    said = ModelResponse(parts=[TextPart("0")], timestamp=AT)

    async def run() -> None:
        store = new_store()
        conversation = Conversation(conversation_id="t", messages=[said], deferred_tool_requests=waits)
        with pytest.raises(StillhereError, match="record_too_long"):
            await store.save(conversation)
        assert await new_store().load("t") is None
        await store.save(replace(conversation, deferred_tool_requests=None))
        record = await store.read_record("t")
        assert record is not None
        new = [ConversationEntry(id=id, parent_id=record.head_id, message=said) for id in ("a", "b" * 65)]
        with pytest.raises(StillhereError, match="bad_id"):
            await store.write_record(replace(record, revision="r"), new_entries=new, expected_revision=record.revision)
        loaded = await new_store().load("t")
        assert loaded is not None
        assert (loaded.messages, loaded.revision) == ([said], record.revision)

    asyncio.run(run())


def test_of_messages_that_cannot_all_be_stored_none_is(new_store: Callable[[], StillhereConversationStore]) -> None:
    """The server reads no text above 100,000 characters, so the first one alone would be stored with another text beside it."""
    said = ModelResponse(parts=[TextPart("x" * 150_000)], timestamp=AT)

    async def run() -> None:
        store = new_store()
        await store.save(Conversation(conversation_id="t", messages=[said]))
        record = await store.read_record("t")
        session = store.client.find_session("t")
        assert record is not None
        assert session is not None
        new = [ConversationEntry(id="a", parent_id=record.head_id, message=said)]
        new.append(ConversationEntry(id="b", parent_id="p" * 65, message=said))
        with pytest.raises(StillhereError, match="rejected: Nothing was saved"):
            await store.write_record(replace(record, revision="r"), new_entries=new, expected_revision=record.revision)
        assert store.client.get_session(session.id).rev == session.rev
        await store.write_record(
            replace(record, revision="r", head_id="a"), new_entries=new[:1], expected_revision=record.revision
        )
        loaded = await new_store().load("t")
        assert loaded is not None
        assert loaded.messages == [said, said]

    asyncio.run(run())


def test_a_conversation_in_the_trash_says_so(new_store: Callable[[], StillhereConversationStore]) -> None:
    conversation = Conversation(conversation_id="t", messages=[ModelResponse(parts=[TextPart("0")], timestamp=AT)])

    async def run() -> None:
        store = new_store()
        await store.save(conversation)
        session = store.client.find_session("t")
        assert session is not None
        store.client.delete_session(session.id)
        for each in (store, new_store()):
            for act in (
                each.load("t"),
                each.delete("t"),
                each.fork("t"),
                each.save(replace(conversation, revision=None)),
                each.save(conversation),
            ):
                with pytest.raises(StillhereError, match=r"410 session_deleted: The session t is in the trash\. Restore it"):
                    await act
        assert await each.list_conversations() == []

    asyncio.run(run())


def test_a_delete_while_other_threads_read(new_store: Callable[[], StillhereConversationStore]) -> None:
    store, ending = new_store(), threading.Event()
    for number in range(9_000):
        store._know_home(f"e{number}", "another")

    def meet() -> None:
        for number in itertools.count():
            store._know_home(f"n{number % 900}", "another")
            if number % 2:
                store._homes.pop(f"n{number % 900}", None)
            if ending.is_set():
                return

    other, usual = threading.Thread(target=meet), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    other.start()
    try:
        for number in range(5):
            conversation = Conversation(conversation_id=f"t{number}", messages=[ModelResponse(parts=[TextPart("a")])])
            asyncio.run(store.save(conversation))
            asyncio.run(store.delete(f"t{number}"))
    finally:
        ending.set()
        other.join()
        sys.setswitchinterval(usual)
