"""A copy of a session that a person made has its tags and metadata."""

import asyncio
from typing import Any

from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelResponse, TextPart

from stillhere import Client
from stillhere.connection import Operation, Request
from stillhere.pydantic_ai import StillhereConversationStore


def fork(session: str) -> Operation[Any]:
    return (yield Request("POST", f"/sessions/{session}/fork", {}, repeatable=False))


def test_a_copy_that_a_person_made_is_no_conversation(client: Client) -> None:
    async def run() -> None:
        store = StillhereConversationStore(client=client)
        conversation = Conversation(conversation_id="c", messages=[ModelResponse(parts=[TextPart("0")])])
        await store.save(conversation)
        client.connection.run(fork(client.open_session("c").id))
        assert [each.conversation_id for each in await store.list_conversations()] == ["c"]
        conversation.messages.append(ModelResponse(parts=[TextPart("1")]))
        await store.save(conversation)
        loaded = await StillhereConversationStore(client=client).load("c")
        assert loaded is not None
        assert loaded.messages == conversation.messages
        await store.delete("c")
        assert await store.list_conversations() == []

    asyncio.run(run())
