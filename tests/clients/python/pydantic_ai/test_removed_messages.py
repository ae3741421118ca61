"""Conversations of which people removed messages on the session's page."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelResponse, TextPart

from stillhere.pydantic_ai import StillhereConversationStore

type Make = Callable[[], StillhereConversationStore]


def said(*texts: str) -> list[Any]:
    return [ModelResponse(parts=[TextPart(text)]) for text in texts]


async def texts_of(store: StillhereConversationStore, **options: Any) -> list[str]:
    found = await store.load("c", **options)
    assert found is not None
    return [message.parts[0].content for message in found.messages if isinstance(message.parts[0], TextPart)]


@pytest.mark.parametrize(
    ("removed", "left"), [((0, 1, 2), []), ((2,), ["0", "1"]), ((1, 2), ["0"]), ((1,), ["0", "2"]), (None, [])]
)
def test_a_conversation_goes_on_from_what_is_left(new_store: Make, removed: tuple[int, ...] | None, left: list[str]) -> None:
    async def run() -> None:
        first = new_store()
        held = Conversation(conversation_id="c", messages=said("0", "1", "2"))
        entries = await first.save(held)
        session = first.client.find_session("c")
        assert session is not None
        if removed is None:
            first.client.clear(session.id)
        else:
            ops = [{"op": "delete", "id": entries[number].id} for number in removed]
            first.client.change(session.id, ops, base_rev=session.rev)
        for store in (first, new_store()):
            assert await texts_of(store) == left
            assert await texts_of(store, limit=1) == left[-1:]
            assert len((await store.fork("c")).messages) == len(left)
        store = new_store()
        loaded = await store.load("c")
        assert loaded is not None
        loaded.messages += said("new")
        await store.save(loaded)
        for each in (first, store, new_store()):
            assert await texts_of(each) == [*left, "new"]

    asyncio.run(run())


def test_of_a_conversation_that_was_loaded_before_a_clear_the_rest_is_saved(new_store: Make) -> None:
    async def run() -> None:
        store = new_store()
        held = Conversation(conversation_id="c", messages=said("0"))
        await store.save(held)
        session = store.client.open_session("c")
        store.client.clear(session.id)
        held.messages += said("1")
        await store.save(held)
        assert await texts_of(new_store()) == ["1"]

    asyncio.run(run())


def test_a_branch_whose_end_was_removed_is_in_nobodys_way(new_store: Make) -> None:
    async def run() -> None:
        store = new_store()
        held = Conversation(conversation_id="c", messages=said("0", "1"))
        entries = await store.save(held)
        held = await store.branch("c", at=1, expected_revision=held.revision)
        held.messages += said("2")
        entries += await store.save(held)
        session = store.client.open_session("c")
        store.client.change(session.id, [{"op": "delete", "id": entries[2].id}], base_rev=session.rev)
        held = await store.branch("c", at=0, expected_revision=held.revision)
        back = await store.branch("c", from_entry=entries[1].id, expected_revision=held.revision)
        assert len(back.messages) == 2

    asyncio.run(run())
