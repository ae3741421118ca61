"""The sessions of a framework are found by its tag."""

import asyncio
from typing import Any

from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelResponse, TextPart

from stillhere import Client
from stillhere.openai_agents import StillhereSession
from stillhere.pydantic_ai import StillhereConversationStore

ITEM: Any = {"role": "user", "content": "Hello"}


def test_openai_agents_tags_only_the_sessions_that_it_creates(client: Client) -> None:
    client.open_session("kept", tags=["mine"])
    for name in ("kept", "new"):
        asyncio.run(StillhereSession(name, client=client).add_items([ITEM]))
    assert {each.external_id: each.tags for each in client.list_sessions().items} == {"kept": ["mine"], "new": ["openai-agents"]}
    assert [each.external_id for each in client.list_sessions(tag="openai-agents").items] == ["new"]


def test_pydantic_ai_leaves_the_tags_of_people_and_has_its_own(client: Client) -> None:
    store = StillhereConversationStore(client=client)
    conversation = Conversation(conversation_id="c", messages=[])

    def saved_with(*tags: str) -> set[str]:
        """After a save to the session, which a person has given these tags."""
        found = client.find_session("c")
        if found is not None:
            client.update_session(found.id, tags=tags)
        conversation.messages.append(ModelResponse(parts=[TextPart("hi")]))
        asyncio.run(store.save(conversation))
        return set(client.open_session("c").tags)

    assert saved_with() == {"pydantic-ai"}
    assert saved_with("pydantic-ai", "mine") == {"pydantic-ai", "mine"}
    assert saved_with("mine") == {"pydantic-ai", "mine"}
    full = [f"tag {number}" for number in range(20)]
    assert saved_with(*full) == set(full)
