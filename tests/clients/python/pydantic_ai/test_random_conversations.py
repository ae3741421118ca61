"""The conversation store beside Pydantic AI's own in memory, over random conversations."""

import asyncio
import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationStore, InMemoryConversationStore
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
from pydantic_ai.usage import RunUsage

from stillhere.pydantic_ai import StillhereConversationStore
from tests.support.suite import is_patient

NAMES, SCOPES = ["a / 中", "b", "c"], [None, "user:1", "user:2"]
SECRET = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
SCENARIOS, STEPS = 12, 10
AT = datetime(2026, 1, 1, tzinfo=UTC)


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
        for seed in range(first, first + (SCENARIOS if is_patient() else SCENARIOS // 3)):
            await play(ours, theirs, seed, STEPS)

    asyncio.run(all_of_them())


@pytest.mark.prove
def test_two_hundred_conversations_end_as_in_the_store_in_memory(new_store: Callable[[], StillhereConversationStore]) -> None:
    async def all_of_them() -> None:
        ours, theirs = Side(new_store()), Side(InMemoryConversationStore())
        for seed in range(200):
            await play(ours, theirs, seed, 25)

    asyncio.run(all_of_them())
