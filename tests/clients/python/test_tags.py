"""The sessions of a framework are found by its tag."""

import asyncio
from typing import Any

from stillhere import Client
from stillhere.openai_agents import StillhereSession

ITEM: Any = {"role": "user", "content": "Hello"}


def test_openai_agents_tags_only_the_sessions_that_it_creates(client: Client) -> None:
    client.open_session("kept", tags=["mine"])
    for name in ("kept", "new"):
        asyncio.run(StillhereSession(name, client=client).add_items([ITEM]))
    assert {each.external_id: each.tags for each in client.list_sessions().items} == {"kept": ["mine"], "new": ["openai-agents"]}
    assert [each.external_id for each in client.list_sessions(tag="openai-agents").items] == ["new"]
