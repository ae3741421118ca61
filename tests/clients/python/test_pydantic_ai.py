"""The conversation store beside Pydantic AI's own in memory, over random conversations."""

import asyncio
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict, ConversationEntry, ConversationStore, InMemoryConversationStore
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage

from stillhere import Client, StillhereError
from stillhere.pydantic_ai import StillhereConversationStore
from tests.clients.python.conftest import PROJECT
from tests.support.live_server import LiveServer

NAMES, SCOPES = ["a / 中", "b", "c"], [None, "user:1", "user:2"]
SECRET = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
SCENARIOS, STEPS = 12, 10
AT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def new_store(server: LiveServer, secret: str) -> Iterator[Callable[[], StillhereConversationStore]]:
    """Each as in another process."""
    clients: list[Client] = []

    def make() -> StillhereConversationStore:
        clients.append(Client(server.url, secret, PROJECT))
        return StillhereConversationStore(client=clients[-1])

    yield make
    for client in clients:
        client.close()


def message(dice: random.Random) -> ModelMessage:
    word = f"word {dice.randrange(10**6)} \0 {SECRET}"
    document = BinaryContent(data=dice.randbytes(20), media_type="application/pdf")
    found = ToolReturnPart(tool_name="t", content={"found": [1, word]}, tool_call_id="c1", timestamp=AT)
    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart(content=[word, document], timestamp=AT)], timestamp=AT),
        ModelResponse(parts=[ThinkingPart(content=word, signature="s=="), TextPart(content="yes")], timestamp=AT),
        ModelResponse(parts=[ToolCallPart(tool_name="t", args={"n": 1.0, "key": word}, tool_call_id="c1")], timestamp=AT),
        ModelRequest(parts=[found], timestamp=AT),
    ]
    return dice.choice(messages)


class Side:
    """One store, and the conversations that were loaded from it."""

    def __init__(self, store: ConversationStore) -> None:
        self.store = store
        self.held: dict[str, Conversation] = {}

    async def do(self, act: str, seed: int) -> Any:
        """The same on every side for the same arguments. What it comes to, or the error."""
        dice = random.Random(seed)
        try:
            return await getattr(self, act)(dice, dice.choice(NAMES))
        except UserError as error:
            return type(error).__name__

    async def load(self, dice: random.Random, name: str) -> Any:
        found = await self.store.load(name, limit=dice.choice([None, None, 0, 1, 2]), scope=dice.choice([None, *SCOPES]))
        if found is not None:
            self.held[name] = found
        return None if found is None else (found.messages, found.usage, found.deferred_tool_requests)

    async def save(self, dice: random.Random, name: str) -> Any:
        held = self.held.setdefault(name, Conversation(conversation_id=name))
        held.messages = [*held.messages, *(message(dice) for _ in range(dice.randint(0, 3)))]
        held.usage = RunUsage(requests=dice.randrange(9), input_tokens=5, details={"cached": 2})
        return len(await self.store.save(held, scope=dice.choice(SCOPES)))

    async def rewrite(self, dice: random.Random, name: str) -> Any:
        held = self.held.setdefault(name, Conversation(conversation_id=name))
        held.messages = [*held.messages[: dice.randint(0, 3)], message(dice)]
        return len(await self.store.save(held))

    async def begin(self, dice: random.Random, name: str) -> Any:
        self.held[name] = Conversation(conversation_id=name)

    async def branch(self, dice: random.Random, name: str) -> Any:
        held = self.held.get(name)
        revision, at = held.revision if held else None, dice.randint(0, 3)
        entries = await self.store.load_entries(name)
        if dice.random() < 0.5 and entries:
            entry = entries[at % len(entries)].id
            self.held[name] = await self.store.branch(name, from_entry=entry, expected_revision=revision)
        else:
            self.held[name] = await self.store.branch(name, at=at, expected_revision=revision)
        return self.held[name].messages

    async def back(self, dice: random.Random, name: str) -> Any:
        """To a branch that was left."""
        record = await self.store.read_record(name)
        tip = record.branches[0] if record and record.branches else None
        revision = self.held[name].revision if name in self.held else None
        self.held[name] = await self.store.branch(name, from_entry=tip or "none", expected_revision=revision)
        return self.held[name].messages

    async def fork(self, dice: random.Random, name: str) -> Any:
        other = dice.choice(NAMES)
        self.held[other] = await self.store.fork(name, at=dice.choice([None, 1, 2]), new_conversation_id=other)
        return self.held[other].messages

    async def delete(self, dice: random.Random, name: str) -> Any:
        await self.store.delete(name, scope=dice.choice([None, *SCOPES]))

    async def list(self, dice: random.Random, name: str) -> Any:
        records = await self.store.list_conversations(scope=dice.choice([None, *SCOPES]), limit=dice.choice([None, 1, 2]))
        return [(each.conversation_id, each.scope, each.forked_from, len(each.branches), each.usage) for each in records]


ACTS = ["load", "save", "save", "save", "rewrite", "begin", "branch", "back", "fork", "delete", "list"]


async def play(ours: Side, theirs: Side, seed: int, steps: int) -> None:
    dice = random.Random(seed)
    for name in NAMES:
        for side in (ours, theirs):
            await side.store.delete(name)
            side.held.clear()
    for step in range(steps):
        act, number = dice.choice(ACTS), dice.randrange(10**9)
        expected = await theirs.do(act, number)
        assert await ours.do(act, number) == expected, f"seed {seed}, step {step}: {act}"
    for name in NAMES:
        found, wanted = await ours.store.load(name), await theirs.store.load(name)
        assert (found and found.messages) == (wanted and wanted.messages), f"seed {seed}"


def test_random_conversations_end_as_in_the_store_in_memory(new_store: Callable[[], StillhereConversationStore]) -> None:
    first = random.randrange(10**6)

    async def all_of_them() -> None:
        ours, theirs = Side(new_store()), Side(InMemoryConversationStore())
        for seed in range(first, first + SCENARIOS):
            await play(ours, theirs, seed, STEPS)

    asyncio.run(all_of_them())


@pytest.mark.prove
def test_two_hundred_conversations_end_as_in_the_store_in_memory(new_store: Callable[[], StillhereConversationStore]) -> None:
    async def all_of_them() -> None:
        ours, theirs = Side(new_store()), Side(InMemoryConversationStore())
        for seed in range(200):
            await play(ours, theirs, seed, 25)

    asyncio.run(all_of_them())


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
